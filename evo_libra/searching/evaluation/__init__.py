"""TODO: evo_libra/searching/evaluation."""
