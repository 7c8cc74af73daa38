"""TODO: evo_libra/ui/plots."""
