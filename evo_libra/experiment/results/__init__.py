"""TODO: evo_libra/experiment/results."""
