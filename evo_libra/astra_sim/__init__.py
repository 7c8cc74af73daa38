"""TODO: evo_libra/astra_sim."""
