"""A run: its settings, its record and its origin."""
