"""Runs at work: planned, sent to workers, searched, interrupted and resumed."""
