"""What this program claims, beside what others published or measured."""
