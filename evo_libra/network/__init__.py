"""What a design is and what it is worth: pure functions on arrays, no input or output but the readers."""
