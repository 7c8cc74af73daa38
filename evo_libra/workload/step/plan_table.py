"""All plans of a training step that a search may choose, as a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import combinations

import numpy as np

from evo_libra.arrays import BoolArray, FloatArray, IntArray
from evo_libra.workload.step.memory import memory
from evo_libra.workload.step.placement import ORDER
from evo_libra.workload.step.plan_rules import plan_text
from evo_libra.workload.step.plans import Plans
from evo_libra.workload.step.races import CONTEXT, DATA, EXPERT, EXPERT_DATA, PIPELINE, TENSOR
from evo_libra.workload.step.step_time import step_time
from evo_libra.workload.step.tabulated import TabulatedTime, joined, tabulated_time
from evo_libra.workload.step.training_setup import Setup
from evo_libra.workload.step.training_step import TrainingStep, training_step
from evo_libra.workload.training import Merging
from evo_libra.workload.workload import IterationSize

OF_PLANS = ("tp", "cp", "pp", "vp", "ep", "micro_batch", "zero", "recompute", "sequence_parallel", "overlap_tp",
            "overlap_pp", "overlap_dp")  # fmt: skip
"""Options of a plan that may be open; precision and order beside them."""


@dataclass(frozen=True)
class PlanTable:
    """Plans that divide what they must; a plan is a column.

    Attributes
    ----------
    name : of the workload.
    setups : the model and how it is trained, once for each accelerator and precision.
    plans : every array is (p,).
    setup, order : (p,) index into the setups, and into the orders of groups on the network.
    training_tokens : of the whole training.
    capacities : bytes that plans may use, of the accelerator of each setup.
    """

    name: str
    setups: tuple[Setup, ...]
    plans: Plans
    setup: IntArray
    order: IntArray
    orders: tuple[tuple[str, ...], ...]
    training_tokens: float | None
    capacities: tuple[float, ...]

    def __len__(self) -> int:
        return len(self.setup)

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
    def precisions(self) -> tuple[str, ...]:
        """The precisions of the setups."""
        return tuple(dict.fromkeys(setup.precision for setup in self.setups))

    @property
    def size(self) -> IterationSize:
        """How much a step is."""
        setup = self.setups[0]
        return IterationSize(setup.decoder.layers, setup.sequence, global_batch=setup.global_batch)

    @property
    def tokens(self) -> float:
        """Tokens of a step."""
        return float(self.setups[0].global_batch) * self.setups[0].sequence

    @cached_property
    def compute(self) -> float:
        """Least seconds of a step on a network that costs no time, over all plans."""
        time = self.time(Merging.PATTERN)
        free = [np.zeros(len(self))] * len(time.streams)
        return float(time(free, np.arange(len(self))).min())

    @cached_property
    def memory(self) -> FloatArray:
        """(p,) bytes of an accelerator."""
        return np.concatenate([
            np.zeros(len(part)) + sum(memory(setup, plans).values()) for setup, plans, part in self._by_setup()
        ])  # fmt: skip

    @cached_property
    def degrees(self) -> dict[str, IntArray]:
        """(p,) NPUs of each process group."""
        plans = self.plans
        copies = plans.tp * plans.cp * plans.dp // plans.ep
        return {
            TENSOR: plans.tp, CONTEXT: plans.cp, PIPELINE: plans.pp, EXPERT: plans.ep, "dp": plans.dp,
            DATA: plans.cp * plans.dp, EXPERT_DATA: copies,
        }  # fmt: skip

    def time(self, merging: Merging) -> TabulatedTime:
        """Return the time of a step under each plan."""
        parts = self._by_setup()
        step = joined([step_time(setup, plans) for setup, plans, _ in parts], [len(part) for *_, part in parts])
        return tabulated_time(step, self.degrees, merging, len(self))

    def _by_setup(self) -> list[tuple[Setup, Plans, IntArray]]:
        parts = [np.flatnonzero(self.setup == index) for index in range(len(self.setups))]
        return [
            (setup, self.plans.select(part), part) for setup, part in zip(self.setups, parts, strict=True) if len(part)
        ]

    @cached_property
    def placements(self) -> tuple[dict[str, IntArray], IntArray, IntArray]:
        """Degrees (c,) and order (4, c) of the ways in which groups lie, and (p,) which way each plan has.

        Plans of two accelerators lie in two ways, as they are on other networks.
        """
        names = (*ORDER, EXPERT)
        plans = self.plans
        degrees = np.stack([plans.tp, plans.cp, plans.dp, plans.pp, plans.ep])
        rows, kind = np.unique(np.concatenate([degrees, self.order[None], self.npu[None]]), axis=1, return_inverse=True)
        orders = np.array([[ORDER.index(group) for group in order] for order in self.orders]).T
        return dict(zip(names, rows[:5], strict=True)), orders[:, rows[5]], kind.ravel()

    @cached_property
    def options(self) -> dict[str, IntArray]:
        """(p,) value of each option of a plan, by its name."""
        found = {name: np.asarray(getattr(self.plans, name), dtype=np.int64) for name in OF_PLANS}
        if not self._split_open:
            del found["sequence_parallel"]
        precision = np.array([self.precisions.index(setup.precision) for setup in self.setups])
        return {**found, "order": self.order, "precision": precision[self.setup]}

    @cached_property
    def _split_open(self) -> bool:
        """Whether sequence parallelism is more than a consequence of tensor parallelism."""
        return bool((self.plans.sequence_parallel != (self.plans.tp > 1)).any()) and _differ(
            self.plans.sequence_parallel
        )

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """Each plan in the notation, with every option that differs among them."""
        return tuple(map(self.text, range(len(self))))

    def text(self, n: int) -> str:
        """Return one plan in the notation; `texts` takes long where there are many."""
        parts = [plan_text(self.plans.select(np.array([n])))]
        if self._split_open:
            parts.append("sp" if self.plans.sequence_parallel[n] else "nosp")
        flags = [name for name in ("tp", "pp", "dp") if _differ(getattr(self.plans, f"overlap_{name}"))]
        parts += [f"overlap-{name}" for name in flags if getattr(self.plans, f"overlap_{name}")[n]]
        parts += [_order_text(self.orders[self.order[n]])] if len(self.orders) > 1 else []
        parts += [self.setups[self.setup[n]].precision] if len(self.precisions) > 1 else []
        return " ".join(parts)

    @cached_property
    def _places(self) -> dict[tuple[int, frozenset[str]], int]:
        return {
            (npu, frozenset(text.split())): n
            for n, (npu, text) in enumerate(zip(self.npu.tolist(), self.texts, strict=True))
        }

    def find(self, text: str, npu: int = 0) -> int:
        """Return the place of a plan in the notation, whose parts may stand in any order; -1 where there is none.

        A plan whose groups lie in an order that the table leaves out is the one that lies alike.
        """
        parts = frozenset(text.split())
        written = next((order for order, name in enumerate(self.orders) if _order_text(name) in parts), None)
        if written is None:
            return self._places.get((npu, parts), -1)
        rest = parts - {_order_text(self.orders[written])}
        places = (self._places.get((npu, rest | {_order_text(order)}), -1) for order in self.orders)
        return next((n for n in places if n >= 0 and self.alike[written, n]), -1)

    @cached_property
    def alike(self) -> BoolArray:
        """(o, p) whether the groups of each plan would lie in each of the orders as they do in its own."""
        found = np.ones((len(self.orders), len(self)), dtype=np.bool_)
        for row, order in zip(found, self.orders, strict=True):
            for own, other in enumerate(self.orders):
                mine = np.flatnonzero(self.order == own)
                row[mine] = lie_alike(self.plans.select(mine), order, other)
        return found

    def step(self, plan: int) -> TrainingStep:
        """Return the training step under one plan."""
        return _step(self, plan)

    def __hash__(self) -> int:
        return id(self)


@lru_cache(maxsize=4096)
def _step(table: PlanTable, plan: int) -> TrainingStep:
    one = table.plans.select(np.array([plan]))
    setup, order = table.setups[table.setup[plan]], table.orders[table.order[plan]]
    found = training_step(table.name, setup, one, order, training_tokens=table.training_tokens)
    return replace(found, plan=table.text(plan))


def lie_alike(plans: Plans, one: Sequence[str], other: Sequence[str]) -> BoolArray:
    """Return (p,) whether the groups of more than one NPU lie in one order as they do in another."""
    found = np.ones(len(plans), dtype=np.bool_)
    for inner, outer in combinations(one, 2):
        if other.index(inner) > other.index(outer):
            found &= (getattr(plans, inner) == 1) | (getattr(plans, outer) == 1)
    return found


def _order_text(order: Sequence[str]) -> str:
    return f"order-{'-'.join(order)}"


def _differ(values: np.ndarray) -> bool:
    return bool((values != values[:1]).any())
