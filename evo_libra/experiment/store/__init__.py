"""TODO: evo_libra/experiment/store."""
