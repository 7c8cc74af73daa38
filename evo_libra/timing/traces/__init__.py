"""Execution of traces as ASTRA-sim 2.0's congestion-unaware backend does it: exactly, or for a population at once."""
