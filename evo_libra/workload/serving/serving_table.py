"""All plans of serving that a search may choose, as a table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np

from evo_libra.arrays import FloatArray, IntArray
from evo_libra.workload.layers.iteration_time import Merging
from evo_libra.workload.layers.workload import IterationSize
from evo_libra.workload.plans.plan_table import PlanTable, order_text
from evo_libra.workload.plans.plans import Plans
from evo_libra.workload.plans.step_class import StepClass, class_of_requests
from evo_libra.workload.plans.tabulated import TabulatedTime, joined, tabulated_times
from evo_libra.workload.serving.memory import memory_of_pools, on_npu
from evo_libra.workload.serving.serving_plans import DEGREES, ServingPlans, joined_plans
from evo_libra.workload.serving.serving_rules import ServingSpace, every_serving_plan, serving_text
from evo_libra.workload.serving.serving_setup import ServingSetup
from evo_libra.workload.serving.serving_step import ServingStep, served_times, serving_step, times_in_order
from evo_libra.workload.training.expansion import Expansion


@dataclass(frozen=True)
class TabulatedServing:
    """Times of serving under each plan, of the same streams; see `ServedTimes`."""

    request: TabulatedTime
    first: TabulatedTime
    token: TabulatedTime
    alone: TabulatedTime


@dataclass(frozen=True, eq=False)
class ServingTable(PlanTable):
    """Plans of serving.

    Attributes
    ----------
    prefill : (p,) replicas that only process prompts; `ahead` : their plans, None where they are those of the others.
    """

    setups: tuple[ServingSetup, ...]
    prefill: IntArray
    ahead: Plans | None = None

    @property
    def size(self) -> IterationSize:
        return IterationSize(self.setups[0].decoder.layers)

    @cached_property
    def tokens(self) -> FloatArray:
        return self.serving_plans.users * self.setups[0].answer

    @property
    def answer_tokens(self) -> float:
        return float(self.setups[0].answer)

    @property
    def groups_that_answer(self) -> IntArray:
        return self.serving_plans.groups_that_answer

    @property
    def serving_plans(self) -> ServingPlans:
        """All plans."""
        return ServingPlans(self.plans, self.prefill, self.ahead)

    @cached_property
    def degrees(self) -> dict[str, IntArray]:
        return {**super().degrees, **self.serving_plans.prefill_degrees}

    @property
    def placed_degrees(self) -> dict[str, IntArray]:
        return {**super().placed_degrees, **self.serving_plans.prefill_degrees}

    @property
    def pools(self) -> bool:
        """Whether some plan has replicas for prefill alone."""
        return bool(self.prefill.any())

    def _used(self, index: int, part: IntArray) -> dict[str, FloatArray]:
        return memory_of_pools(self.setups[index], self.serving_plans.select(part))

    @cached_property
    def memory(self) -> FloatArray:
        return np.concatenate([
            np.zeros(len(part)) + sum(on_npu(self.setups[index], self._used(index, part)).values())
            for index, part in self.parts
        ])  # fmt: skip

    @cached_property
    def _served(self) -> dict[Merging, TabulatedServing]:
        return {}

    def served(self, merging: Merging) -> TabulatedServing:
        """Return what users see under each plan; always the same streams, by which networks know traffic."""
        if merging not in self._served:
            counts = [len(part) for _, part in self.parts]
            each = [
                times_in_order(served_times(self.setups[index], self.serving_plans.select(part), pools=self.pools))
                for index, part in self.parts
            ]
            steps = [joined(steps, counts) for steps in zip(*each, strict=True)]
            self._served[merging] = TabulatedServing(*tabulated_times(steps, self.degrees, merging, len(self)))
        return self._served[merging]

    def time(self, merging: Merging) -> TabulatedTime:
        return self.served(merging).request

    def time_parts(self, merging: Merging) -> tuple[TabulatedTime, TabulatedTime] | None:
        return self.served(merging).first, self.served(merging).token

    @cached_property
    def weights(self) -> tuple[str, ...]:
        """The precisions of weights."""
        return tuple(dict.fromkeys(setup.weights for setup in self.setups))

    @cached_property
    def caches(self) -> tuple[str, ...]:
        """The precisions of the cache."""
        return tuple(dict.fromkeys(setup.cache for setup in self.setups))

    @cached_property
    def expansions(self) -> tuple[Expansion, ...]:
        """The choices of expansion memory."""
        return tuple(dict.fromkeys(setup.expansion for setup in self.setups))

    @cached_property
    def options(self) -> dict[str, IntArray]:
        weights = np.array([self.weights.index(setup.weights) for setup in self.setups])
        caches = np.array([self.caches.index(setup.cache) for setup in self.setups])
        found = {name: np.broadcast_to(getattr(self.plans, name), len(self)) for name in ("tp", "cp", "pp", "ep")}
        ahead = {} if self.ahead is None else {
            f"prefill_{name}": np.where(getattr(self.ahead, name) == found[name], _ALIKE, getattr(self.ahead, name))
            for name in DEGREES
        }  # fmt: skip
        return {
            **found, "concurrency": self.plans.micro_batch, "prefill": self.prefill, **ahead, "order": self.order,
            "weights": weights[self.setup], "kv_cache": caches[self.setup], "expansion": self.plans.expansion,
        }  # fmt: skip

    def value_of(self, option: str, value: int) -> str:
        named = {"weights": self.weights, "kv_cache": self.caches}
        if option in named:
            return named[option][value]
        if option == "expansion":
            return self.expansions[value].text or "none"
        if option.startswith("prefill_") and value == _ALIKE:
            return "as the others"
        return order_text(self.orders[value]) if option == "order" else str(value)

    def text(self, n: int) -> str:
        setup, parts = self.setups[self.setup[n]], [serving_text(self.serving_plans, n)]
        parts += [order_text(self.orders[self.order[n]])] if len(self.orders) > 1 else []
        parts += [setup.weights] if len(self.weights) > 1 else []
        parts += [f"kv-{setup.cache}"] if len(self.caches) > 1 else []
        parts += [setup.expansion.text] if len(self.expansions) > 1 and setup.expansion.text else []
        return " ".join(parts)

    def memory_of(self, n: int) -> dict[str, float]:
        used = on_npu(self.setups[self.setup[n]], self._used(int(self.setup[n]), np.array([n])))
        return {kind: float(np.ravel(bytes_)[0]) for kind, bytes_ in used.items()}

    def mistakes_of(self, n: int, plan: Plans) -> Iterator[tuple[str, str]]:  # noqa: ARG002 - others need them
        return iter(())

    def step_class(self, plan: int) -> StepClass:
        return class_of_requests(self.setups[self.setup[plan]])

    def step(self, plan: int) -> ServingStep:
        return _step(self, plan)


_ALIKE = 0
"""The value of a degree of replicas that only process prompts where it is that of the others."""


@lru_cache(maxsize=4096)
def _step(table: ServingTable, plan: int) -> ServingStep:
    one = table.serving_plans.select(np.array([plan]))
    one = replace(one, ahead=None) if one.alike else one
    setup, order = table.setups[table.setup[plan]], table.orders[table.order[plan]]
    return serving_step(table.name, setup, one, order, table.text(plan), pools=bool(one.prefill.any()))


def serving_table(
    name: str,
    setups: tuple[ServingSetup, ...],
    space: ServingSpace,
    orders: tuple[tuple[str, ...], ...],
    capacities: tuple[float, ...],
    counts: tuple[int, ...] = (),
) -> ServingTable:
    """Return the table of all plans that divide what they must, whether they fit the memory or not.

    The NPUs are those of each setup by `counts`, where these are not those of the space.
    """
    sizes = counts or (space.npus,) * len(setups)
    known = {npus: every_serving_plan(setups[0].decoder, replace(space, npus=npus)) for npus in dict.fromkeys(sizes)}
    every = joined_plans([known[npus] for npus in sizes])
    setup = np.repeat(np.arange(len(setups)), [len(known[npus].prefill) for npus in sizes])
    order = np.zeros(len(setup), dtype=np.int64)
    choices = tuple(dict.fromkeys(one.expansion for one in setups))
    plans = replace(every.plans, expansion=np.array([choices.index(one.expansion) for one in setups])[setup])
    table = ServingTable(
        name=name, setups=setups, plans=plans, setup=setup, order=order, orders=orders, capacities=capacities,
        prefill=every.prefill, ahead=every.ahead,
    )  # fmt: skip
    return table if len(table.expansions) == 1 else _where_used(table)


def _where_used(table: ServingTable) -> ServingTable:
    """Return the plans with each expansion memory that they use; all have the first one, which is the least."""
    needed = np.zeros(len(table), dtype=np.bool_)
    for index, part in table.parts:
        needed[part] = sum(table._used(index, part).values(), np.zeros(1)) > table.setups[index].usable  # noqa: SLF001 - its own module
    some = np.flatnonzero((table.plans.expansion == 0) | needed)
    plans = table.serving_plans.take(some)
    return replace(
        table, plans=plans.plans, setup=table.setup[some], order=table.order[some], prefill=plans.prefill,
        ahead=plans.ahead,
    )  # fmt: skip
