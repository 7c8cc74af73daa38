"""What the plans of a training step may choose, and the table of all that divide."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from evo_libra.workload.plans.plan_space import PlanSpace, every_plan
from evo_libra.workload.plans.plan_table import lie_alike
from evo_libra.workload.plans.plans import Plans
from evo_libra.workload.training.training_setup import Setup
from evo_libra.workload.training.training_table import TrainingTable


@dataclass(frozen=True)
class OpenPlans:
    """What the plans of a workload may choose.

    Attributes
    ----------
    setups : the model and how it is trained, once for each accelerator and precision.
    space : values of the options that divide something; `counts` : NPUs of each setup, where they are not those of the
        space.
    flags : values of the fields of `Plans` that are on or off; None is for sequence parallelism where it applies.
    orders : how the groups lie on the network, the innermost first.
    """

    setups: tuple[Setup, ...]
    space: PlanSpace
    flags: Mapping[str, Sequence[bool | None]]
    orders: tuple[tuple[str, ...], ...]
    counts: tuple[int, ...] = ()

    def space_of(self, setup: int) -> PlanSpace:
        """Return the space of a setup, by its place."""
        return replace(self.space, npus=self.counts[setup]) if self.counts else self.space


def plan_table(
    name: str, open_plans: OpenPlans, *, training_tokens: float | None, capacities: tuple[float, ...]
) -> TrainingTable:
    """Return the table of all plans that divide what they must, whether they fit the memory or not.

    Of plans that differ in order alone, and whose groups of more than one NPU lie in the same order, it has the first.
    """
    names = list(open_plans.flags)
    bases = [every_plan(setup, open_plans.space_of(place)) for place, setup in enumerate(open_plans.setups)]
    parts = [
        (index, order, _with_flags(base, dict(zip(names, values, strict=True))))
        for index, base in enumerate(bases)
        for order in range(len(open_plans.orders))
        for values in product(*(open_plans.flags[flag] for flag in names))
    ]
    sequence = open_plans.setups[0].sequence
    parts = [
        (index, order, _new(_splitting(plans, sequence), open_plans.orders[: order + 1]))
        for index, order, plans in parts
    ]
    counts = [len(plans.tp) for *_, plans in parts]
    columns = {
        field: np.concatenate(
            [np.broadcast_to(getattr(plans, field), count) for (*_, plans), count in zip(parts, counts, strict=True)]
        )
        for field in vars(parts[0][2])
    }
    setup, order_ = (np.repeat([part[k] for part in parts], counts) for k in (0, 1))
    return TrainingTable(
        name=name, setups=open_plans.setups, plans=Plans(**columns), setup=setup, order=order_,
        orders=open_plans.orders, capacities=capacities, training_tokens=training_tokens,
    )  # fmt: skip


def _splitting(plans: Plans, sequence: int) -> Plans:
    """Return the plans whose sequence parallelism divides the sequence."""
    right = ~plans.sequence_parallel | (sequence % (plans.tp * plans.cp) == 0)
    return plans.take(np.flatnonzero(right))


def _new(plans: Plans, orders: Sequence[tuple[str, ...]]) -> Plans:
    """Return the plans whose groups lie in the last one of some orders as they do in none before it."""
    known = [lie_alike(plans, orders[-1], earlier) for earlier in orders[:-1]] if len(plans.tp) else []
    return plans.take(np.flatnonzero(~np.logical_or.reduce([np.zeros(len(plans.tp), dtype=np.bool_), *known])))


def _with_flags(plans: Plans, flags: Mapping[str, bool | None]) -> Plans:
    """Return plans with flags; sequence parallelism of None is on where there is a tensor parallel group."""
    count = len(plans.tp)
    columns: dict[str, Any] = {
        flag: plans.tp > 1 if on is None else np.full(count, on) for flag, on in flags.items()
    }  # fmt: skip
    return replace(plans, **columns)
