"""The problem of a fabric of switches: time and cost of graphs of layers, as genes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from evo_libra.arrays import BoolArray, FloatArray, IntArray
from evo_libra.errors import InputError, unknown
from evo_libra.network.fabrics.evaluation import REGULAR
from evo_libra.network.fabrics.parts import Limits
from evo_libra.network.fabrics.population import Fabrics, Figures, evaluate, fabrics_of
from evo_libra.network.fabrics.traffic import Policy, Traffic
from evo_libra.problem.objectives import Objective
from evo_libra.problem.protocol import Evaluation, Genome, Reference, SearchSettings
from evo_libra.problem.question import FABRIC
from evo_libra.problem.switch_fabrics.bill import FabricPrices, cost_of, excess, fabric_parts
from evo_libra.problem.switch_fabrics.genes import GENES, Fields, decoded, encoded, genome, repaired
from evo_libra.problem.switch_fabrics.identity import identity_rows
from evo_libra.problem.switch_fabrics.notation import fabric_text, parse_fabric
from evo_libra.problem.switch_fabrics.objectives import COST, HOPS, SWITCHES, TIME
from evo_libra.problem.switch_fabrics.sampling import SeededGenome, stepped
from evo_libra.problem.switch_fabrics.seeds import named_fabrics
from evo_libra.problem.switch_fabrics.time import FabricTime

_SOURCE, _YEAR = "named fabric; ATOP (Yan et al., SIGCOMM 2025)", 2025
PLAN = "; "
"""Text between a fabric and its plan."""

_UNUSABLE = 1.0
"""Violation of fabrics that leave NPUs without a path, and of those that have no figures."""


@dataclass(frozen=True)
class FabricSpace:
    """Fabrics that a problem allows, and what they cost.

    Attributes
    ----------
    npus, server : powers of two.
    server_rate : B/s inside a server.
    limits, prices : of parts.
    """

    npus: int
    server: int
    server_rate: float
    limits: Limits
    prices: FabricPrices


@dataclass
class _Counter:
    """Designs that were evaluated so far: a long search compiles, and a short one does not."""

    designs: int = 0


_COMPILES_FROM = 5_000
"""Designs after which a search compiles its loop: from then on it takes longer without."""


@dataclass(frozen=True)
class FabricProblem:
    """A fabric of switches for some workloads.

    Attributes
    ----------
    name : of the problem.
    space : the fabrics.
    times : of the workloads, under each plan.
    policy : ways of messages.
    objectives : in the order of the rows of an evaluation.
    settings : of a search.
    spec : what the file says, and what its workloads are.
    """

    name: str
    space: FabricSpace
    times: tuple[FabricTime, ...]
    policy: Policy
    objectives: tuple[Objective, ...]
    settings: SearchSettings
    spec: Mapping[str, Any] = field(repr=False)
    _counter: _Counter = field(default_factory=_Counter, compare=False, repr=False)

    @property
    def npus(self) -> int:
        """NPUs of every design."""
        return 1 << self.space.npus

    @cached_property
    def named(self) -> Mapping[str, Fabrics]:
        """Named fabrics of the same NPUs that keep the limits."""
        space, found = self.space, {}
        for name, fabric in named_fabrics(1 << space.npus, 1 << space.server).items():
            try:
                arrays = decoded(encoded(fabrics_of([fabric])), space.npus, space.server)
            except InputError:
                continue  # its links have no genes
            if excess(fabric_parts(arrays), space.limits)[0] <= 0.0:
                found[name] = arrays
        return found

    @cached_property
    def genome(self) -> Genome:
        """The genes; a first population has the named fabrics, and others that are some steps from them."""
        plain = genome(self.space.npus, len(self.times))
        seeds = [encoded(fabrics) for fabrics in self.named.values()]
        known = np.concatenate(seeds, axis=1) if seeds else np.empty((GENES, 0))
        return SeededGenome(**vars(plain), seeds=known, npus=self.space.npus)

    def fabrics(self, genes: FloatArray) -> Fabrics:
        """Return the fabrics of genes."""
        return decoded(genes, self.space.npus, self.space.server)

    def evaluate_genes(self, genes: FloatArray) -> Evaluation:
        """Return the objectives of genes, and by how much they break limits."""
        return self._evaluated(genes)[0]

    def _evaluated(self, genes: FloatArray) -> tuple[Evaluation, Figures]:
        """Return the evaluation of designs, and figures of their fabrics, whose traffic is that of their plans."""
        fabrics, plan = self.fabrics(genes), genes[GENES].astype(np.int64)
        parts = fabric_parts(fabrics)
        cost, violation = cost_of(parts, fabrics, self.space.prices), excess(parts, self.space.limits)
        time, figures = self._timed(fabrics, plan, violation <= 0.0)
        usable = (figures.outcome == REGULAR) & np.isfinite(figures.seconds).all(axis=0) & np.isfinite(figures.mean)
        violation = np.where(usable | (violation > 0.0), violation, _UNUSABLE)
        values = {
            TIME: time, COST: np.maximum(cost, 1.0), SWITCHES: np.maximum(parts.switches.sum(axis=0), 1.0),
            HOPS: np.where(np.isfinite(figures.mean), figures.mean, float(1 << self.space.npus)),
        }  # fmt: skip
        objectives = np.array([values[objective] for objective in self.objectives], dtype=np.float64)
        return Evaluation(objectives, violation), figures

    def _timed(self, fabrics: Fabrics, plan: IntArray, which: BoolArray) -> tuple[FloatArray, Figures]:
        """Return times and figures of designs; of those that are not evaluated, times without any network between."""
        count, kinds = len(fabrics), max(len(one.traffic) for one in self.times)
        time, seconds = np.empty(count), np.zeros((kinds, count))
        lengths, outcome = np.full((2, count), np.inf), np.full(count, REGULAR)
        self._counter.designs += int(which.sum())
        compiles = self._counter.designs > _COMPILES_FROM
        for place in np.unique(plan).tolist():
            of = self.times[place]
            mine = np.flatnonzero((plan == place) & which)
            found = evaluate(fabrics.select(mine), of.traffic, self.policy, compiles=compiles)
            rows = np.arange(len(of.traffic))[:, None]
            seconds[rows, mine], outcome[mine] = found.seconds, found.outcome
            lengths[:, mine] = found.mean, found.diameter
            others = np.flatnonzero((plan == place) & ~which)
            seconds[rows, others] = np.inf
            every = np.flatnonzero(plan == place)
            time[every] = of(seconds[: len(rows), every])
        return time, Figures(seconds, lengths[0], lengths[1], outcome)

    def describe(self, genes: FloatArray) -> Mapping[str, list[Any]]:
        """Return name or notation of designs with their plans, and their figures."""
        fabrics, (_, figures) = self.fabrics(genes), self._evaluated(genes)
        parts = fabric_parts(fabrics)
        rates = {
            f"{one.kind}_{one.place}_{one.members}_GBps": (1e-9 / seconds).tolist()
            for one, seconds in zip(self.times[0].traffic, figures.seconds, strict=True)
        } if len(self.times) == 1 else {}  # fmt: skip
        return {
            FABRIC: self._texts(genes, fabrics),
            "switch_count": parts.switches.sum(axis=0).tolist(),
            "nic_ports": parts.ports[0].tolist(),
            "copper_cables": parts.copper_cables.tolist(),
            "fibre_cables": parts.fibre_cables.tolist(),
            "diameter": figures.diameter.tolist(),
            "mean_path": figures.mean.tolist(),
            **rates,
        }

    def evaluate(self, designs: Sequence[str]) -> Evaluation:
        """Return the objectives of fabrics in the notation, or by their names; an `InputError` says what is wrong."""
        return self.evaluate_genes(self.genes_of(designs))

    def genes_of(self, designs: Sequence[str]) -> FloatArray:
        """Return the genes of fabrics in the notation, or by their names; an `InputError` says what is wrong.

        If plans are open, a design ends with ``; `` and its plan.
        """
        split = [text.partition(PLAN)[::2] for text in designs]
        fabrics = [parse_fabric(text, 1 << self.space.server) for text, _ in split]
        for (text, _), fabric in zip(split, fabrics, strict=True):
            if fabric.npus != 1 << self.space.npus or fabric.server != 1 << self.space.server:
                found = f"'{text}' has {fabric.npus:,} NPUs in servers of {fabric.server}"
                raise InputError(f"{found}; '{self.name}' has {1 << self.space.npus:,}, in {1 << self.space.server}")
        plans = [self._place_of(plan) for _, plan in split]
        return np.concatenate([encoded(fabrics_of(fabrics)), np.array([plans], dtype=np.float64)])

    def traffic_of(self, plan: str) -> tuple[Traffic, ...]:
        """Return the traffic under a plan, an empty one where the file states it."""
        return self.times[self._place_of(plan)].traffic

    def _place_of(self, plan: str) -> int:
        known = [one.plan for one in self.times]
        if plan not in known:
            raise InputError(unknown("plan", plan, known))
        return known.index(plan)

    def _texts(self, genes: FloatArray, fabrics: Fabrics) -> list[str]:
        """Return the name of each fabric that has one, and the notation of others, with plans that are open."""
        rows = self._identities(genes)
        known = {self._identities(encoded(named))[:, 0].tobytes(): name for name, named in self.named.items()}
        found = [known.get(row.tobytes()) or fabric_text(fabrics.fabric(design)) for design, row in enumerate(rows.T)]
        plans = [self.times[place].plan for place in genes[GENES].astype(np.int64).tolist()]
        return [f"{text}{PLAN}{plan}" if plan else text for text, plan in zip(found, plans, strict=True)]

    def design_rows(self, genes: FloatArray) -> FloatArray:
        """Return numbers that are equal for equal designs: settings that are one graph under one plan."""
        return np.concatenate([self._identities(genes), genes[GENES:]])

    def _identities(self, genes: FloatArray) -> FloatArray:
        """Return numbers that are equal for settings that are one graph."""
        return identity_rows(self.fabrics(genes), repaired(Fields.of(genes), self.space.npus).genes())

    def step_topologies(self, genes: FloatArray, random: np.random.Generator) -> FloatArray:
        """Return fabrics a step from others: a layer more or fewer, a pair joined, a block halved, a digit moved."""
        return stepped(genes, self.space.npus, random)

    def references(self) -> Sequence[Reference]:
        """Return the named fabrics of the same NPUs, under the fastest plan of each."""
        found = []
        for name, fabrics in self.named.items():
            plans = np.arange(len(self.times), dtype=np.float64)[None]
            genes = np.concatenate([np.repeat(encoded(fabrics), plans.shape[1], axis=1), plans])
            evaluated = self.evaluate_genes(genes)
            first = np.where(evaluated.violation <= 0.0, evaluated.objectives[0], np.inf)
            best = int(first.argmin())
            if np.isfinite(first[best]):
                text = fabric_text(fabrics.fabric(0)) + (PLAN + self.times[best].plan if len(self.times) > 1 else "")
                found.append(Reference(name, text, evaluated.objectives[:, best].tolist(), _SOURCE, _YEAR))
        return found

    def identity(self) -> Mapping[str, Any]:
        """Return all that results depend on."""
        return {"problem": "fabric", "version": 1, "name": self.name, **self.spec}
