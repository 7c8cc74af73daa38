"""Measured training steps of 2024 to 2026: what their rows say, and how far the program is from them, at most."""

from __future__ import annotations

import numpy as np
import pytest

from evo_libra.validation.source import errors_of
from evo_libra.validation.training_2026 import (
    NIC_EFFICIENCY,
    NIC_RATE,
    TRAINING_2026,
    cluster_of,
    measured_steps,
    npu_of,
    steps_of,
)

ERRORS = {
    "megatron-h100-fp8": (15, 0.088),
    "megatron-h100-bf16": (9, 0.030),
    "megatron-gb200-fp8": (1, 0.057),
    "megatron-gb200-bf16": (6, 0.189),
    "one-microbatch-b200": (2, 0.263),
    "one-server-b200": (1, 0.035),
    "torchtitan-h100": (6, 0.333),
    "torchtitan-h100-long": (2, 0.588),
    "torchtitan-h100-tp": (4, 0.302),
    "asynchronous-tp": (2, 0.257),
    "scaling": (22, 0.016),
}
"""Rows of each source, and the largest mean of the sizes of their relative errors."""


def test_each_class_of_rows_is_as_far_as_its_page_says() -> None:
    assert list(ERRORS) == [source.name for source in TRAINING_2026]
    for source in TRAINING_2026:
        count, mean = ERRORS[source.name]
        errors = errors_of(source.rows())
        assert (errors.count, errors.mean <= mean) == (count, True), (source.name, errors)


def test_every_row_is_in_one_class() -> None:
    classes = [row.id for source in TRAINING_2026[:-2] for row in source.rows()]
    assert sorted(classes) == sorted(step.id for step in measured_steps())
    assert len(classes) == 46


def test_a_row_of_mlperf() -> None:
    (step,) = steps_of("mlperf50.405b.H100")
    plan, model = step.plan, step.setup.decoder
    degrees = [int(getattr(plan, name)[0]) for name in ("tp", "cp", "pp", "vp", "dp", "micro_batch", "zero")]
    assert degrees == [8, 2, 8, 8, 4, 1, 1]
    assert (model.layers, model.hidden, model.tied, step.setup.balanced) == (126, 16384, False, True)
    assert (step.npus, step.seconds, step.memory, step.setup.precision) == (512, 55.1625, 63.2e9, "fp8")


def test_boards_of_torchtitan_have_their_own_memory() -> None:
    (step,) = steps_of("titan.8b.8.bf16")
    npu = step.setup.accelerator
    assert (npu.memory_capacity, npu.memory_bandwidth) == (102e9, 2.4e12)
    assert npu.peak == npu_of("h100-80gb").peak


@pytest.mark.parametrize(("name", "npus", "sizes"), [("h100-80gb", 512, [8, 64]), ("gb200", 256, [64, 4])])
def test_domains_of_load_store_links(name: str, npus: int, sizes: list[int]) -> None:
    found, bandwidth = cluster_of(npu_of(name), npus)
    assert found.ravel().tolist() == sizes
    assert bandwidth[1, 0] == NIC_RATE * NIC_EFFICIENCY
    assert bandwidth[0, 0] > 5 * bandwidth[1, 0]


def test_order_of_the_pipeline_inside_data_parallelism() -> None:
    # tp 4, cp 2 and pp 8 fill a domain of 64: stages are joined by its links, and only replicas are beyond.
    (step,) = steps_of("mlperf50.405b.GB200")
    assert step.order == ("tp", "cp", "pp", "dp")
    assert np.prod([int(getattr(step.plan, name)[0]) for name in step.order[:3]]) == 64
