"""All designs of a small space, so that a search that has had nearly all of them evaluates the rest and ends."""

from __future__ import annotations

from math import prod

import numpy as np

from evo_libra.arrays import FloatArray, IntArray
from evo_libra.optimality.whole_designs import (
    Designs,
    count_networks,
    count_schedules,
    networks_of,
    schedules_of,
    spares_of,
)
from evo_libra.problem.problem import Problem
from evo_libra.problem.protocol import Genome, SearchProblem


def count_designs(problem: SearchProblem | None, most: int) -> int | None:
    """Return how many designs a problem has; None where they are more than `most`, or cannot be listed.

    Networks of whole ports are listed where nothing is open of their blocks and plans. Other genes are listed where all
    of them are whole numbers.
    """
    if isinstance(problem, Problem):
        found = _count_of_ports(problem, most)
    else:
        found = None if problem is None else _count_of_genes(problem.genome)
    return found if found is not None and found <= most else None


def listed_designs(problem: SearchProblem | None, most: int) -> FloatArray | None:
    """Return (g, n) genes of each design of a problem; None where `count_designs` counts none."""
    if problem is None or count_designs(problem, most) is None:
        return None
    if not isinstance(problem, Problem):
        lower, sizes = problem.genome.lower, _sizes(problem.genome)
        return lower[:, None] + np.indices(sizes).reshape(len(sizes), -1)
    networks = (_with_ways(problem, structure, bandwidth) for structure, bandwidth in networks_of(problem))
    return np.concatenate([some.genes(problem) for some in networks], axis=1)


def _count_of_ports(problem: Problem, most: int) -> int | None:
    table = problem.structures.table
    if table is None or len(table) > most or problem.time.tables or not problem.pricing.whole:
        return None
    networks = None if problem.pricing.blocks.shape[2] > 1 else count_networks(problem)
    return networks and networks * count_schedules(problem) * len(spares_of(problem))


def _count_of_genes(genome: Genome) -> int | None:
    return prod(_sizes(genome)) if genome.categorical.all() else None


def _sizes(genome: Genome) -> list[int]:
    return [int(size) for size in genome.upper - genome.lower + 1]


def _with_ways(problem: Problem, structure: IntArray, bandwidth: FloatArray) -> Designs:
    """Return networks with each way to run collectives and each number of spares."""
    schedules, spares = schedules_of(problem), np.array(spares_of(problem), dtype=np.int64)
    network, schedule, spare = np.indices((len(structure), schedules.shape[1], len(spares))).reshape(3, -1)
    nothing = np.zeros(len(network), dtype=np.int64)
    return Designs(
        structure=structure[network], bandwidth=bandwidth[:, network], plan=nothing[None][:0], group=nothing,
        collectives=schedules[:, schedule], spares=spares[spare],
    )  # fmt: skip
