"""How the front is found: engines that see the genome, the evaluation and the archive, and nothing else."""
