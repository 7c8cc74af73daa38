"""Sections of the genome: each owns some genes and the decisions about a design that they stand for."""
