"""Readers of workload files."""
