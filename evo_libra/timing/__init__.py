"""How long collectives and training iterations take on a population of networks."""
