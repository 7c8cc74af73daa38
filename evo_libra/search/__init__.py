"""Engines that see the genome, the evaluator and the archive, and nothing else."""
