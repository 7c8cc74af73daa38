"""ASTRA-sim's input files: networks and systems."""
