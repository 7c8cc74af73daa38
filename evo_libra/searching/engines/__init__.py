"""TODO: evo_libra/searching/engines."""
