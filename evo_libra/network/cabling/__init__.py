"""Cables one by one: the two ends of each link of a network, block by block, as many as the bill counts."""
