"""Random training steps: models, plans, and what a byte of each group takes."""

from __future__ import annotations

from typing import Any

import numpy as np
from sample_decoders import DENSE, LATENT, ROUTED

from evo_libra.arrays import FloatArray
from evo_libra.network.catalog.accelerators import accelerator
from evo_libra.workload.plans.plans import Plans
from evo_libra.workload.training.races import Traffic
from evo_libra.workload.training.training_setup import Setup

GROUPS = ("tp", "cp", "ep", "pp", "cp+dp", "edp", "all")


class Seconds(dict[str, FloatArray]):
    """Seconds of a byte of each group."""

    def __call__(self, traffic: Traffic) -> FloatArray:
        return np.asarray(traffic.bytes_of_pattern * self[traffic.group])


FREE = Seconds.fromkeys(GROUPS, np.zeros(1))


def setup_of(random: np.random.Generator, **given_: Any) -> Setup:
    model = (DENSE, ROUTED, LATENT)[random.integers(0, 3)]
    values: dict[str, Any] = {
        "precision": str(random.choice(["bf16", "fp8"])),
        "gradient_bytes": int(random.choice([2, 4])),
        "fused_attention": bool(random.random() < 0.5),
        "balanced": bool(random.random() < 0.5),
    }
    return Setup(model, accelerator("h100-80gb"), 4096, 1024, **{**values, **given_})


def random_plans(random: np.random.Generator, count: int = 16) -> Plans:
    def power(most: int) -> np.ndarray:
        return np.asarray(2 ** random.integers(0, most + 1, count))

    def coin() -> np.ndarray:
        return np.asarray(random.random(count) < 0.5)

    zero, recompute = random.integers(0, 4, count), random.integers(0, 3, count)
    tp, cp, dp = power(3), power(2), power(5)
    return Plans(
        tp, cp, power(4), power(1), np.minimum(power(4), tp * cp * dp), dp, power(2), zero, recompute,
        coin(), coin(), coin(), coin(),
    )  # fmt: skip


def seconds_of(random: np.random.Generator, count: int = 16) -> Seconds:
    return Seconds({group: 10 ** random.uniform(-13, -8, count) for group in GROUPS})
