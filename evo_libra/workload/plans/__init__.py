"""Plans: parallelisation, placement, and the table of all of them."""
