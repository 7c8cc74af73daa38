"""Congestion control of RoCE, simulated as fluids: networks, control laws, and collectives on the study's cluster."""
