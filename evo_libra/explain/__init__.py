"""Explanations of designs: their parts, reasons, neighbours, prices and differences."""
