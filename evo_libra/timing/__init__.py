"""Times of collectives and training iterations on a population of networks."""
