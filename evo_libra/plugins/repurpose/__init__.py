"""Trained networks on several workers: which neuron runs where, what is sent, and what that costs in error."""
