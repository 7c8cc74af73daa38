"""TODO: evo_libra/problem/file."""
