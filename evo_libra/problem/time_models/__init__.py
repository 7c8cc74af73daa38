"""Models of the iteration time of a population."""
