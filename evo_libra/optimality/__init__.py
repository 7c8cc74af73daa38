"""How far a front is from optimal: bounds, pruning, branch and bound, certificates."""
