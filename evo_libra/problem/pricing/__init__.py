"""Pricings: which dimensions can be built, and at which prices."""
