"""Execution traces of training steps."""
