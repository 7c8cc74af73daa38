"""Genes of what runs on a network: plans of parallelisation, and the open choices of how collectives run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from evo_libra.arrays import BoolArray, FloatArray, IntArray, Population
from evo_libra.problem.protocol import Gene
from evo_libra.problem.sections.section import Draft, Rules, Section, Segment

if TYPE_CHECKING:
    from evo_libra.workload.plans.plan_table import PlanTable


_LISTED = 5_000_000
"""Combinations of options up to which the nearest plan of each is kept once it is known."""


@dataclass(frozen=True)
class PlanSection(Section):
    """One ordered gene for each open option; what is no plan that fits becomes the nearest one.

    The nearest plan has the least sum of squared steps along the options, whose values are in ascending order; virtual
    stages only decide between plans that are equally near otherwise.
    """

    tables: tuple[PlanGenes, ...]
    segment: ClassVar = Segment.PLAN

    @staticmethod
    def of(rules: Rules) -> PlanSection | None:
        """Return the section of a problem; None where no workload leaves a plan open."""
        tables = tuple(PlanGenes(table, place) for place, table in enumerate(rules.time.tables))
        return PlanSection(rules, tables) if tables else None

    def genes(self) -> Sequence[Gene]:
        return [gene for table in self.tables for gene in table.genes()]

    def decode(self, genes: FloatArray, draft: Draft) -> Draft:
        owner = self.rules.time.owner
        technology = draft.networks.technology[0]
        npu = np.zeros(len(technology), dtype=np.int64) if owner is None else owner[technology]
        plans, start = [], 0
        for table in self.tables:
            count = len(table.axes)
            plans.append(table.nearest(genes[start : start + count].astype(np.int64), npu))
            start += count
        return _with_plans(draft, np.array(plans))

    def recognise(self, designs: Population, draft: Draft) -> Draft:
        return _with_plans(draft, designs.plans)

    def encode(self, draft: Draft) -> FloatArray | IntArray:
        rows = [table.codes(plan) for table, plan in zip(self.tables, draft.networks.plan, strict=True)]
        return np.concatenate(rows)

    def covers(self, genes: FloatArray | IntArray, designs: Population) -> BoolArray:  # noqa: ARG002 - others need them
        owner, found = self.rules.time.owner, np.ones(len(designs), dtype=np.bool_)
        for genes_of, plan in zip(self.tables, designs.plans, strict=True):
            found &= genes_of.fitting[plan]
            if owner is not None:
                found &= genes_of.table.npu[plan] == owner[designs.technology[0]]
        return found


def _with_plans(draft: Draft, plan: IntArray) -> Draft:
    return replace(draft, topologies=replace(draft.networks, plan=plan))


@dataclass(frozen=True)
class PlanGenes:
    """The open options of the plans of one workload, and which plan is nearest to any choice of them."""

    table: PlanTable
    place: int

    @cached_property
    def fitting(self) -> BoolArray:
        """(p,) whether a plan fits the memory."""
        return np.asarray(self.table.memory <= self.table.capacity)

    @cached_property
    def axes(self) -> dict[str, IntArray]:
        """The options in which plans that fit differ: (p,) the place of each plan's value, ascending.

        The accelerator is none of them: the topology says which one it is.
        """
        found = {}
        for name, values in self.table.options.items():
            known = np.unique(values[self.fitting])
            if len(known) > 1:
                found[name] = np.searchsorted(known, values).clip(0, len(known) - 1)
        return found

    def genes(self) -> list[Gene]:
        """Return one ordered gene for each option."""
        end = f"[{self.place}]" if self.place else ""
        return [Gene(f"{name}{end}", 0.0, float(places.max()), ordered=True) for name, places in self.axes.items()]

    def codes(self, plan: IntArray) -> IntArray:
        """Return the (k, n) places of the values of plans."""
        return np.array([places[plan] for places in self.axes.values()]).reshape(len(self.axes), len(plan))

    def nearest(self, codes: IntArray, npu: IntArray) -> IntArray:
        """Return (n,) the plans of (n,) accelerators that fit and are nearest to (k, n) places of values."""
        place = np.ravel_multi_index((npu, *codes), self._sizes)
        if self._found is None:
            some, kind = np.unique(place, return_inverse=True)
            return np.asarray(self._search(some)[kind])
        missing = np.unique(place[self._found[place] < 0])
        if len(missing):
            self._found[missing] = self._search(missing)
        return np.asarray(self._found[place], dtype=np.int64)

    @cached_property
    def _sizes(self) -> tuple[int, ...]:
        return int(self.table.npu.max()) + 1, *(int(places.max()) + 1 for places in self.axes.values())

    @cached_property
    def _found(self) -> NDArray[np.int32] | None:
        """The nearest plan of each combination that has been asked for, -1 for the others."""
        count = int(np.prod(self._sizes, dtype=np.float64))
        return np.full(count, -1, dtype=np.int32) if count <= _LISTED else None

    def _search(self, place: IntArray) -> IntArray:
        """Return the nearest plans of combinations of options, by their numbers."""
        npu, *rows = np.unravel_index(place, self._sizes)
        codes, found = np.array(rows).reshape(len(rows), len(place)), np.empty(len(place), dtype=np.int64)
        for kind in np.unique(npu).tolist():
            mine = npu == kind
            found[mine] = self._search_in(np.flatnonzero(self.fitting & (self.table.npu == kind)), codes[:, mine])
        return found

    def _search_in(self, allowed: IntArray, codes: IntArray) -> IntArray:
        """Return those of some plans that are nearest to combinations of options."""
        if not len(codes):
            return np.full(codes.shape[1], allowed[0])
        from scipy.spatial import cKDTree  # noqa: PLC0415 - takes a fifth of a second

        points, allowed = self._points(allowed)
        # Of plans that are equally near, the first.
        tree = cKDTree((points * self._weights).T)
        distance, near = tree.query((codes * self._weights).T, k=min(_TIED, len(allowed)))
        distance, near = (np.reshape(array, (codes.shape[1], -1)) for array in (distance, near))
        tied = distance <= distance[:, :1]
        return np.asarray(np.where(tied, allowed[near], len(self.table)).min(axis=1))

    @cached_property
    def _weights(self) -> FloatArray:
        """(k, 1) how much a step along each option counts.

        Virtual stages count for less than a step of any other option, however many there are: a pipeline decides how
        many it may have, and without one there is a single choice, which hardly any genes would name otherwise.
        """
        most = [float(places.max()) if name == "vp" else 0.5 for name, places in self.axes.items()]
        return np.array([0.5 / value for value in most])[:, None]

    def _points(self, allowed: IntArray) -> tuple[IntArray, IntArray]:
        """Return (k, m) places of values, one for each order in which a plan lies alike, and (m,) the plan."""
        codes = self.codes(allowed)
        if "order" not in self.axes:
            return codes, allowed
        known = np.unique(self.table.order[self.fitting])
        place, some = np.nonzero(self.table.alike[known][:, allowed])
        points = codes[:, some]
        points[list(self.axes).index("order")] = place
        return points, allowed[some]


_TIED = 4


class CollectiveSection(Section):
    """One gene for each open choice: chunks, scheduler, the algorithm of each dimension."""

    segment: ClassVar = Segment.COLLECTIVES

    @staticmethod
    def of(rules: Rules) -> CollectiveSection | None:
        """Return the section of a problem; None where designs have no schedules."""
        return CollectiveSection(rules) if rules.time.schedules.scheduled else None

    def genes(self) -> Sequence[Gene]:
        names = self.rules.time.schedules.genes(len(self.rules.choices))
        return [Gene(name, 0.0, float(highest), ordered=name == "chunks") for name, highest in names]

    def decode(self, genes: FloatArray, draft: Draft) -> Draft:
        schedule = self.rules.time.schedules.schedule(genes.astype(np.int64), draft.networks.block)
        return draft.decided(schedule=schedule)

    def recognise(self, designs: Population, draft: Draft) -> Draft:
        return replace(draft, schedule=designs.schedule)

    def encode(self, draft: Draft) -> FloatArray | IntArray:
        return self.rules.time.schedules.genes_of(draft.schedule, draft.networks.block)

    def covers(self, genes: FloatArray | IntArray, designs: Population) -> BoolArray:
        return self.rules.time.schedules.covers(genes, designs.npus)
