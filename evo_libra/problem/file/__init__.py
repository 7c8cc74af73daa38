"""Problem files: their schema, and the problems that they describe."""
