"""Search for the front: engines that see the genome, the evaluation and the archive, and nothing else."""
