"""Collective time as ASTRA-sim 2.0's congestion-unaware backend has it, to the nanosecond."""
