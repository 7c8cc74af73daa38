"""Kinds of layers: each states its products, weights, activations, cache and traffic once."""
