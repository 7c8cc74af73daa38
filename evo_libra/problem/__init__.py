"""A problem file to a search space to an evaluator."""
