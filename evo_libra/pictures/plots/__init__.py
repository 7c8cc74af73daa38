"""Plots for the terminal and for files."""
