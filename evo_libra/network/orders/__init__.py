"""Orders: products that are sold, the networks that they make, their counts, checks and bills."""
