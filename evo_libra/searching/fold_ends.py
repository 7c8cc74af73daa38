"""What ends a search; a file of its own, so that who only says so need not import what searches."""

from __future__ import annotations

EVALUATIONS, EXHAUSTED, SECONDS, STAGNATION, GAP = "evaluations", "exhausted", "seconds", "stagnation", "gap"
