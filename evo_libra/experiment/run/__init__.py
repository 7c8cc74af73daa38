"""What a run is: its settings, its record and where it came from."""
