"""Expansion memory: what of a training step lies there, and how long its accesses take.

A second tier of memory next to that of an NPU, such as memory behind a coherent link (COMET, arXiv 2211.16648). Data
that does not fit the NPU lies there, the classes that are used least often first. Accesses of a pass run alongside its
compute, so that the slower one of the two counts: the roofline of COMET, with the bytes of each class over its own
tier.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from evo_libra.arrays import FloatArray, IntArray

SPILLED = ("states", "gradients", "weights", "activations")
"""Classes of memory that may lie in the expansion, in the order in which they go there: those of fewest accesses first.
Logits and buffers stay on the NPU."""


@dataclass(frozen=True)
class Expansion:
    """Expansion memory, by what each NPU has of it.

    Attributes
    ----------
    capacity : bytes.
    bandwidth : B/s of reads and writes together.
    """

    capacity: float
    bandwidth: float

    @property
    def text(self) -> str:
        """Its name in designs: GB at GB/s of an NPU; empty without capacity.

        >>> Expansion(256e9, 500e9).text
        'exp256at500'
        """
        return f"exp{self.capacity / 1e9:.10g}at{self.bandwidth / 1e9:.10g}" if self.capacity else ""


NO_EXPANSION = Expansion(0.0, 1.0)


def expansions_of(choices: tuple[Expansion, ...], index: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return (n,) bytes and B/s of the expansion that each plan has."""
    known = choices or (NO_EXPANSION,)
    capacity, bandwidth = (np.array([getattr(one, name) for one in known]) for name in ("capacity", "bandwidth"))
    return capacity[index], bandwidth[index]


def spilled(
    used: Mapping[str, FloatArray], usable: float, capacity: FloatArray, order: Sequence[str] = SPILLED
) -> dict[str, FloatArray]:
    """Return (n,) bytes of each class that lies in the expansion.

    Parameters
    ----------
    used : (n,) bytes of every class of memory, wherever they lie.
    usable : bytes of the NPU's own memory that plans may use.
    capacity : (n,) bytes of the expansion.
    order : classes that may lie there, in the order in which they go.
    """
    total = sum(used.values(), np.zeros(1))
    left = np.minimum(np.maximum(total - usable, 0.0), capacity)
    found = {}
    for kind in order:
        found[kind] = np.minimum(used[kind], left)
        left = left - found[kind]
    return found


@dataclass(frozen=True)
class Accesses:
    """(n,) bytes that a class reads and writes, for each byte of it, in a pass of a microbatch and in the update."""

    forward: FloatArray | float
    backward: FloatArray | float
    update: FloatArray | float


def seconds_of(
    away: Mapping[str, FloatArray], accesses: Mapping[str, Accesses], bandwidth: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return (n,) seconds of the expansion in a forward pass, a backward pass and the update."""
    forward, backward, update = (
        sum((bytes_ * getattr(accesses[kind], part) for kind, bytes_ in away.items()), np.zeros(1)) / bandwidth
        for part in ("forward", "backward", "update")
    )
    return forward, backward, update
