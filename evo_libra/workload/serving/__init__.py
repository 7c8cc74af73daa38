"""Serving: time and memory of prefill and decoding under plans, and what users see of both."""
