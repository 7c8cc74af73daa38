"""Policies: which chunk a dimension takes first, and what that depends on."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from evo_libra.arrays import FloatArray, IntArray

SCATTERS, GATHERS, ANY = 0, 1, 2
"""What a phase does, as far as policies ask: scatter, gather, or something that always joins at the end."""


class Policy(Enum):
    """Where a chunk joins a queue, by ASTRA-sim's name; the last one is that of Themis' paper.

    That has the first to come first among equals, ASTRA-sim's the last.
    """

    FIFO = "FIFO"
    ALTERNATING = "RG"
    SMALLEST_FIRST = "smallestFirst"
    FEWEST_PHASES_FIRST = "lessRemainingPhaseFirst"
    SMALLEST_CHUNK_FIRST = "smallestChunkFirst"


@dataclass(frozen=True)
class Joining:
    """What a policy needs to know of chunk phases.

    Attributes
    ----------
    policy : where chunks join.
    kind : (p, k) what each phase does.
    size : (p, k, n) the larger one of the bytes that enter and that leave it; only policies of sizes look at it.
    """

    policy: Policy
    kind: IntArray
    size: FloatArray
