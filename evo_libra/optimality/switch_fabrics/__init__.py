"""Proofs of fronts of fabrics of switches: bounds that know the links of NPUs, cores and what they can connect."""
