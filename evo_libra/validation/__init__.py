"""Claims of this program next to published and measured figures."""
