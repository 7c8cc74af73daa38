"""All parallelisation plans of a training step that divide what they must divide."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

import numpy as np

from evo_libra.workload.parallelism import divisors
from evo_libra.workload.plans.placement_rules import placement_allowed
from evo_libra.workload.plans.plan_rules import virtual_stages
from evo_libra.workload.plans.plans import Plans, one_plan
from evo_libra.workload.training.memory import memory
from evo_libra.workload.training.training_setup import Setup

Degrees = Sequence[int] | None


@dataclass(frozen=True)
class PlanSpace:
    """What plans may choose.

    Attributes
    ----------
    npus : of the cluster.
    tp, cp, pp, vp, ep, micro_batch : allowed values; None for all that divide.
    dp : allowed replicas; None for the NPUs that are left.
    zero, recompute, optimizer : allowed values of `Plans`; those of `expansion` are all that a setup has.
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
    options: Plans = field(default_factory=one_plan)


_COLUMNS = ("tp", "cp", "pp", "vp", "ep", "dp", "micro_batch", "zero", "recompute", "optimizer")


def every_plan(setup: Setup, space: PlanSpace) -> Plans:
    """Return all plans of a space that divide: heads by ``tp``, layers by ``pp * vp``, the batch by what is left.

    An interleaved pipeline has a multiple of its stages as microbatches. Experts divide by ``ep``, and so do the NPUs
    of a stage. Layers that the stages do not divide are a plan where the setup says that stages may be uneven. Hosts
    and servers hold what the optimizer moves to them.
    """
    rows = [row for degrees in _degrees(setup, space) for row in _options(setup, space, degrees)]
    columns = np.array(rows, dtype=np.int64).reshape(len(rows), len(_COLUMNS)).T
    chosen: dict[str, Any] = dict(zip(_COLUMNS, columns, strict=True))
    found = replace(space.options, **chosen)
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
    model, found = setup.decoder, []
    layers = model.layers + 2 * setup.balanced
    stages = range(1, layers + 1) if setup.uneven else divisors(layers)
    for tp, cp, pp in product(
        _chosen(space.tp, model.heads), _chosen(space.cp, setup.sequence),
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
    return [
        (tp, cp, pp, vp, ep, dp, micro_batch, *kinds)
        for (vp, ep, micro_batch), *kinds in product(whole, space.zero, space.recompute, space.optimizer)
    ]


def _chosen(given: Degrees, whole: int) -> list[int]:
    return [d for d in (divisors(whole) if given is None else given) if whole % d == 0]
