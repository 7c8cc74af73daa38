"""Files of runs: written whole or not at all, claimed, sealed and checked."""
