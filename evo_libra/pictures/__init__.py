"""Pictures of fronts and networks: pure functions of what they draw."""
