"""Evaluation of designs that take long: in parallel processes, checked and cached."""
