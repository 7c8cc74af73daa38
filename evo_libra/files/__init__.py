"""Files as people write them: read with the place of every key, and checked in one go."""
