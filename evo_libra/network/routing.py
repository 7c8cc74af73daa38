"""Routing between the switches of fat trees: which of several equal ways a message takes, and what collisions cost.

Adaptive routing and spraying fill equal links evenly. ECMP hashes each flow onto one of them, and some link gets more
than others: of balls that are thrown into bins, the fullest bin says how long a step of a collective takes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import lgamma, sqrt

import numpy as np

from evo_libra.arrays import FloatArray


@dataclass(frozen=True)
class Routing:
    """A way to choose between equal ways; hashed where each flow takes one of them at random and keeps it."""

    name: str
    description: str
    hashed: bool
    source: str


ROUTINGS = {
    one.name: one
    for one in (
        Routing(
            "adaptive", "Switches send each packet, or each flow again and again, over the least loaded link.",
            hashed=False, source="NVIDIA, InfiniBand Cluster Bring-up Procedure 1.0: on by default in opensm.conf",
        ),
        Routing(
            "spraying", "The packets of a flow go over all links in turn, and the receiver puts them in order.",
            hashed=False,
            source="Hoefler et al., arXiv:2508.08906 (2025), Ultra Ethernet 1.0; Spectrum-X, arXiv:2605.21187 (2026)",
        ),
        Routing(
            "ecmp", "A hash of its addresses and ports sends each flow over one link.", hashed=True,
            source="RFC 2992",
        ),
        Routing(
            "static", "The place of the receiver chooses the link (d-mod-k), evenly for the shifts of collectives.",
            hashed=False, source="Zahavi, D-Mod-K routing (2010)",
        ),
    )
}  # fmt: skip
"""Every routing, by its name."""


@dataclass(frozen=True)
class Load:
    """Flows on the most loaded of some links: the expected number, and the 10th and 90th percentiles of it."""

    expected: float
    low: float
    high: float


def largest_load(flows: int, links: int, sets: int = 1) -> Load:
    """Return the flows on the most loaded link, where each of some flows of a set takes one of its links at random.

    Sets have flows and links of their own, and the most loaded link is that of all sets. P(max <= k) is
    P(Binomial(flows, 1 / links) <= k) to the power of all links: their dependence is small (Raab and Steger, 1998).

    >>> found = largest_load(32, 32, sets=8)
    >>> round(found.expected, 2), found.low, found.high
    (4.64, 4.0, 6.0)
    """
    values, below = _distribution(flows, links, sets)
    chance = np.diff(below, prepend=0.0)
    return Load(float(values @ chance), *(float(values[np.searchsorted(below, q)]) for q in (0.1, 0.9)))


@lru_cache(maxsize=4096)
def _distribution(flows: int, links: int, sets: int) -> tuple[FloatArray, FloatArray]:
    """Return values of the largest load, and the chance that it is at most each of them."""
    if links == 1:
        return np.array([float(flows)]), np.ones(1)
    mean = flows / links
    far = int(mean + 12 * sqrt(mean) + 40)
    count = np.arange(min(far, flows) + 1)
    choose = lgamma(flows + 1) - np.array([lgamma(k + 1) + lgamma(flows - k + 1) for k in count.tolist()])
    log = choose + count * np.log(1 / links) + (flows - count) * np.log1p(-1 / links)
    one = np.minimum(np.cumsum(np.exp(log)), 1.0)
    one[-1] = 1.0
    return count.astype(np.float64), one ** (links * sets)


@dataclass(frozen=True)
class Slowdown:
    """Time of a step under hashed flows over that under even ones: expected, 10th and 90th percentile."""

    expected: float
    low: float
    high: float


def slowdown(*, flows: int, links: int, sets: int, sent: float, capacity: float, splits: int = 1) -> Slowdown:
    """Return how much longer a step takes where flows are hashed.

    Parameters
    ----------
    flows : messages that leave a leaf, or a pod, at the same time.
    links : links upwards of it.
    sets : sets of links that are hashed apart: one for each leaf where all its messages go to one other leaf, as the
        way down is that of the way up; two where they go to many.
    sent : part of what an NPU sends in the step that a message is.
    capacity : of a link, over the bandwidth of an NPU.
    splits : flows that each message is split into.

    >>> ring = slowdown(flows=32, links=16, sets=8, sent=1.0, capacity=1.0)
    >>> f"{ring.expected:.1f} times as long, {ring.low:.1f} to {ring.high:.1f}"
    '3.1 times as long, 2.5 to 3.5'
    """
    values, below = _distribution(flows * splits, links, sets)
    chance = np.diff(below, prepend=0.0)
    # An NPU sends for a time of 1, however empty the links are.
    time = np.maximum(values / splits * sent / capacity, 1.0)
    even = max(flows * sent / (links * capacity), 1.0)
    low, high = (float(time[np.searchsorted(below, q)]) for q in (0.1, 0.9))
    return Slowdown(max(float(time @ chance) / even, 1.0), max(low / even, 1.0), max(high / even, 1.0))
