"""TODO: evo_libra/timing/collectives."""
