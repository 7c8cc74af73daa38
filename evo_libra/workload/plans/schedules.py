"""Schedules of a pipeline: passes that it idles for, microbatches whose passes overlap, and what each schedule needs.

Zero bubble: Qi et al., ICLR 2024 (arXiv 2401.10241), the handcrafted schedules of its section 2. DualPipe: DeepSeek-V3
(arXiv 2412.19437), table 2, and its public code, which takes two microbatches for each stage at least.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from evo_libra.arrays import BoolArray, FloatArray
from evo_libra.workload.plans.plans import DUALPIPE, ONE_F_ONE_B, SCHEDULES, SHARDED_GRADIENTS, ZB_H1, ZB_H2, Plans
from evo_libra.workload.plans.recomputation import FULL


@dataclass(frozen=True)
class Idle:
    """Passes of a stage that a pipeline idles for in a step; every array is (n,).

    Attributes
    ----------
    forward, backward : passes, backward ones with the gradients of weights.
    weights : gradients of weights that fill this time, in passes.
    """

    forward: FloatArray
    backward: FloatArray
    weights: FloatArray

    @property
    def both(self) -> FloatArray:
        """Pairs of a forward and a backward pass."""
        return (self.forward + self.backward) / 2.0

    def times(self, share: FloatArray) -> Idle:
        """Return a share of each."""
        return Idle(self.forward * share, self.backward * share, self.weights * share)


def idle_of(plans: Plans) -> Idle:
    """Return the passes that a pipeline idles for, with B the whole backward pass and W its gradients of weights.

    1F1B has (p - 1) (F + B) / v, ZB-H1 (p - 1) (F + B - 2 W) and ZB-H2 (p - 1) (F + B - 3 W), whose authors count B
    without W, and DualPipe (p / 2 - 1) (F&B + B - 3 W).

    >>> from evo_libra.workload.plans.plans import one_plan
    >>> idle = idle_of(one_plan(pp=8, schedule=DUALPIPE))
    >>> float(idle.forward[0]), float(idle.backward[0]), float(idle.weights[0])
    (3.0, 6.0, 9.0)
    """
    ends, half = (plans.pp - 1) / plans.vp, np.maximum(plans.pp / 2.0 - 1.0, 0.0)
    both_ways = plans.schedule == DUALPIPE
    weights = np.where(plans.schedule == ZB_H1, 2.0, np.where(plans.schedule == ZB_H2, 3.0, 0.0)) * ends
    return Idle(
        np.where(both_ways, half, ends), np.where(both_ways, 2.0 * half, ends), np.where(both_ways, 3.0 * half, weights)
    )


def overlaps_experts(plans: Plans) -> BoolArray:
    """Return (n,) whether the all-to-all of experts runs alongside the passes of another microbatch.

    A forward pass is next to the backward pass of another microbatch without a pipeline, in an interleaved one and in
    DualPipe. If a whole layer runs again, its all-to-all would wait for itself (Megatron-LM refuses that, 2025).
    """
    near = (plans.pp == 1) | (plans.vp > 1) | (plans.schedule == DUALPIPE)
    return np.asarray(plans.overlap_ep & (plans.ep > 1) & near & (plans.recompute != FULL))


def paired_passes(plans: Plans, micro: FloatArray) -> FloatArray:
    """Return (n,) forward passes of a step that run next to a backward pass of another one of (n,) microbatches.

    Without a pipeline these are all but the first one. The last stage of an interleaved pipeline starts with p passes
    through each of its virtual stages but one. The middle ranks of DualPipe run p of their passes alone.

    >>> from evo_libra.workload.plans.plans import one_plan
    >>> float(paired_passes(one_plan(pp=4, vp=2, ep=2, overlap_ep=True), np.array([16.0]))[0])
    14.0
    """
    first = np.where(plans.pp == 1, 1.0, (plans.vp - 1) * plans.pp / plans.vp)
    first = np.where(plans.schedule == DUALPIPE, plans.pp, first)
    return np.where(overlaps_experts(plans), np.maximum(micro - first, 0.0), 0.0)


def copies_of_weights(plans: Plans) -> FloatArray:
    """Return (n,) stages whose weights a rank holds: two in DualPipe, whose microbatches come from both ends."""
    return np.where(plans.schedule == DUALPIPE, 2.0, 1.0)


def schedule_mistakes(plan: Plans, microbatches: float) -> Iterator[tuple[str, str]]:
    """Yield what the schedule of the first plan lacks: the option, and a sentence."""
    kind, stages = int(plan.schedule[0]), int(plan.pp[0])
    if kind == ONE_F_ONE_B:
        return
    name = SCHEDULES[kind]
    if stages == 1:
        yield "schedule", f"found {name}; it is the schedule of a pipeline, and pp is 1: leave this key out"
    if plan.vp[0] > 1:
        yield "vp", f"found {int(plan.vp[0])}; {name} has no virtual stages, and 1f1b has"
    if plan.recompute[0] == FULL:
        again = "named modules of `recompute` are no obstacle"
        yield "recompute", f"found full; {name} keeps what the gradients of weights need until they run, and {again}"
    if kind == DUALPIPE:
        yield from _dualpipe_mistakes(plan, stages, microbatches)


def _dualpipe_mistakes(plan: Plans, stages: int, microbatches: float) -> Iterator[tuple[str, str]]:
    if stages % 2:
        yield "pp", f"found {stages}; dualpipe takes an even number of stages because each rank has one of either half"
    elif microbatches < 2 * stages or microbatches % 2:
        needed = f"dualpipe takes an even number of microbatches, 2 x pp {stages} = {2 * stages} at least"
        yield "schedule", f"found dualpipe; {needed}, and there are {microbatches:g}"
    if plan.zero[0] >= SHARDED_GRADIENTS:
        why = "the two copies of each stage add up their gradients once in a step"
        yield "zero", f"found {int(plan.zero[0])}; {why}, so dualpipe takes zero 0 or 1"


def schedule_allowed(plans: Plans, microbatches: FloatArray) -> BoolArray:
    """Return (n,) whether plans keep the rules of their schedule, with (n,) microbatches."""
    plain, both_ways = plans.schedule == ONE_F_ONE_B, plans.schedule == DUALPIPE
    split = (plans.pp > 1) & (plans.vp == 1) & (plans.recompute != FULL)
    even = (plans.pp % 2 == 0) & (microbatches % 2 == 0) & (microbatches >= 2 * plans.pp)
    return np.asarray(plain | (split & (~both_ways | (even & (plans.zero < SHARDED_GRADIENTS)))))
