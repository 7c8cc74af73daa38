"""All plans of a workload that a search may choose, as a table."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any, Protocol

import numpy as np

from evo_libra.arrays import BoolArray, FloatArray, IntArray
from evo_libra.collective import Collective, SizedByPlan
from evo_libra.network.catalog.accelerator import Accelerator
from evo_libra.workload.layers.iteration_time import Merging, Stream
from evo_libra.workload.layers.workload import IterationSize, WorkloadKind
from evo_libra.workload.models.decoder import Decoder
from evo_libra.workload.parallelism import ALL, BEYOND
from evo_libra.workload.plans.placement import ORDER
from evo_libra.workload.plans.plans import Plans
from evo_libra.workload.plans.tabulated import TabulatedTime
from evo_libra.workload.training.races import (
    CONTEXT,
    COPIES,
    DATA,
    DATA_BEYOND,
    EXPERT,
    EXPERT_DATA,
    EXPERT_DATA_BEYOND,
    PIPELINE,
    SHARDS,
    TENSOR,
)

_WRITTEN = ("tp", "cp", "ep", "pp")
"""Degrees that the notation leaves out where they are 1."""
_DEGREE = re.compile(rf"({'|'.join(_WRITTEN)})(\d{{1,9}})(?:x\d+)?").fullmatch


class PlannedSetup(Protocol):
    """Setup of plans: a model, an accelerator, and the use of the one by the other."""

    @property
    def decoder(self) -> Decoder:
        """The model."""

    @property
    def accelerator(self) -> Accelerator:
        """The accelerator."""


@dataclass(frozen=True, eq=False)
class PlanTable(WorkloadKind, ABC):
    """Plans that divide what they must; a plan is a column.

    Attributes
    ----------
    name : of the workload.
    setups : the model and how it is used, once for each accelerator and precision.
    plans : every array is (p,).
    setup, order : (p,) index into the setups, and into the orders of groups on the network.
    capacities : bytes that plans may use, of the accelerator of each setup.
    """

    name: str
    setups: tuple[PlannedSetup, ...]
    plans: Plans
    setup: IntArray
    order: IntArray
    orders: tuple[tuple[str, ...], ...]
    capacities: tuple[float, ...]
    layers = ()
    planned = None
    whole = True

    @property
    def table(self) -> PlanTable:
        """The table."""
        return self

    @property
    def every_plan(self) -> Plans:
        """All plans."""
        return self.plans

    def figures(self, degrees: Mapping[str, int]) -> dict[str, Any]:  # noqa: ARG002 - plans have many
        """Return how many plans there are and fit, and how much an iteration is."""
        fitting = int((self.memory <= self.capacity).sum())
        return {"parallelism": {}, "plans": len(self), "plans_that_fit": fitting, **self.size.figures}

    def all_gathers(self, streams: Iterable[Stream]) -> Iterator[tuple[str, float]]:
        """Give the group of each all-gather with the smallest shard, and its bytes."""
        for group, load in streams:
            if isinstance(load, SizedByPlan) and load.operation is Collective.ALL_GATHER:
                size = np.where(load.sent, load.size, np.inf)
                yield f"the group {group} under the plan {self.text(int(size.argmin()))}", float(size.min())

    def __len__(self) -> int:
        return len(self.setup)

    @property
    @abstractmethod
    def size(self) -> IterationSize:
        """The size of an iteration."""

    @property
    @abstractmethod
    def tokens(self) -> FloatArray:
        """(p,) or (1,) tokens of an iteration."""

    @property
    def share_of_batch(self) -> FloatArray:
        """(p,) or (1,) what the times of plans are multiplied by, as they are of the stated batch."""
        return np.ones(1)

    @property
    @abstractmethod
    def memory(self) -> FloatArray:
        """(p,) bytes of an accelerator."""

    @property
    @abstractmethod
    def options(self) -> dict[str, IntArray]:
        """(p,) value of each option of a plan, by its name."""

    @abstractmethod
    def time(self, merging: Merging) -> TabulatedTime:
        """Return the time of an iteration under each plan."""

    def time_parts(self, merging: Merging) -> tuple[TabulatedTime, TabulatedTime] | None:  # noqa: ARG002 - serving has some
        """Return the times to the first token and of each further one, where users see them."""
        return None

    @abstractmethod
    def value_of(self, option: str, value: int) -> str:
        """Return the value of an option as people read it."""

    @abstractmethod
    def text(self, n: int) -> str:
        """Return one plan in the notation; `texts` takes long where there are many."""

    @abstractmethod
    def memory_of(self, n: int) -> dict[str, float]:
        """Return the bytes of an accelerator under one plan, by class."""

    @abstractmethod
    def mistakes_of(self, n: int, plan: Plans) -> Iterator[tuple[str, str]]:
        """Yield what another plan with the setup of one of these does not divide: the option, and a sentence."""

    @abstractmethod
    def step(self, plan: int) -> Any:  # noqa: ANN401 - as the workload is
        """Return the workload under one plan."""

    @cached_property
    def capacity(self) -> FloatArray:
        """(p,) bytes that plans may use."""
        return np.array(self.capacities)[self.setup]

    @cached_property
    def npu(self) -> IntArray:
        """(p,) the accelerator of each plan, by its place among those of the setups."""
        return np.array([self.npus.index(setup.accelerator.name) for setup in self.setups])[self.setup]

    @cached_property
    def npus(self) -> tuple[str, ...]:
        """The accelerators of the setups."""
        return tuple(dict.fromkeys(setup.accelerator.name for setup in self.setups))

    @cached_property
    def compute(self) -> float:
        """Least seconds of an iteration on a network that costs no time, over all plans."""
        time = self.time(Merging.PATTERN)
        free = [np.zeros(len(self))] * len(time.streams)
        return float(time(free, np.arange(len(self))).min())

    @cached_property
    def degrees(self) -> dict[str, IntArray]:
        """(p,) NPUs of each process group."""
        plans = self.plans
        copies = plans.tp * plans.cp * plans.dp // plans.ep
        return {
            TENSOR: plans.tp, CONTEXT: plans.cp, PIPELINE: plans.pp, EXPERT: plans.ep, "dp": plans.dp,
            **dict.fromkeys((DATA, DATA_BEYOND), plans.cp * plans.dp),
            **dict.fromkeys((EXPERT_DATA, EXPERT_DATA_BEYOND), copies),
            **(self._replicated if "replicate" in self.placed_degrees else {}),
            ALL: plans.tp * plans.cp * plans.dp * plans.pp,
        }  # fmt: skip

    @property
    def _replicated(self) -> dict[str, IntArray]:
        """(p,) NPUs of the groups of shards and of their copies."""
        plans = self.plans
        shards, copies = plans.cp * plans.dp // plans.replicate, np.broadcast_to(plans.replicate, len(self))
        return {**dict.fromkeys((SHARDS, SHARDS + BEYOND), shards), **dict.fromkeys((COPIES, COPIES + BEYOND), copies)}

    @property
    def parts(self) -> list[tuple[int, IntArray]]:
        """The setups that have plans, each with the places of its plans."""
        places = [np.flatnonzero(self.setup == index) for index in range(len(self.setups))]
        return [(index, part) for index, part in enumerate(places) if len(part)]

    @cached_property
    def placements(self) -> tuple[dict[str, IntArray], IntArray, IntArray]:
        """Degrees (c,) and order (4, c) of the ways in which groups lie, and (p,) which way each plan has.

        Plans of two accelerators lie in two ways, as they are on other networks, and so do those with the optimizer in
        two places or with other expansion memory, as they need other hosts, servers and memory. If only some must
        keep the tensor parallel group inside a domain, others lie on more networks.
        """
        degrees = {name: np.broadcast_to(degree, len(self)) for name, degree in self.placed_degrees.items()}
        options = (self.plans.optimizer, self.plans.expansion, self.keeps_inside)
        elsewhere = [np.broadcast_to(each, len(self)) for each in options]
        keys = np.stack([*degrees.values(), self.order, self.npu, *elsewhere])
        rows, kind = np.unique(keys, axis=1, return_inverse=True)
        orders = np.array([[ORDER.index(group) for group in order] for order in self.orders]).T
        return dict(zip(degrees, rows, strict=False)), orders[:, rows[len(degrees)]], kind.ravel()

    @property
    def placed_degrees(self) -> dict[str, IntArray]:
        """(p,) NPUs of the groups that say where all others lie."""
        plans = self.plans
        found = dict(zip((*ORDER, EXPERT), (plans.tp, plans.cp, plans.dp, plans.pp, plans.ep), strict=True))
        return found | ({"replicate": plans.replicate} if (plans.replicate > 1).any() else {})

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """Each plan in the notation, with every option that differs among them."""
        return tuple(map(self.text, range(len(self))))

    def texts_of(self, plan: IntArray) -> list[str]:
        """Return (n,) plans in the notation, each of which is written once."""
        known = {place: self.text(place) for place in np.unique(plan).tolist()}
        return [known[place] for place in plan.tolist()]

    def _places(self, npu: int, parts: frozenset[str]) -> dict[frozenset[str], int]:
        """Return the places of the plans of an accelerator by their words, of those with the degrees of some words.

        A table may have hundreds of thousands of plans, and few have those degrees.
        """
        degrees = dict.fromkeys(_WRITTEN, 1) | {word[1]: int(word[2]) for part in parts if (word := _DEGREE(part))}
        key, known = (npu, *degrees.values()), self._known_places
        if key not in known:
            mine = self.npu == npu
            for name, degree in degrees.items():
                mine = mine & (getattr(self.plans, name) == degree)
            known[key] = {frozenset(self.text(place).split()): place for place in np.flatnonzero(mine).tolist()}
        return known[key]

    @cached_property
    def _known_places(self) -> dict[tuple[int, ...], dict[frozenset[str], int]]:
        return {}

    def find(self, text: str, npu: int = 0) -> int:
        """Return the place of a plan in the notation, whose parts may stand in any order; -1 where there is none.

        A plan whose groups lie in an order that the table leaves out is the one that lies alike. Words that are true
        of all plans may be written, too.
        """
        parts = frozenset(text.split()) - self.implied
        written = next((order for order, name in enumerate(self.orders) if order_text(name) in parts), None)
        if written is None:
            return self._places(npu, parts).get(parts, -1)
        rest = parts - {order_text(self.orders[written])}
        known = self._places(npu, rest)
        places = (known.get(rest | {order_text(order)}, -1) for order in self.orders)
        return next((n for n in places if n >= 0 and self.alike[written, n]), -1)

    @property
    def implied(self) -> frozenset[str]:
        """Words that are true of all plans, which plans do without."""
        return frozenset()

    @cached_property
    def alike(self) -> BoolArray:
        """(o, p) whether the groups of each plan would lie in each of the orders as they do in its own."""
        found = np.ones((len(self.orders), len(self)), dtype=np.bool_)
        for row, order in zip(found, self.orders, strict=True):
            for own, other in enumerate(self.orders):
                mine = np.flatnonzero(self.order == own)
                row[mine] = lie_alike(self.plans.select(mine), order, other)
        return found


def lie_alike(plans: Plans, one: Sequence[str], other: Sequence[str]) -> BoolArray:
    """Return (p,) whether the groups of more than one NPU lie in one order as they do in another."""
    found = np.ones(len(plans), dtype=np.bool_)
    for inner, outer in combinations(one, 2):
        if other.index(inner) > other.index(outer):
            found &= (getattr(plans, inner) == 1) | (getattr(plans, outer) == 1)
    return found


def order_text(order: Sequence[str]) -> str:
    """Return an order of groups in the notation."""
    return f"order-{'-'.join(order)}"
