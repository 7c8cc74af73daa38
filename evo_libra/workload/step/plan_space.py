"""All parallelisation plans of a training step that divide what they must divide."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import product

import numpy as np

from evo_libra.arrays import BoolArray
from evo_libra.workload.step.memory import memory
from evo_libra.workload.step.plans import Plans, one_plan
from evo_libra.workload.step.training_setup import Setup

Degrees = Sequence[int] | None


@dataclass(frozen=True)
class PlanSpace:
    """What plans may choose.

    Attributes
    ----------
    npus : of the cluster.
    tp, cp, pp, vp, ep, micro_batch : allowed values; None for all that divide.
    zero, recompute : allowed values of `Plans`.
    options : values of the other fields of `Plans`, the same in all plans.
    """

    npus: int
    tp: Degrees = None
    cp: Degrees = (1,)
    pp: Degrees = None
    vp: Degrees = None
    ep: Degrees = (1,)
    micro_batch: Degrees = None
    zero: Sequence[int] = (0,)
    recompute: Sequence[int] = (0,)
    options: Plans = field(default_factory=one_plan)


def divisors(number: int) -> list[int]:
    """Return the divisors of a number in ascending order.

    >>> divisors(12)
    [1, 2, 3, 4, 6, 12]
    """
    low = [d for d in range(1, int(number**0.5) + 1) if number % d == 0]
    return low + [number // d for d in reversed(low) if d * d != number]


def every_plan(setup: Setup, space: PlanSpace) -> Plans:
    """Return all plans of a space that divide: heads by ``tp``, layers by ``pp * vp``, the batch by what is left.

    An interleaved pipeline has a multiple of its stages as microbatches. Experts divide by ``ep``, and so do the NPUs
    of a stage. Layers that the stages do not divide are no plan.
    """
    rows = [row for degrees in _degrees(setup, space) for row in _options(setup, space, degrees)]
    columns = np.array(rows, dtype=np.int64).reshape(len(rows), 9).T
    tp, cp, pp, vp, ep, dp, micro_batch, zero, recompute = columns
    return replace(
        space.options, tp=tp, cp=cp, pp=pp, vp=vp, ep=ep, dp=dp, micro_batch=micro_batch, zero=zero, recompute=recompute
    )


def _degrees(setup: Setup, space: PlanSpace) -> list[tuple[int, int, int, int]]:
    """Return the degrees of tensor, context, pipeline and data parallelism."""
    model, found = setup.decoder, []
    for tp, cp, pp in product(*(
        [d for d in (divisors(whole) if given is None else given) if whole % d == 0]
        for given, whole in ((space.tp, model.heads), (space.cp, setup.sequence), (space.pp, model.layers))
    )):  # fmt: skip
        rest, left = divmod(space.npus, tp * cp * pp)
        if not left and rest and setup.global_batch % rest == 0:
            found.append((tp, cp, pp, rest))
    return found


def _options(setup: Setup, space: PlanSpace, degrees: tuple[int, int, int, int]) -> list[tuple[int, ...]]:
    tp, cp, pp, dp = degrees
    layers, each = setup.decoder.layers // pp, setup.global_batch // dp
    experts = 1 if setup.decoder.experts is None else setup.decoder.experts.count
    chunks = [1] if pp == 1 else _chosen(space.vp, layers)
    whole = [
        (vp, ep, micro_batch)
        for vp, ep, micro_batch in product(chunks, _chosen(space.ep, experts), _chosen(space.micro_batch, each))
        if (vp == 1 or (each // micro_batch) % pp == 0) and (tp * cp * dp) % ep == 0
    ]
    return [
        (tp, cp, pp, vp, ep, dp, micro_batch, zero, recompute)
        for (vp, ep, micro_batch), zero, recompute in product(whole, space.zero, space.recompute)
    ]


def _chosen(given: Degrees, whole: int) -> list[int]:
    return [d for d in (divisors(whole) if given is None else given) if whole % d == 0]


def fits_memory(setup: Setup, plans: Plans, reserve: float = 0.05) -> BoolArray:
    """Return (n,) whether a plan's bytes leave a part of an accelerator's memory free."""
    used = sum(memory(setup, plans).values(), np.zeros(1))
    return np.asarray(used <= (1.0 - reserve) * setup.accelerator.memory_capacity)
