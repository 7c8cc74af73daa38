"""A training step from hyper-parameters: its compute, its traffic and its memory under every parallelisation plan."""
