"""Cheap bounds of every structure of a space, which tell the few that are worth solving."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from evo_libra.arrays import TILE, BoolArray, FloatArray, IntArray
from evo_libra.bandwidth.lower_bound import ascend, hyperbola
from evo_libra.bandwidth.program import BandwidthProgram, only_price
from evo_libra.bandwidth.solve import optimal_bandwidth
from evo_libra.errors import InputError
from evo_libra.problem.allocate import program_for, variants
from evo_libra.problem.problem import Problem
from evo_libra.problem.space import Structures
from evo_libra.problem.tables import Skeletons

EXACT = 1e-9
"""Relative gap up to which a time counts as the least one."""

_STEPS = 12
_BATCH = 256


@dataclass(frozen=True)
class Screen:
    """Cheap bounds of every variant of a space; a variant is a structure with a choice of blocks, v of them.

    Attributes
    ----------
    structure : (v,) index of the structure, -1 for one that is not in a table.
    npus, technology, gene : (d, v) sizes, technologies and block genes.
    base, kappa : (v,) time is at least ``base + kappa / cost``.
    saturated : (v,) seconds that no budget undercuts.
    least : (v,) USD that no feasible bandwidths undercut.
    """

    structure: IntArray
    npus: IntArray
    technology: IntArray
    gene: IntArray
    base: FloatArray
    kappa: FloatArray
    saturated: FloatArray
    least: FloatArray

    def __len__(self) -> int:
        return len(self.structure)

    def select(self, chosen: IntArray) -> Screen:
        """Return some of the variants."""
        fields = ("structure", "npus", "technology", "gene", "base", "kappa", "saturated", "least")
        return Screen(*(getattr(self, name)[..., chosen] for name in fields))

    def join(self, other: Screen) -> Screen:
        """Return both, this one's variants first."""
        pairs = zip(vars(self).values(), vars(other).values(), strict=True)
        return Screen(*(np.concatenate(pair, axis=-1) for pair in pairs))

    def bound(self, cost: FloatArray) -> FloatArray:
        """Return the (v, k) seconds that no variant undercuts at (k,) costs; infinite below its least cost."""
        bound = np.maximum(self.base[:, None] + self.kappa[:, None] / cost, self.saturated[:, None])
        return np.where(cost < self.least[:, None] * (1.0 - EXACT), np.inf, bound)


def screen(problem: Problem) -> Screen:
    """Bound every variant of a space.

    Of a dimension's blocks only the cheapest matters, as all are equally fast, unless a constraint asks for cost.

    Raises
    ------
    InputError : the problem does not minimise time.
    """
    if "time" not in [objective.name for objective in problem.objectives]:
        raise InputError("least times at each cost are asked for, but time is no objective of the problem")
    if not isinstance(problem.structures, Structures):
        raise InputError(
            f"the space has {len(problem.structures):,} structures, too many to look at each; "
            "search it with another engine and certify the front"
        )
    npus, technology = problem.structures.npus, problem.structures.technology
    structure, gene = variants(problem.tables, problem.constraints, npus, technology)
    found = bounded(problem, structure, npus[:, structure], technology[:, structure], gene)
    return _fastest_exact(problem, found) if _only_ports(problem) else found


def bounded(problem: Problem, structure: IntArray, npus: IntArray, technology: IntArray, gene: IntArray) -> Screen:
    """Bound variants; the parameters are those of `Screen`."""
    tiles = [slice(start, start + TILE) for start in range(0, max(len(structure), 1), TILE)]
    designs = [problem.tables.skeletons_of(npus[:, t], technology[:, t], gene[:, t], structure[t]) for t in tiles]
    parts = [_bounds(problem, part) for part in designs]
    return Screen(structure, npus, technology, gene, *(np.concatenate(column) for column in zip(*parts, strict=True)))


def _bounds(problem: Problem, designs: Skeletons) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    program = program_for(problem.tables, problem.constraints, designs, None)
    base, kappa = hyperbola(program, ascend(program, designs.price, _STEPS), designs.price)
    least = (designs.price * designs.low).sum(axis=0)
    if _only_ports(problem):
        return base, kappa, _saturated(program), np.where(_affords(program), least, np.inf)
    if len(program.limit):
        least = np.maximum(least, optimal_bandwidth(only_price(program, designs.price)).bound)
    return base, kappa, optimal_bandwidth(program).bound, least


def _only_ports(problem: Problem) -> bool:
    return bool(problem.tables.kits) and all(c.ports or not c.linear for c in problem.constraints)


def _affords(program: BandwidthProgram) -> BoolArray:
    """Return (n,) whether the least bandwidths meet rows without a negative coefficient; if not, none do."""
    return np.asarray(((program.rows * program.low).sum(axis=1) <= program.limit * (1.0 + EXACT)).all(axis=0))


def _saturated(program: BandwidthProgram) -> FloatArray:
    """Return (n,) seconds that no bandwidths undercut: those of the box, and of each row for itself."""
    free = replace(program, rows=program.rows[:0], limit=program.limit[:0], equality=program.equality[:0])
    found = optimal_bandwidth(free).bound
    for row, limit in zip(program.rows, program.limit, strict=True):
        mine = np.flatnonzero(row.any(axis=0))
        part, price = free.select(mine), row[:, mine]
        base, kappa = hyperbola(part, ascend(part, price, _STEPS), price)
        found[mine] = np.maximum(found[mine], base + kappa / limit[mine])
    return found


def _fastest_exact(problem: Problem, bounds: Screen) -> Screen:
    """Return the bounds with exact saturated times of the fastest variants, so that no others are as fast."""
    saturated, best = bounds.saturated.copy(), np.inf
    order = np.argsort(saturated, kind="stable")
    for start in range(0, len(order), _BATCH):
        some = order[start : start + _BATCH]
        if saturated[some[0]] > best * (1.0 + EXACT):
            break
        designs = skeletons(problem, bounds.select(some))
        found = optimal_bandwidth(program_for(problem.tables, problem.constraints, designs, None))
        saturated[some] = np.maximum(saturated[some], found.bound)
        best = min(best, float(found.objective.min()))
    return replace(bounds, saturated=saturated)


def skeletons(problem: Problem, part: Screen) -> Skeletons:
    """Return the designs of a screen without their bandwidths."""
    return problem.tables.skeletons_of(part.npus, part.technology, part.gene, part.structure)
