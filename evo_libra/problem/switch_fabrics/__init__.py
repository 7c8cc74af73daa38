"""Fabrics of switches as designs: genes, prices, times of steps, and the problem that a search explores."""
