"""Pricings: which dimensions can be built, and what they cost."""
