"""Chakra execution traces: what each NPU does, as a graph of operations."""
