"""Branch and bound over partial combinations: a bound of the ideal of a space too large to evaluate whole.

The combination with the lowest bound goes first, partial or complete: a complete one is solved only when no bound is
lower. So the bound gets tighter with every step, and combinations that cannot change it much wait until the end.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from evo_libra.arrays import FloatArray, IntArray
from evo_libra.optimality.bounds import VariantBounds, bounds_of, topologies_of
from evo_libra.optimality.ideal_bandwidth import Ideal, empty_ideal, with_variants
from evo_libra.optimality.partial_structures import Budgets, PartialStructures, bounded_children, further, root
from evo_libra.optimality.useful_ways import UsefulOptions
from evo_libra.problem.allocate import variants
from evo_libra.problem.plans import UsefulPlans, useful_plans
from evo_libra.problem.problem import Problem

_BATCH = 1024
_CHUNK = 4096
_ROWS = 256
_EDGES = np.array([0.0, 0.5, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.998, 0.999, 0.9995, 0.9998, 0.9999])
"""Scores by which combinations wait: those of one interval are equally urgent."""
_EXACT_PROOF = 200_000
"""Waiting combinations of the lowest scores that a proof bounds one by one; scores stand for the rest."""


@dataclass(frozen=True)
class _Page:
    """Combinations that wait together. The version is how often better designs had been found when they were scored."""

    nodes: PartialStructures
    version: int


class _Queue:
    """Combinations that wait, in pages by the interval of their scores; those of the first interval go first."""

    def __init__(self) -> None:
        self.pages: list[list[_Page]] = [[] for _ in _EDGES]

    def __len__(self) -> int:
        return sum(len(page.nodes) for pages in self.pages for page in pages)

    def put(self, nodes: PartialStructures, version: int) -> None:
        """Let combinations wait that were scored at a version."""
        place = np.searchsorted(_EDGES, nodes.score, side="right") - 1
        for interval in np.unique(place).tolist():
            pages, some = self.pages[interval], nodes.select(np.flatnonzero(place == interval))
            if pages and pages[-1].version == version and len(pages[-1].nodes) + len(some) <= _BATCH:
                some = pages.pop().nodes.join(some)
            pages.append(_Page(some, version))

    def take(self, budgets: Budgets, version: int) -> PartialStructures | None:
        """Return a batch of those that promise most; None where all that waited have turned out to promise nothing."""
        while pages := next((pages for pages in self.pages if pages), None):
            page = pages.pop()
            if len(page.nodes) > _BATCH:
                pages.append(_Page(page.nodes.select(np.arange(_BATCH, len(page.nodes))), page.version))
            nodes = page.nodes.select(np.arange(min(_BATCH, len(page.nodes))))
            if page.version == version:
                return nodes
            # Better designs have been found since these were put aside.
            self.put(nodes.prune(budgets), version)
        return None


@dataclass(frozen=True)
class BoundProgress:
    """The proof so far.

    Attributes
    ----------
    ideal : of the complete combinations that were solved, and the best designs known.
    spent : (k,) USD that the best designs cost which were found on the way; infinite where none was.
    looked : partial and complete combinations evaluated; `solved` : programs solved.
    open : combinations that are still open, those that promise most first.
    before : (k,) seconds that were proven before.
    """

    ideal: Ideal
    spent: FloatArray
    looked: int
    solved: int
    open: tuple[PartialStructures, ...]
    before: FloatArray

    @property
    def waiting(self) -> int:
        """Combinations that are still open, partial and complete ones."""
        return sum(len(nodes) for nodes in self.open)

    @property
    def gap(self) -> float:
        """By which part some design may be faster than the best one known, at the same cost."""
        return 1.0 - min((float(nodes.score.min()) for nodes in self.open), default=1.0)

    @cached_property
    def bound(self) -> FloatArray:
        """(k,) seconds that no design undercuts."""
        lower, exact = np.minimum(self.ideal.bound, self.ideal.time), _EXACT_PROOF
        for nodes in self.open:
            score = float(nodes.score.min())
            if exact <= 0 and score > 0:
                lower = np.minimum(lower, self.ideal.time * score)
                continue
            exact -= len(nodes)
            for start in range(0, len(nodes), _ROWS):
                part = nodes.select(np.arange(start, min(start + _ROWS, len(nodes))))
                lower = np.minimum(lower, part.bound(self.ideal.cost).min(axis=0))
        # Completions may have a looser bound than the partial combination had; a proven bound stays.
        return np.maximum(lower, self.before)


def branch_and_bound(problem: Problem, cost: FloatArray, time: FloatArray) -> Iterator[BoundProgress]:
    """Yield ever tighter bounds of the least time at some costs; ends when each combination is excluded or solved.

    Linear constraints hold in complete combinations; partial ones leave them out, which can only lower the bound.

    Parameters
    ----------
    problem : which designs there are.
    cost, time : (k,) USD, ascending, and the seconds known to be reached at these; infinity where none are.
    """
    plans, ways = useful_plans(problem.time, problem.constraints), UsefulOptions(problem)
    bounded = replace(problem, time=plans.ways.bound) if problem.time.tables else problem
    ideal, queue, version = replace(empty_ideal(cost, len(problem.choices)), time=time), _Queue(), 0
    looked, solved, spent, before = 1, 0, np.full(len(cost), np.inf), np.zeros(len(cost))
    queue.put(bounded_children(bounded, plans, ways, Budgets(cost, time), root(problem, plans)), version)
    while True:
        waiting = tuple(page.nodes for pages in queue.pages for page in pages)
        found = BoundProgress(ideal=ideal, spent=spent, looked=looked, solved=solved, open=waiting, before=before)
        yield found
        # The bound is computed only where a caller has asked for it.
        before = found.bound if "bound" in vars(found) else before
        if not waiting:
            break
        nodes = queue.take(Budgets(ideal.cost, ideal.time), version)
        if nodes is None:
            continue
        done = np.flatnonzero(nodes.left == 1)
        if len(done):
            best = ideal.time
            ideal, spent, more = _with_leaves(
                problem, bounded, plans=plans, nodes=nodes.select(done), ideal=ideal, spent=spent
            )
            solved, version = solved + more, version + bool((ideal.time < best).any())
        budgets = Budgets(ideal.cost, ideal.time)
        prefixes = further(ways, nodes.select(np.flatnonzero(nodes.left > 1)))
        looked += len(prefixes)
        for start in range(0, len(prefixes), _CHUNK):
            queue.put(
                bounded_children(bounded, plans, ways, budgets, prefixes.select(slice(start, start + _CHUNK))), version
            )


def _with_leaves(
    problem: Problem, bounded: Problem, plans: UsefulPlans, nodes: PartialStructures, ideal: Ideal, spent: FloatArray
) -> tuple[Ideal, FloatArray, int]:  # fmt: skip
    """Solve complete combinations that may beat the best known designs; return the number of programs solved."""
    column, gene = variants(problem.pricing, problem.constraints, nodes.npus, nodes.technology)
    group = nodes.group[column]
    if problem.time.tables:
        some = [
            kept
            for kept, _ in _better(
                bounded, ideal, nodes=nodes, column=column, gene=gene, plan=plans.ways.examples[:, group]
            )
        ]
        whole = np.concatenate(some)
        node, plan = plans.ways.members.of(group[whole])
        column, gene = column[whole][node], gene[:, whole][:, node]
    else:
        plan = group
    solved = 0
    for _, bounds in _better(problem, ideal, nodes=nodes, column=column, gene=gene, plan=plans.plans[:, plan]):
        ideal, spent, more = _with_variants(problem, bounds, ideal, spent)
        solved += more
    return ideal, spent, solved


def _better(
    problem: Problem, ideal: Ideal, nodes: PartialStructures, column: IntArray, gene: IntArray, plan: IntArray
) -> Iterator[tuple[IntArray, VariantBounds]]:  # fmt: skip
    """Yield the places and bounds of (v,) variants that may be better than the best known designs at some cost.

    A variant is a column of the nodes with (d, v) genes of blocks and (w, v) plans.
    """
    for start in range(0, len(column), _CHUNK):
        some = slice(start, start + _CHUNK)
        at, none = column[some], np.full(len(column[some]), -1)
        found = bounds_of(
            problem, none, npus=nodes.npus[:, at], technology=nodes.technology[:, at], gene=gene[:, some],
            plan=plan[:, some],
        )  # fmt: skip
        parts = (found.select(np.arange(len(at))[row : row + _ROWS]) for row in range(0, len(at), _ROWS))
        better = [(part.bound(ideal.cost) < ideal.time).any(axis=1) for part in parts]
        kept = np.flatnonzero(np.concatenate(better))
        yield start + kept, found.select(kept)


def _with_variants(
    problem: Problem, bounds: VariantBounds, ideal: Ideal, spent: FloatArray
) -> tuple[Ideal, FloatArray, int]:
    """Solve variants where they may be better than the best known designs; return how many programs that took."""
    nothing, solved = empty_ideal(ideal.cost, len(bounds.npus)), 0
    for start in range(0, len(bounds), _BATCH):
        part = bounds.select(np.arange(start, min(start + _BATCH, len(bounds))))
        found = with_variants(problem, part, np.arange(len(part)), replace(nothing, time=ideal.time, bound=ideal.bound))
        better = np.flatnonzero(found.variant >= 0)
        designs, spent = topologies_of(problem, part.select(found.variant[better])), spent.copy()
        spent[better] = (designs.price * found.bandwidth[:, better]).sum(axis=0)
        # A design within one budget is within every larger one.
        least = np.minimum.accumulate(found.time)
        place = np.maximum.accumulate(np.where(found.time <= least, np.arange(len(least)), 0))
        ideal, spent = replace(ideal, time=least, bound=found.bound), spent[place]
        solved += len(found.lines.at)
    return ideal, spent, solved
