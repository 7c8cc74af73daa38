"""The terminal UI: a thin client of the store. Everything but `app` and `widgets` works without Textual."""
