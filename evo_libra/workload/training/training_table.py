"""All plans of a training step that a search may choose, as a table."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np

from evo_libra.arrays import BoolArray, FloatArray, IntArray
from evo_libra.workload.layers.iteration_time import Merging
from evo_libra.workload.layers.workload import IterationSize
from evo_libra.workload.plans.plan_rules import plan_mistakes, plan_text
from evo_libra.workload.plans.plan_table import PlanTable, order_text
from evo_libra.workload.plans.plans import (
    DEGREES,
    EVERY_LAYER,
    PLACEMENTS,
    SCHEDULES,
    Plans,
    context_inside,
    keeps_inside,
)
from evo_libra.workload.plans.recomputation import recompute_text
from evo_libra.workload.plans.step_class import StepClass, class_of_step
from evo_libra.workload.plans.tabulated import TabulatedTime, joined, tabulated_time
from evo_libra.workload.training.memory import memory_on_npu
from evo_libra.workload.training.step_time import step_time
from evo_libra.workload.training.training_setup import Setup
from evo_libra.workload.training.training_step import TrainingStep, training_step

OF_PLANS = ("tp", "cp", "pp", "vp", "ep", "micro_batch", "zero", "recompute", "sequence_parallel", "overlap_tp",
            "overlap_pp", "overlap_dp", "optimizer", "expansion", "offloaded",
            "reshard", "schedule", "overlap_ep", "replicate", "ulysses")  # fmt: skip
"""Options of a plan that may be open; precision and order besides them."""
_OF_KIND = OF_PLANS[OF_PLANS.index("zero") :]
"""Options besides degrees that decide which traffic a step has."""
_OVERLAPS = ("tp", "pp", "dp", "ep")


@dataclass(frozen=True, eq=False)
class TrainingTable(PlanTable):
    """Plans of a training step.

    Attributes
    ----------
    training_tokens : of the whole training.
    """

    setups: tuple[Setup, ...]
    training_tokens: float | None = None

    @cached_property
    def precisions(self) -> tuple[str, ...]:
        """The precisions of the setups."""
        return tuple(dict.fromkeys(setup.precision for setup in self.setups))

    @property
    def size(self) -> IterationSize:
        setup = self.setups[0]
        return IterationSize(
            setup.decoder.layers, setup.sequence, global_batch=setup.stated_batch or setup.global_batch
        )

    @property
    def tokens(self) -> FloatArray:
        setup = self.setups[0]
        return np.full(1, float(setup.stated_batch or setup.global_batch) * setup.sequence)

    @cached_property
    def share_of_batch(self) -> FloatArray:
        return np.array([setup.share_of_batch for setup in self.setups])[self.setup]

    @cached_property
    def batches(self) -> tuple[int, ...]:
        """The batches of the setups."""
        return tuple(dict.fromkeys(setup.global_batch for setup in self.setups))

    @cached_property
    def keeps_inside(self) -> BoolArray:
        anywhere = np.array([setup.tensor_anywhere for setup in self.setups])[self.setup]
        return keeps_inside(self.plans, anywhere)

    @cached_property
    def context_inside(self) -> BoolArray:
        return context_inside(self.plans)

    @cached_property
    def memory(self) -> FloatArray:
        return np.concatenate([
            np.zeros(len(part)) + sum(memory_on_npu(self.setups[index], self.plans.select(part)).values())
            for index, part in self.parts
        ])  # fmt: skip

    def time(self, merging: Merging) -> TabulatedTime:
        more, exposes = self._of_each_kind, any(setup.stack.exposes for setup in self.setups)
        steps = [
            step_time(self.setups[index], self.plans.select(np.concatenate([part, more])), exposes=exposes)
            for index, part in self.parts
        ]
        step = joined(steps, [len(part) for _, part in self.parts])
        return tabulated_time(step, self.degrees, merging, len(self)).times(self.share_of_batch)

    @property
    def _of_each_kind(self) -> IntArray:
        """Places of plans of each kind, where some setup has none of a kind; a step has the traffic of its plans."""
        plans = self.plans
        degrees = [getattr(plans, name) > 1 for name in DEGREES]
        kinds = np.array([*degrees, *(np.broadcast_to(getattr(plans, name), len(self)) for name in _OF_KIND)])
        _, first, kind = np.unique(kinds.astype(np.int64), axis=1, return_index=True, return_inverse=True)
        counts = {len(np.unique(kind.ravel()[part])) for _, part in self.parts}
        return np.array([], dtype=np.int64) if counts == {len(first)} else first

    @cached_property
    def options(self) -> dict[str, IntArray]:
        found = {name: np.asarray(getattr(self.plans, name), dtype=np.int64) for name in OF_PLANS}
        if not self._split_open:
            del found["sequence_parallel"]
        precision = np.array([self.precisions.index(setup.precision) for setup in self.setups])
        batch = np.array([setup.global_batch for setup in self.setups])
        found |= {"global_batch": batch[self.setup]} if len(self.batches) > 1 else {}
        return {**found, "order": self.order, "precision": precision[self.setup]}

    @cached_property
    def _split_open(self) -> bool:
        """Whether sequence parallelism is more than a consequence of tensor parallelism."""
        return bool((self.plans.sequence_parallel != (self.plans.tp > 1)).any()) and _differ(
            self.plans.sequence_parallel
        )

    @cached_property
    def _flags(self) -> list[str]:
        """Kinds of communication that plans may hide or not."""
        return [name for name in _OVERLAPS if _differ(getattr(self.plans, f"overlap_{name}"))]

    @cached_property
    def implied(self) -> frozenset[str]:
        """The batch, precision, order and hidden communication of all plans, where no other one is open."""
        orders, batches = [order_text(order) for order in self.orders], [f"batch{batch}" for batch in self.batches]
        found = {words[0] for words in (orders, batches, self.precisions) if len(words) == 1}
        hidden = (name for name in _OVERLAPS if getattr(self.plans, f"overlap_{name}").all())
        return frozenset(found | {f"overlap-{name}" for name in hidden})

    def text(self, n: int) -> str:
        place = int(self.plans.expansion[n])
        parts = [plan_text(self.plans.select(np.array([n])))]
        if self._split_open:
            parts.append("sp" if self.plans.sequence_parallel[n] else "nosp")
        parts += [f"overlap-{name}" for name in self._flags if getattr(self.plans, f"overlap_{name}")[n]]
        parts += [order_text(self.orders[self.order[n]])] if len(self.orders) > 1 else []
        parts += [self.setups[self.setup[n]].precision] if len(self.precisions) > 1 else []
        parts += [f"batch{self.setups[self.setup[n]].global_batch}"] if len(self.batches) > 1 else []
        parts += [text for one in self.setups[self.setup[n]].expansions[place : place + 1] if (text := one.text)]
        return " ".join(parts)

    def value_of(self, option: str, value: int) -> str:
        texts: dict[str, Callable[[int], str]] = {
            "recompute": recompute_text,
            "optimizer": lambda place: PLACEMENTS[place],
            "expansion": lambda place: self.setups[0].expansions[place].text or "none",
            "offloaded": lambda layers: "all" if layers >= EVERY_LAYER else str(layers),
            "schedule": lambda place: SCHEDULES[place],
            "order": lambda place: "-".join(self.orders[place]),
            "precision": lambda place: self.precisions[place],
        }
        if option in texts:
            return texts[option](value)
        return ("off", "on")[value] if option.startswith(("overlap", "sequence", "reshard", "ulysses")) else str(value)

    def memory_of(self, n: int) -> dict[str, float]:
        used = memory_on_npu(self.setups[self.setup[n]], self.plans.select(np.array([n])))
        return {kind: float(np.ravel(bytes_)[0]) for kind, bytes_ in used.items()}

    def mistakes_of(self, n: int, plan: Plans) -> Iterator[tuple[str, str]]:
        return plan_mistakes(self.setups[self.setup[n]], plan)

    def step_class(self, plan: int) -> StepClass:
        return class_of_step(self.setups[self.setup[plan]], self.plans, plan)

    def step(self, plan: int) -> TrainingStep:
        return _step(self, plan)


@lru_cache(maxsize=4096)
def _step(table: TrainingTable, plan: int) -> TrainingStep:
    one = table.plans.select(np.array([plan]))
    setup, order = table.setups[table.setup[plan]], table.orders[table.order[plan]]
    found = training_step(table.name, setup, one, order, training_tokens=table.training_tokens)
    return replace(found, plan=table.text(plan))


def _differ(values: np.ndarray) -> bool:
    return bool((values != values[:1]).any())
