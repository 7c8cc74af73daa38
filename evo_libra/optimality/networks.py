"""Networks of whole ports, one by one: every structure with every number of ports."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from evo_libra.arrays import FloatArray, IntArray
from evo_libra.problem.pricing.parts import WholeTopologies
from evo_libra.problem.problem import Problem

MAX_NETWORKS = 5_000_000
"""More networks than that are not looked at one by one."""

_CHUNK = 100_000
_ROUNDING = 1e-9


def networks_of(problem: Problem) -> Iterator[tuple[IntArray, FloatArray]]:
    """Yield structures (n,) and bandwidths (d, n) in B/s, in which every network of whole ports comes once.

    The problem is one of parts, with a table of its structures.
    """
    for alike, bandwidth in _kinds(problem):
        each = max(_CHUNK // max(bandwidth.shape[1], 1), 1)
        for start in range(0, len(alike) if bandwidth.size else 0, each):
            some = alike[start : start + each]
            yield np.repeat(some, bandwidth.shape[1]), np.tile(bandwidth, len(some))


def count_networks(problem: Problem) -> int | None:
    """Return how many networks of whole ports there are; None where nobody looks at each, as they are too many.

    Parts that come in any fraction, and spaces without a table of their structures, have networks without number.
    """
    if problem.structures.table is None or not problem.pricing.whole:
        return None
    count = 0
    for alike, bandwidth in _kinds(problem):
        count += len(alike) * bandwidth.shape[1]
        if count > MAX_NETWORKS:
            return None
    return count


def _kinds(problem: Problem) -> Iterator[tuple[IntArray, FloatArray]]:
    """Yield (k,) structures that have the same ports to choose from, and (d, n) B/s of each choice."""
    table = problem.structures.table
    assert table is not None, "callers have looked"  # noqa: S101 - internal error
    designs = problem.pricing.topologies(np.arange(len(table)), problem.pricing.cheapest(table.technology))
    assert isinstance(designs, WholeTopologies), "ports are whole"  # noqa: S101 - internal error
    hardware, (depth, count) = designs.hardware, table.npus.shape
    shared = hardware.shared.reshape(-1, count)
    keys = np.vstack([hardware.rate, hardware.quantum, hardware.min_ports, hardware.max_ports, shared])
    _, kind = np.unique(keys, axis=1, return_inverse=True)
    order = np.argsort(kind.ravel(), kind="stable")
    for alike in np.split(order, np.flatnonzero(np.diff(kind.ravel()[order])) + 1):
        rate, quantum, min_ports, max_ports = (array[:, alike[0]] for array in np.split(keys[: 4 * depth], 4))
        ports = [
            np.arange(low, high + 1, step) if step else np.zeros(1)
            for low, high, step in zip(min_ports, max_ports, quantum, strict=True)
        ]
        bandwidth = np.stack(np.meshgrid(*ports, indexing="ij")).reshape(depth, -1) * rate[:, None]
        taken = shared[:, alike[0]].reshape(-1, depth) @ bandwidth
        yield alike, bandwidth[:, (taken <= 1.0 + _ROUNDING).all(axis=0)]
