"""TODO: evo_libra/experiment/run."""
