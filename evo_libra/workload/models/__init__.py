"""Models: decoders, recommenders, and readers of their files."""
