"""The distance of a front of fabrics from the exact one, and the number of fabrics in their space."""

from __future__ import annotations

from functools import cache
from itertools import product
from math import prod

from evo_libra.front.front import Front
from evo_libra.network.fabrics.bits import LAYERS, LOWER, PAIRS, UPPER
from evo_libra.optimality.front_proof import Counts, FrontProof, distance_of, objectives_of
from evo_libra.optimality.switch_fabrics.proof import exact_front
from evo_libra.optimality.switch_fabrics.wirings import graphs
from evo_libra.optimality.watch import Watch, never
from evo_libra.problem.switch_fabrics.problem import FabricProblem


def prove_fabrics(problem: FabricProblem, front: Front, watch: Watch = never) -> FrontProof:
    """Prove how far a front of time and cost is from the exact one; its networks are the sides of `ExactFront`."""
    mine = objectives_of(problem, front)
    found = exact_front(problem, mine, watch)
    exact = found.objectives[[("time", "cost").index(one.name) for one in problem.objectives]]
    bound = found.bound[[("time", "cost").index(one.name) for one in problem.objectives]]
    counts = Counts(found.sides, found.evaluated, found.waiting, len(problem.times))
    return distance_of(mine, exact, bound, problem.settings.epsilon or 0.0, counts)


@cache
def topologies(npus: int) -> int:
    """Return the fabrics of up to three layers of switches, rates and parallel links aside, each wiring once.

    Settings that tie the same bits of addresses to each other are one wiring. Layers in another order, and bits under
    other names, are another one. So this is the most that there can be up to identity.

    With two NPUs, for which `npus` is 1, and layers of two switches, two layers are joined in one of two ways. So each
    connected graph of the NPUs and e other edges counts 2^e times: 3 x 2 with one layer, 3 x (3 x 4 + 8) with two, and
    with three 16 x 8 + 15 x 16 + 6 x 32 + 64.

    >>> topologies(1)
    690
    """
    joined = [mask for mask in product((False, True), repeat=PAIRS) if any(mask) and _is_whole(mask)]
    return sum(_of_sizes(npus, mask) for mask in joined)


def _is_whole(joined: tuple[bool, ...]) -> bool:
    """Return whether all layers that are joined to one have a way to the NPUs."""
    reached = {0}
    pairs = [pair for pair in range(PAIRS) if joined[pair]]
    for _ in range(LAYERS):
        for pair in pairs:
            ends = {LOWER[pair], UPPER[pair]}
            reached |= ends if ends & reached else set()
    return all(LOWER[pair] in reached for pair in pairs)


def _of_sizes(npus: int, joined: tuple[bool, ...]) -> int:
    pairs = [(LOWER[pair], UPPER[pair]) for pair in range(PAIRS) if joined[pair]]
    used = {layer for pair in pairs for layer in pair}
    sizes = product((npus,), *(range(1, npus + 1) if layer in used else (0,) for layer in range(1, LAYERS)))
    return sum(prod(len(graphs(bits[lower], bits[upper])) for lower, upper in pairs) for bits in sizes)
