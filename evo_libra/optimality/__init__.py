"""Distance of a front from the optimum: bounds, pruning, branch and bound, certificates."""
