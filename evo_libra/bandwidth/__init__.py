"""Exact optimal bandwidths of fixed structures, for whole populations, with a proof for each answer."""
