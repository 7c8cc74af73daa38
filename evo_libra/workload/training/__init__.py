"""Training steps: their time, memory and offloading."""
