"""TODO: evo_libra/experiment/execution."""
