"""Command line and pictures: they call the other rooms and hold no logic of their own."""
