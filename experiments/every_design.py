"""The exact front of a problem that is built of parts: every structure with every number of ports, one by one.

Ports are few and whole, so that there are some million designs where bandwidths in any fraction are without number.
Where LIBRA's time bounds that of a problem, it leaves out most of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from evo_libra import Problem
from evo_libra.arrays import BoolArray, FloatArray, IntArray, Population
from evo_libra.front.archive import non_dominated
from evo_libra.problem.pricing.parts import BillOfMaterials
from evo_libra.problem.space import Structures

_CHUNK = 100_000
_ROUNDING = 1e-9
_DIGITS = 12


def designs_of(problem: Problem) -> Iterator[tuple[IntArray, FloatArray]]:
    """Yield structures (n,) and bandwidths (d, n) in B/s, in which every design of a problem comes once.

    Parameters
    ----------
    problem : of parts, with a table of its structures.
    """
    space = problem.structures
    assert isinstance(space, Structures)  # noqa: S101 - the problems that are asked for are tabulated
    assert isinstance(problem.pricing, BillOfMaterials)  # noqa: S101 - they are built of parts
    hardware = problem.pricing.hardware_of(space.npus, space.technology)
    depth, count = space.npus.shape
    shared = hardware.shared.reshape(-1, count)
    keys = np.vstack([hardware.rate, hardware.quantum, hardware.min_ports, hardware.max_ports, shared])
    _, kind = np.unique(keys, axis=1, return_inverse=True)
    for one in range(int(kind.max()) + 1):
        alike = np.flatnonzero(kind.ravel() == one)
        rate, quantum, min_ports, max_ports = (array[:, alike[0]] for array in np.split(keys[: 4 * depth], 4))
        ports = [
            np.arange(low, high + 1, step) if step else np.zeros(1)
            for low, high, step in zip(min_ports, max_ports, quantum, strict=True)
        ]
        bandwidth = np.stack(np.meshgrid(*ports, indexing="ij")).reshape(depth, -1) * rate[:, None]
        taken = shared[:, alike[0]].reshape(-1, depth) @ bandwidth
        bandwidth = bandwidth[:, (taken <= 1.0 + _ROUNDING).all(axis=0)]
        each = max(_CHUNK // max(bandwidth.shape[1], 1), 1)
        for start in range(0, len(alike) if bandwidth.size else 0, each):
            some = alike[start : start + each]
            yield np.repeat(some, bandwidth.shape[1]), np.tile(bandwidth, len(some))


def population_of(problem: Problem, structure: IntArray, bandwidth: FloatArray) -> Population:
    """Return designs of (n,) structures and (d, n) B/s."""
    npus, technology = problem.structures.look_up(structure)
    block = problem.pricing.topologies(structure, np.zeros_like(npus)).block
    fidelity = problem.time.fidelity
    if fidelity is None:
        return Population(npus, block, technology, bandwidth)
    assert not fidelity.genes(len(npus)), "what is left open would be designs, too"  # noqa: S101 - it is not, here
    schedule = fidelity.schedule(np.zeros((0, len(structure)), dtype=np.int64), block)
    return Population(npus, block, technology, bandwidth, schedule)


def exact_front(problem: Problem, known: FloatArray | None = None) -> tuple[list[str], FloatArray, int]:
    """Return every design that no other one beats; of designs of the same time and cost the first.

    Parameters
    ----------
    problem : that minimises time and cost, and leaves nothing open of how collectives run.
    known : (2, k) s and USD that designs of the problem have; they spare work, and change nothing.

    Returns
    -------
    designs in the notation, the cheapest first; their (2, n) s and USD; the number of all designs.
    """
    problem.relaxed()  # refuses where LIBRA's time is no bound
    bound = problem.time.lower_bound
    bounding = None if bound is None or problem.time.exact else replace(problem, time=bound)
    # A design that is known is not to be beaten by its own figures in other digits.
    best = np.empty((2, 0)) if known is None else known * (1.0 + _ROUNDING)
    found: list[tuple[IntArray, FloatArray, FloatArray]] = []
    count = 0
    for structure, bandwidth in designs_of(problem):
        count += len(structure)
        mine = np.arange(len(structure))
        if bounding is not None:
            mine = mine[~_beaten(_objectives_of(bounding, structure, bandwidth) * (1.0 - _ROUNDING), best)]
        if not len(mine):
            continue
        objectives = _objectives_of(problem, structure[mine], bandwidth[:, mine])
        new = np.flatnonzero(~_beaten(objectives, best))
        new = new[non_dominated(objectives[:, new])]
        found.append((structure[mine[new]], bandwidth[:, mine[new]], objectives[:, new]))
        best = np.concatenate([best, objectives[:, new]], axis=1)
        best = best[:, non_dominated(best)]
    structure, bandwidth, objectives = (np.concatenate(arrays, axis=-1) for arrays in zip(*found, strict=True))
    _, first = np.unique(objectives[::-1], axis=1, return_index=True)
    first = first[non_dominated(objectives[:, first])]
    front = population_of(problem, structure[first], bandwidth[:, first])
    return list(map(str, problem.fabrics(front))), objectives[:, first], count


def _objectives_of(problem: Problem, structure: IntArray, bandwidth: FloatArray) -> FloatArray:
    """Return (2, n) s and USD in 12 digits, so that sums in another order are equal; infinite if not feasible."""
    designs = population_of(problem, structure, bandwidth)
    topologies = problem.pricing.topologies(structure, np.zeros_like(designs.npus))
    traffic = problem.traffic.of(topologies)
    found = problem.evaluate_prepared(designs, topologies, traffic)
    scale = 10.0 ** (_DIGITS - np.ceil(np.log10(found.objectives)))
    return np.where(found.violation <= 0, np.rint(found.objectives * scale) / scale, np.inf)


def _beaten(objectives: FloatArray, best: FloatArray) -> BoolArray:
    """Return (n,) whether one of (2, k) designs is as good in both objectives as (2, n), or these are infinite."""
    hopeless = np.asarray(~np.isfinite(objectives).all(axis=0))
    if not best.shape[1]:
        return hopeless
    order = np.lexsort(best)
    place = np.searchsorted(best[1, order], objectives[1], side="right") - 1
    time = np.minimum.accumulate(best[0, order])[np.maximum(place, 0)]
    return np.asarray(hopeless | ((place >= 0) & (time <= objectives[0])))
