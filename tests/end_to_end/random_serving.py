"""Random setups and plans of serving."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st
from sample_decoders import DENSE, LATENT, ROUTED

from evo_libra.arrays import FloatArray
from evo_libra.network.catalog.accelerators import accelerator
from evo_libra.workload.plans.plans import Plans, one_plan
from evo_libra.workload.serving.serving_plans import ServingPlans
from evo_libra.workload.serving.serving_setup import ServingSetup
from evo_libra.workload.training.races import Traffic

SEEDS = st.integers(0, 2**32 - 1)


class Seconds(dict[str, FloatArray]):
    """Seconds of a byte of each group."""

    def __call__(self, traffic: Traffic) -> FloatArray:
        return np.asarray(traffic.bytes_of_pattern * self.get(traffic.group, np.zeros(1)))


FREE = Seconds()


def setup_of(random: np.random.Generator, **given_: Any) -> ServingSetup:
    model = (DENSE, ROUTED, LATENT)[random.integers(0, 3)]
    values: dict[str, Any] = {
        "weights": str(random.choice(["bf16", "fp8", "int8", "int4"])),
        "cache": str(random.choice(["bf16", "fp8", "int8"])),
    }
    tokens = int(random.integers(1, 8000)), int(random.integers(2, 2000))
    return ServingSetup(model, accelerator("h100-80gb"), *tokens, **{**values, **given_})


def random_plans(
    random: np.random.Generator, count: int = 16, *, pools: bool = False, own: bool = False
) -> ServingPlans:
    def power(most: int) -> np.ndarray:
        return np.asarray(2 ** random.integers(0, most + 1, count))

    tp, dp = power(3), 2 * power(4)
    given_ = {"tp": tp, "pp": power(2), "dp": dp, "ep": np.minimum(power(4), tp), "micro_batch": power(7)}
    prefill = dp // 2 * pools
    plans = Plans(**{**vars(one_plan()), **given_})
    if not own:
        return ServingPlans(plans, prefill)
    # As many NPUs for prompts, in replicas of other sizes.
    ahead_tp, ahead_pp = power(3), power(2)
    size, ahead = plans.tp * plans.pp, ahead_tp * ahead_pp
    fits = (prefill * size % ahead == 0) & (prefill * size >= ahead)
    ahead_tp, ahead_pp = np.where(fits, ahead_tp, plans.tp), np.where(fits, ahead_pp, plans.pp)
    ahead = ahead_tp * ahead_pp
    ones = np.ones(count, dtype=np.int64)
    others = {
        "tp": ahead_tp,
        "pp": ahead_pp,
        "dp": dp * size // ahead,
        "ep": ones,
        "micro_batch": given_["micro_batch"],
    }
    return ServingPlans(plans, prefill * size // ahead, Plans(**{**vars(one_plan()), **others}))
