"""Runs on disk: folders of results that survive an interruption."""
