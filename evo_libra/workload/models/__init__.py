"""Models: layers, decoders and what reads them from files."""
