"""Exact optimal bandwidths of fixed combinations, for whole populations, with a proof for each answer."""
