"""How large the inputs may be that people give."""

from __future__ import annotations

MOST_CHUNKS = 2**16
"""Chunks of a collective. The queue model keeps each of their phases, and a problem file or a system file that asks for
more asks for more than anybody runs: ASTRA-sim itself takes seconds for 64."""

LONGEST_ENDPOINT_NS = 10**9
"""ns before a message: a second."""
