"""Non-dominated sets: the archive of a search, the front as a frame, indicators."""
