"""Time of one collective over the dimensions of a network."""
