"""What came of runs: catalogue, filters, comparisons and reproductions."""
