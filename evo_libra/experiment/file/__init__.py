"""TODO: evo_libra/experiment/file."""
