"""TODO: evo_libra/optimality."""
