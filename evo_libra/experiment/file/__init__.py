"""Experiment files: their schema, and the runs that they ask for."""
