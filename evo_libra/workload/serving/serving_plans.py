"""Plans of serving: of replicas that answer requests, and of those that only process prompts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from evo_libra.arrays import FloatArray, IntArray
from evo_libra.workload.plans.plans import Plans
from evo_libra.workload.training.races import OF_PREFILL, POOLS

DEGREES = ("tp", "pp", "ep")
"""Degrees that replicas that only process prompts may have for themselves."""


def with_split_experts(plans: Plans) -> Plans:
    """Return plans whose expert parallel group says over how many NPUs the weights of experts are split.

    Without one, experts are split over the tensor parallel group as all other layers are: each NPU has a part of each
    expert, which is as many bytes and FLOP as a part of the experts.
    """
    return replace(plans, ep=np.where(plans.ep == 1, plans.tp, plans.ep))


@dataclass(frozen=True)
class ServingPlans:
    """Plans of serving.

    Attributes
    ----------
    plans : ``dp`` are the replicas that all NPUs would be; an expert parallel group may take several;
        ``micro_batch`` are the requests that a replica answers at a time.
    prefill : (n,) or (1,) replicas that only process prompts, for the others to go on with; 0 where all do both.
    ahead : plans of the replicas that only process prompts, whose ``dp`` is as above; None where they are the same.
    """

    plans: Plans
    prefill: IntArray
    ahead: Plans | None = None

    def __len__(self) -> int:
        return max(len(self.plans), len(self.prefill))

    def take(self, which: IntArray) -> ServingPlans:
        """Return some of the plans, none or one of them several times; see `Plans.take`."""
        prefill = np.broadcast_to(self.prefill, len(self.plans.tp))[which]
        return ServingPlans(self.plans.take(which), prefill, None if self.ahead is None else self.ahead.take(which))

    def select(self, which: IntArray) -> ServingPlans:
        """Return some of the plans, at least one; arrays of one value hold for all of them."""
        prefill = self.prefill if len(self.prefill) == 1 else self.prefill[which]
        return ServingPlans(self.plans.select(which), prefill, None if self.ahead is None else self.ahead.select(which))

    @property
    def alike(self) -> bool:
        """Whether the replicas that only process prompts have the degrees of the others, under all plans."""
        ahead = self.ahead
        return ahead is None or all((getattr(self.plans, name) == getattr(ahead, name)).all() for name in DEGREES)

    @property
    def of_prefill(self) -> Plans:
        """The plans of the replicas that only process prompts."""
        return self.plans if self.ahead is None else self.ahead

    @property
    def answering(self) -> IntArray:
        """(n,) replicas that answer requests."""
        ahead, plans = self.of_prefill, self.plans
        return np.asarray(plans.dp - self.prefill * (ahead.tp * ahead.pp) // (plans.tp * plans.pp))

    @property
    def replicas(self) -> IntArray:
        """(n,) copies of the model."""
        return np.asarray(self.answering + self.prefill)

    @property
    def groups_that_answer(self) -> IntArray:
        """(2, 2, n) as for `WorkloadKind`: replicas, or several that share experts, that answer, and that do prompts.

        Both pools are one where no replica only processes prompts.
        """
        plans, ahead, pools = self.plans, self.of_prefill, self.prefill > 0
        size, before = (np.maximum(each.tp, each.ep) for each in (plans, ahead))
        groups = np.maximum(self.answering * plans.tp // size, 1)
        first = np.maximum(self.prefill * ahead.tp // before, 1)
        return np.array([[groups, np.where(pools, first, groups)], [size + 0 * groups, np.where(pools, before, size)]])

    @property
    def users(self) -> FloatArray:
        """(n,) requests in the whole cluster at a time: as one ends, the next begins."""
        return np.asarray(self.plans.micro_batch * self.answering, dtype=np.float64)

    @property
    def apart(self) -> FloatArray:
        """(n,) 1 where some replicas only process prompts, else 0."""
        return np.asarray(self.prefill > 0, dtype=np.float64)

    @property
    def prefill_degrees(self) -> dict[str, IntArray]:
        """(n,) NPUs of the groups of replicas that only process prompts, and of both pools; empty without `ahead`."""
        if self.ahead is None:
            return {}
        plans, ahead = self.plans, self.ahead
        # If stages are alike, a cache goes from each to its equal.
        stages = np.where(plans.pp == ahead.pp, plans.pp, 1)
        both = plans.tp * plans.pp * plans.dp // (np.minimum(plans.tp, ahead.tp) * stages)
        return {**{name: getattr(ahead, group) for group, name in OF_PREFILL.items()}, POOLS: both}


def joined_plans(parts: Sequence[ServingPlans]) -> ServingPlans:
    """Return the plans of all parts, one part after the other."""
    ahead = [part.ahead for part in parts if part.ahead is not None]
    prefill = np.concatenate([np.broadcast_to(part.prefill, len(part.plans.tp)) for part in parts])
    return ServingPlans(_joined([part.plans for part in parts]), prefill, _joined(ahead) if ahead else None)


def _joined(parts: Sequence[Plans]) -> Plans:
    fields = {
        name: np.concatenate([np.broadcast_to(getattr(part, name), len(part.tp)) for part in parts])
        for name in vars(parts[0])
    }
    return Plans(**fields)
