"""Networks: what is built, of what blocks and parts, and what it costs."""
