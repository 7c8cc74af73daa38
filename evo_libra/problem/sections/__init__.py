"""Sections of the genome: each owns some genes and what they decide of a design."""
