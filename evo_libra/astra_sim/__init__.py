"""ASTRA-sim, the simulator: designs are exported to it, and its files are read."""
