"""TODO: evo_libra/files."""
