"""Results of runs: catalogue, filters, comparisons and reproductions."""
