"""TODO: evo_libra/timing/input_files."""
