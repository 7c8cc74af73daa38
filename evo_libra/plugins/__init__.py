"""Packages that register themselves as a user's own package would."""
