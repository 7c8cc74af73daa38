"""Times of the phases of a population at once, compiled: those of `evo_libra.timing.collectives.phase` to the last bit.

`evo_libra.timing.collectives.block_phase.block_phase_time` times all others: lines, trees, windows, double
binary trees, links that messages share, and what cannot run at all.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import cast

import numpy as np
from numpy.typing import NDArray

from evo_libra.arrays import GIGA, BoolArray, FloatArray, IntArray, compile_function
from evo_libra.collective import Collective
from evo_libra.timing.collectives.phase import FULLY_CONNECTED, RING, SWITCH, UPPER, Link, Overheads
from evo_libra.units import bytes_per_ns

UNTIMED = -1.0
"""Value in place of the ns of a phase that is not timed here."""

# The numbers that `_run` knows blocks, collectives and algorithms by; -1 for what it does not time.
_NETWORK = np.full(len(UPPER), -1)
_NETWORK[[RING, FULLY_CONNECTED, SWITCH]] = range(3)
_COLLECTIVES = (
    Collective.REDUCE_SCATTER,
    Collective.ALL_GATHER,
    Collective.ALL_REDUCE,
    Collective.ALL_TO_ALL,
)


_FEW_DESIGNS = 8
"""Up to how many designs it takes longer to load numba than to do without it."""


def can_compile(link: Link) -> bool:
    """Return whether phases on some links are timed here.

    That is where numba is installed, and loaded or worth it, and messages do not share links.
    """
    worth = link.npus.shape[1] > _FEW_DESIGNS or "numba" in sys.modules
    return worth and not link.shared and compile_function(_run) is not None


def compiled_phases(
    dims: IntArray | NDArray[np.int8],
    kinds: Sequence[Collective],
    size: FloatArray,
    link: Link,
    implementation: IntArray,
    taken: BoolArray,
    overheads: Overheads,
) -> tuple[FloatArray, bool]:
    """Return (p, n) ns of phases, `UNTIMED` for those that are not timed here, and whether there are any of these.

    Parameters
    ----------
    dims : (p, n) the dimension of each, or (p, 1).
    kinds : what the p phases run.
    size : (p, n) bytes that enter; (1, n) those of the first phase, where what leaves one enters the next.
    link : of (d, n) dimensions.
    implementation : (d, n) index into `IMPLEMENTATIONS`, -1 for others.
    taken : (p, n) whether a design has a phase; others take no time.
    """
    run = cast("Callable[..., tuple[FloatArray, bool]]", compile_function(_run))
    near, far, rates = link.npus, link.npus, [link.rate] * 3
    if link.leaf is not None and link.pod is not None and link.upper is not None and link.top is not None:
        near, far = link.leaf, link.pod
        rates[1:] = (bytes_per_ns(link.bandwidth * part) for part in (link.upper, link.top))
    codes = np.array([_COLLECTIVES.index(kind) for kind in kinds], dtype=np.int64)
    whole = np.ascontiguousarray
    return run(
        whole(dims, dtype=np.int64), codes, whole(size), whole(taken), whole(implementation),
        whole(_NETWORK[link.block]), whole(link.npus), whole(near), whole(far), *map(whole, rates),
        whole(link.latency, dtype=np.float64),
        (float(overheads.endpoint), overheads.memory * GIGA, overheads.listed),
    )  # fmt: skip


def _run(  # noqa: C901, PLR0912, PLR0913, PLR0915, PLR0917 - numba compiles one plain function
    dims: IntArray, kinds: IntArray, size: FloatArray, taken: BoolArray, implementation: IntArray, network: IntArray,
    npus: IntArray, near: IntArray, far: IntArray, rate: FloatArray, upper: FloatArray, top: FloatArray,
    latency: FloatArray, overheads: tuple[float, float, bool],
) -> tuple[FloatArray, bool]:  # fmt: skip
    """Return the (p, n) ns of `compiled_phases`; networks are 0 rings, 1 links to all, 2 switches, -1 others."""
    endpoint, memory, listed = overheads

    def transfer(message: float, hops: float, rate: float, latency: float) -> float:
        return float(np.floor(hops * latency + message / rate))

    def reduction(message: float) -> float:
        return float(3.0 * np.floor(message / memory * 1e9))

    scatter, gather, reduce, exchange = 0, 1, 2, 3
    varies, found, untimed = min(dims.shape[1], 2) - 1, np.zeros(taken.shape), False
    chained, resident = len(size) < len(kinds), size[0].copy() if len(size) > 0 else np.zeros(0)
    for p, kind in enumerate(kinds):
        for n in range(size.shape[1]):
            if not taken[p, n]:
                continue
            d, bytes_ = dims[p, varies * n], resident[n] if chained else size[p, n]
            if kind == scatter:
                resident[n] = np.floor(bytes_ / npus[d, n])
            elif kind == gather:
                resident[n] = bytes_ * npus[d, n]
            how, where, many = implementation[d, n], network[d, n], npus[d, n]
            count, rated, delay = float(many), rate[d, n], latency[d, n]
            found[p, n] = -1.0
            if where < 0 or how < 0:
                untimed = True
                continue
            message = bytes_ if kind == gather else np.floor(bytes_ / count)
            if how == 0:
                each = transfer(message, 2.0 if where == 2 else 1.0, rated, delay) + endpoint  # noqa: PLR2004 - a switch
                steps, reduced = count - 1.0, 0.0 if kind in (gather, exchange) else count - 1.0
                if kind == reduce:
                    steps = 2.0 * (count - 1.0)
                elif kind == exchange:
                    steps = count * (count - 1.0) / 2.0
                found[p, n] = endpoint + steps * each + reduced * reduction(message)
            elif how == 1:
                # An all-reduce around a ring is followed message by message, not here.
                if kind == reduce and where == 0:
                    untimed = True
                    continue
                hops = float(many // 2) if where == 0 else float(where)
                rounds, done = 2.0 if kind == reduce else 1.0, 0.0 if kind in (gather, exchange) else 1.0
                if listed and done > 0.0 and many > 2:  # noqa: PLR2004 - of two, a message is a whole window
                    done = rounds
                slowest = transfer(message, hops, rated, delay)
                found[p, n] = (rounds + 1.0) * endpoint + rounds * slowest + done * reduction(message)
            elif kind != exchange and many & (many - 1) == 0:
                halved, doubled = endpoint, endpoint
                reached = 1
                while kind != gather and 2 * reached <= many:
                    message, distance = np.floor(bytes_ / (2.0 * reached)), float(reached)
                    hops = min(distance, count - distance) if where == 0 else float(where)
                    mine = rate[d, n] if reached < near[d, n] else upper[d, n] if reached < far[d, n] else top[d, n]
                    each = transfer(message, hops, mine, delay) + endpoint
                    halved += each + (reduction(message) if reached > 1 else 0.0)
                    reached *= 2
                # The first gather of an all-reduce has twice the bytes that one halving too many leaves.
                first = 2.0 * np.floor(bytes_ / (2.0 * count)) if kind == reduce else bytes_
                reached = 1
                while kind != scatter and 2 * reached <= many:
                    distance = count / (2.0 * reached)
                    hops = min(distance, count - distance) if where == 0 else float(where)
                    mine = rate[d, n] if distance < near[d, n] else upper[d, n] if distance < far[d, n] else top[d, n]
                    doubled += transfer(first * reached, hops, mine, delay) + endpoint
                    reached *= 2
                if kind == reduce:
                    found[p, n] = halved + (doubled - endpoint)
                else:
                    found[p, n] = doubled if kind == gather else halved
            else:
                untimed = True
    return found, untimed
