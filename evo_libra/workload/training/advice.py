"""Advice on changes that make a training step fit the memory of an accelerator."""

from __future__ import annotations

from collections.abc import Callable
from math import log2

import numpy as np

from evo_libra.arrays import FloatArray
from evo_libra.workload.parallelism import divisors
from evo_libra.workload.plans.plan_rules import plan_mistakes, plan_values
from evo_libra.workload.plans.plans import DEGREES, Plans, one_plan
from evo_libra.workload.plans.recomputation import FULL, SELECTIVE, kind_of, recompute_text
from evo_libra.workload.training.memory import memory_on_npu
from evo_libra.workload.training.recommender_step import RecommenderSetup, recommender_memory
from evo_libra.workload.training.training_setup import Setup

_KEYS = ("micro_batch", "zero", "recompute", "tp", "cp", "pp", "ep")
"""Options that advice changes; the data parallel group takes the NPUs that are left."""

_ZERO_COST = (0.0, 1.0, 1.5, 8.5)
_RECOMPUTE_COST = (0.0, 2.0, 5.0, 3.0)
_MICRO_BATCH_COST = 3.0
_GROUP_COST = {"ep": 4.0, "tp": 7.0, "pp": 7.1, "cp": 7.2}
"""Estimated slowdown of training by a change, in no unit: it orders options, and no figure comes from it."""


def fitting_option(
    setup: Setup, plan: Plans, *, auto: bool, capacity: float, holds: Callable[[Plans], bool] = lambda _: True
) -> str:
    """Return the nearest plan on the same NPUs that fits a number of bytes, as a sentence without an end.

    The nearest plan changes the fewest options, and of those plans it is the one whose changes slow training least.

    Parameters
    ----------
    auto : whether sequence parallelism follows the tensor parallel group: it is on where there is one.
    holds : whether the network holds the process groups of a plan; every network does unless it is given.
    """
    plans = _other_plans(setup, plan, auto=auto)
    used = bytes_of(memory_on_npu(setup, plans), len(plans))
    changes, costs = _distance(plan, plans)
    refused: set[tuple[int, ...]] = set()
    for index in np.lexsort((costs, changes)):
        if used[index] > capacity:
            continue
        other = plans.select(np.array([index]))
        value = plan_values(other)
        key = (*(value[degree] for degree in DEGREES), value["micro_batch"])
        if key not in refused and not list(plan_mistakes(setup, other)) and holds(other):
            return f"{_change(plan, other)} would need {used[index] / 1e9:.1f} GB"
        refused.add(key)
    kept = f" and vp {plan_values(plan)['vp']}" if plan_values(plan)["vp"] > 1 else ""
    return f"no plan on these NPUs{kept} fits, whatever its {', '.join(_KEYS[:-1])} and {_KEYS[-1]}"


def fitting_npus(setup: RecommenderSetup, npus: int, *, capacity: float) -> str:
    """Return the smallest multiple of the NPUs on which a recommendation model fits, as a sentence without an end.

    Its tables are spread over all NPUs, and each NPU has as many samples of the global batch.
    """
    for number in divisors(setup.global_batch):
        if number > npus and number % npus == 0:
            used = float(bytes_of(recommender_memory(setup, number), 1)[0])
            if used <= capacity:
                return f"npus: {number} would need {used / 1e9:.1f} GB"
    return f"no multiple of these NPUs that divides the global batch of {setup.global_batch:,} fits"


def bytes_of(classes: dict[str, FloatArray], count: int) -> FloatArray:
    """Return the (n,) sums of n plans over the classes of memory."""
    return np.broadcast_to(sum(classes.values(), np.zeros(1)), (count,))


_SAME = ("overlap_tp", "overlap_pp", "overlap_dp", "overlap_ep", "optimizer", "expansion", "offloaded", "reshard",
         "schedule", "replicate", "ulysses")  # fmt: skip
"""Options that advice leaves as they are."""


def _other_plans(setup: Setup, plan: Plans, *, auto: bool) -> Plans:
    """Return all plans on as many NPUs that may need less memory, and whose groups divide NPUs and batch."""
    value, model = plan_values(plan), setup.decoder
    npus = value["tp"] * value["cp"] * value["pp"] * value["dp"]
    groups, again = divisors(npus), int(plan.recompute[0])
    options = {
        "micro_batch": range(1, value["micro_batch"] + 1),
        # A lower stage of ZeRO, less recomputation or a larger microbatch never saves memory.
        "zero": range(value["zero"], 4),
        "recompute": sorted({again, FULL, *(() if setup.fused_attention or again else (SELECTIVE,))}),
        "tp": [degree for degree in groups if model.heads % degree == 0],
        "cp": [degree for degree in groups if setup.sequence % degree == 0],
        "pp": [degree for degree in groups if degree <= model.layers + 2],
        "ep": divisors(model.expert_count),
    }  # fmt: skip
    each = dict(zip(options, (part.ravel() for part in np.meshgrid(*options.values(), indexing="ij")), strict=True))
    stage = each["tp"] * each["cp"] * each["pp"]
    dp = npus // stage
    right = (npus % stage == 0) & (setup.global_batch % np.maximum(dp * each["micro_batch"], 1) == 0)
    each = {name: degrees[right] for name, degrees in {**each, "dp": dp}.items()}
    alone = one_plan(vp=value["vp"])
    split = each["tp"] > 1 if auto else plan.sequence_parallel
    same = {name: getattr(plan, name) for name in _SAME}
    return Plans(**each, vp=alone.vp, sequence_parallel=split, **same)


def _distance(plan: Plans, plans: Plans) -> tuple[FloatArray, FloatArray]:
    """Return (n,) how many options differ from those of a plan, and (n,) how much the differences cost."""
    value = {name: int(getattr(plan, name)[0]) for name in _KEYS}
    changes = sum((1.0 * (getattr(plans, name) != value[name]) for name in _KEYS), np.zeros(1))
    cost = np.asarray(_ZERO_COST)[plans.zero] + np.asarray(_RECOMPUTE_COST)[kind_of(plans.recompute)]
    smaller = plans.micro_batch != value["micro_batch"]
    cost = cost + np.where(smaller, _MICRO_BATCH_COST + (1.0 - plans.micro_batch / value["micro_batch"]), 0.0)
    for name, least in _GROUP_COST.items():
        degrees = getattr(plans, name)
        far = least + np.abs(np.log2(degrees) - log2(value[name]))
        cost = cost + np.where(degrees != value[name], far, 0.0)
    return changes, cost


def _change(plan: Plans, other: Plans) -> str:
    """Return the options of a plan that differ from another one's, as a file writes them."""
    changed = {
        name: int(getattr(other, name)[0])
        for name in (*_KEYS, "dp")
        if getattr(other, name)[0] != getattr(plan, name)[0]
    }
    return " with ".join(
        f"{name}: {recompute_text(value) if name == 'recompute' else value}" for name, value in changed.items()
    )
