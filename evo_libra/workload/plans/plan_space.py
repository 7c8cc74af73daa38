"""Choices of the plans of a training step, all plans that keep the rules of division, and their table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice, product
from typing import Any

import numpy as np

from evo_libra.errors import InputError
from evo_libra.workload.parallelism import divisors
from evo_libra.workload.plans.head_exchange import beyond_domain, exchange_allowed
from evo_libra.workload.plans.plan_rules import placement_allowed, replicate_allowed, virtual_stages
from evo_libra.workload.plans.plan_table import lie_alike
from evo_libra.workload.plans.plans import SHARDED_WEIGHTS, Plans, one_plan
from evo_libra.workload.plans.schedules import overlaps_experts, schedule_allowed
from evo_libra.workload.training.memory import memory
from evo_libra.workload.training.training_setup import Setup
from evo_libra.workload.training.training_table import TrainingTable

Degrees = Sequence[int] | None


@dataclass(frozen=True)
class PlanSpace:
    """Choices of plans.

    Attributes
    ----------
    npus : of the cluster.
    tp, cp, pp, vp, ep, micro_batch : allowed values; None for all that divide.
    dp : allowed replicas; None for the NPUs that are left.
    zero, recompute, optimizer, offloaded, schedule, replicate : allowed values of `Plans`; those of `expansion` are all
        that a setup has.
    options : values of the other fields of `Plans`, the same in all plans.
    """

    npus: int
    tp: Degrees = None
    cp: Degrees = (1,)
    pp: Degrees = None
    vp: Degrees = None
    ep: Degrees = (1,)
    micro_batch: Degrees = None
    dp: Degrees = None
    zero: Sequence[int] = (0,)
    recompute: Sequence[int] = (0,)
    optimizer: Sequence[int] = (0,)
    offloaded: Sequence[int] = (0,)
    schedule: Sequence[int] = (0,)
    replicate: Sequence[int] = (1,)
    options: Plans = field(default_factory=one_plan)


_MOST = 1_500_000
"""The most plans of a table, whose times take about 6 GB of memory."""


def _too_many() -> InputError:
    """Return what to do about a table that would not fit the memory of a workstation."""
    return InputError(
        f"more than {_MOST:,} plans are possible; list fewer options of parallelism or training, NPUs or batches"
    )


_COLUMNS = ("tp", "cp", "pp", "vp", "ep", "dp", "micro_batch", "zero", "recompute", "optimizer", "offloaded",
            "schedule", "replicate")  # fmt: skip


def every_plan(setup: Setup, space: PlanSpace) -> Plans:
    """Return all plans of a space that divide: heads by ``tp``, layers by ``pp * vp``, the batch by what is left.

    An interleaved pipeline has a multiple of its stages as microbatches. Experts divide by ``ep``, and so do the NPUs
    of a stage. Layers that the stages do not divide are a plan where the setup says that stages may be uneven. Hosts
    and servers hold what the optimizer moves to them.
    """
    every = (row for degrees in _degrees(setup, space) for row in _options(setup, space, degrees))
    rows = list(islice(every, _MOST + 1))
    if len(rows) > _MOST:
        raise _too_many()
    columns = np.array(rows, dtype=np.int64).reshape(len(rows), len(_COLUMNS)).T
    chosen: dict[str, Any] = dict(zip(_COLUMNS, columns, strict=True))
    found = replace(space.options, **chosen)
    if found.schedule.any():
        found = found.take(np.flatnonzero(schedule_allowed(found, found.microbatches(setup.global_batch))))
    if (found.replicate > 1).any():
        found = found.take(np.flatnonzero(replicate_allowed(found, setup.decoder)))
    if setup.offload is not None:
        found = found.take(np.flatnonzero(placement_allowed(setup, found)))
    return _expanded(setup, found)


def _expanded(setup: Setup, plans: Plans) -> Plans:
    """Return the plans with every choice of expansion memory that they use; all have the least choice."""
    count = len(plans.tp)
    if len(setup.expansions) < 2 or not count:  # noqa: PLR2004 - a choice
        return plans
    each = np.repeat(np.arange(len(setup.expansions)), count)
    found = replace(plans.take(np.tile(np.arange(count), len(setup.expansions))), expansion=each)
    needed = sum(memory(setup, found).values(), np.zeros(1)) > setup.usable
    return found.take(np.flatnonzero((each == 0) | needed))


def _degrees(setup: Setup, space: PlanSpace) -> list[tuple[int, int, int, int]]:
    """Return the degrees of tensor, context, pipeline and data parallelism."""
    found = []
    layers = setup.decoder.layers + sum(setup.ends)
    stages = range(1, layers + 1) if setup.uneven else divisors(layers)
    for tp, cp, pp in product(
        _chosen_groups(setup, space.tp), _chosen(space.cp, setup.sequence),
        [d for d in (stages if space.pp is None else space.pp) if d in stages],
    ):  # fmt: skip
        rest, left = divmod(space.npus, tp * cp * pp)
        allowed = space.dp is None or rest in space.dp
        if not left and rest and allowed and setup.global_batch % rest == 0:
            found.append((tp, cp, pp, rest))
    return found


def _options(setup: Setup, space: PlanSpace, degrees: tuple[int, int, int, int]) -> list[tuple[int, ...]]:
    tp, cp, pp, dp = degrees
    each = setup.global_batch // dp
    allowed = virtual_stages(setup, pp)
    chunks = [d for d in (allowed if space.vp is None else space.vp) if d in allowed]
    whole = [
        (vp, ep, micro_batch)
        for vp, ep, micro_batch in product(
            chunks, _chosen(space.ep, setup.decoder.expert_count), _chosen(space.micro_batch, each)
        )
        if (vp == 1 or (each // micro_batch) % pp == 0) and (tp * cp * dp) % ep == 0
    ]
    kinds_of_space = (space.zero, space.recompute, space.optimizer, space.offloaded, space.schedule, space.replicate)
    return [
        (tp, cp, pp, vp, ep, dp, micro_batch, *kinds)
        for (vp, ep, micro_batch), *kinds in product(whole, *kinds_of_space)
    ]


def _chosen_groups(setup: Setup, given: Degrees) -> list[int]:
    """Return the degrees of tensor parallelism; those of a list need not divide the heads where these may be split."""
    return list(given) if setup.uneven_heads and given is not None else _chosen(given, setup.decoder.heads)


def _chosen(given: Degrees, whole: int) -> list[int]:
    return [d for d in (divisors(whole) if given is None else given) if whole % d == 0]


@dataclass(frozen=True)
class OpenPlans:
    """Choices of the plans of a workload.

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
    An `InputError` says that there are more than a table may have.
    """
    names = list(open_plans.flags)
    alone = frozenset(name for name in _CONDITIONAL if len(open_plans.flags.get(name, ())) < 2)  # noqa: PLR2004 - a choice
    chosen = len(open_plans.flags.get("overlap_ep", ())) > 1
    sequence, parts, counts = open_plans.setups[0].sequence, [], []
    for index, setup in enumerate(open_plans.setups):
        base = every_plan(setup, open_plans.space_of(index))
        for order, values in product(range(len(open_plans.orders)), product(*(open_plans.flags[one] for one in names))):
            plans = _with_flags(base, dict(zip(names, values, strict=True)), alone=alone)
            inside = _inside(setup, _near_experts(_splitting(plans, sequence), chosen=chosen))
            parts.append((index, order, _new(inside, open_plans.orders[: order + 1])))
            counts.append(len(parts[-1][2].tp))
            if sum(counts) > _MOST:
                raise _too_many()
    columns = {
        field: np.concatenate(
            [np.broadcast_to(getattr(plans, field), count) for (*_, plans), count in zip(parts, counts, strict=True)]
        )
        for field in vars(parts[0][2])
    }
    setups, order_ = (np.repeat([part[k] for part in parts], counts) for k in (0, 1))
    return TrainingTable(
        name=name, setups=open_plans.setups, plans=Plans(**columns), setup=setups, order=order_,
        orders=open_plans.orders, capacities=capacities, training_tokens=training_tokens,
    )  # fmt: skip


def _splitting(plans: Plans, sequence: int) -> Plans:
    """Return the plans whose sequence parallelism divides the sequence."""
    right = ~plans.sequence_parallel | (sequence % (plans.tp * plans.cp) == 0)
    return plans.take(np.flatnonzero(right))


def _near_experts(plans: Plans, *, chosen: bool) -> Plans:
    """Return the plans without those that would overlap all-to-alls and cannot, where others do not overlap them."""
    return plans.take(np.flatnonzero(~plans.overlap_ep | overlaps_experts(plans))) if chosen else plans


def _inside(setup: Setup, plans: Plans) -> Plans:
    """Return the plans that a scale-up domain of known size holds as far as they must stay inside one.

    Those that exchange heads also have as many for each NPU.
    """
    plans = plans.take(np.flatnonzero(exchange_allowed(plans, setup.decoder))) if plans.ulysses.any() else plans
    return plans if setup.domain is None else plans.take(np.flatnonzero(~beyond_domain(setup, plans)))


def _new(plans: Plans, orders: Sequence[tuple[str, ...]]) -> Plans:
    """Return the plans whose groups lie in the last one of some orders as they do in none before it."""
    known = [lie_alike(plans, orders[-1], earlier) for earlier in orders[:-1]] if len(plans.tp) else []
    return plans.take(np.flatnonzero(~np.logical_or.reduce([np.zeros(len(plans.tp), dtype=np.bool_), *known])))


_CONDITIONAL = ("reshard", "ulysses")
"""Flags that only some plans can have."""


def _with_flags(
    plans: Plans, flags: Mapping[str, bool | None], *, alone: frozenset[str] = frozenset(_CONDITIONAL)
) -> Plans:
    """Return plans with flags; sequence parallelism of None is on where there is a tensor parallel group.

    Weights that stay whole are a choice of ZeRO's stage 3: all other plans shard again, each of them once. Heads are
    exchanged where there is a context parallel group, and other plans occur once, too.

    Parameters
    ----------
    alone : those of `_CONDITIONAL` whose only value `flags` has.
    """
    if flags.get("reshard") is False and "reshard" not in alone:
        plans = plans.take(np.flatnonzero(plans.zero == SHARDED_WEIGHTS))
    if flags.get("ulysses") and "ulysses" not in alone:
        plans = plans.take(np.flatnonzero(plans.cp > 1))
    count = len(plans.tp)
    columns: dict[str, Any] = {
        flag: plans.tp > 1 if on is None else np.full(count, on) for flag, on in flags.items()
    }  # fmt: skip
    if "reshard" in columns:
        columns["reshard"] = columns["reshard"] | (plans.zero != SHARDED_WEIGHTS)
    if "ulysses" in columns:
        columns["ulysses"] = columns["ulysses"] & (plans.cp > 1)
    return replace(plans, **columns)
