"""Weights in NVFP4: 4.5 bits each, products at the rate of fp4, and accelerators that have none."""

from __future__ import annotations

import numpy as np
import pytest
from sample_decoders import DENSE

from evo_libra import load_problem
from evo_libra.errors import InputError
from evo_libra.network.catalog.accelerators import accelerator, read_accelerator
from evo_libra.problem.problem import Problem
from evo_libra.workload.models.layers.sublayer import Matrix
from evo_libra.workload.plans.plans import one_plan
from evo_libra.workload.serving.decoding import matrix_step
from evo_libra.workload.serving.memory import serving_memory
from evo_libra.workload.serving.serving_setup import WEIGHT_BYTES, ServingSetup, products_of

NPU = read_accelerator("ours", {
    "peak_TFLOPS": {"bf16": 2000, "fp8": 4000, "fp4": 8000},
    "memory": {"capacity_GB": 192, "bandwidth_GBps": 8000},
    "kernels": {
        "bf16": {"plateau": 0.7, "fixed_us": 3}, "fp4": {"plateau": 0.5, "fixed_us": 3, "quantisation": 5},
        "decode": {"bandwidth": 0.75, "fixed_us": 3},
        "attention": {"plateau": 0.7, "half_tokens": 1000, "backward": 0.9},
    },
    "source": "made up, 2026",
})  # fmt: skip


def setup(weights: str) -> ServingSetup:
    return ServingSetup(DENSE, NPU, 1000, 500, weights, gemm_factor=1.0)


def test_a_product_with_few_rows_reads_four_and_a_half_bits_of_each_weight() -> None:
    """16 weights of 4 bits share a scale of 8: 8192 x 8192 x 0.5625 B = 37.75 MB over 6 TB/s are 6.29 us, and 3 us."""
    seconds = matrix_step(setup("nvfp4"), Matrix(n=8192, k=8192), np.array([1.0]))
    assert seconds == pytest.approx(37_748_736 / 6e12 + 3e-6)


def test_a_product_with_many_rows_takes_the_rate_of_fp4() -> None:
    """2 x 4096 x 8192 x 8192 FLOP over half of 8 PFLOP/s are 137.4 us, which reading the weights does not reach."""
    seconds = matrix_step(setup("nvfp4"), Matrix(n=8192, k=8192), np.array([4096.0]))
    assert seconds == pytest.approx(2 * 4096 * 8192 * 8192 / 4e15 + 3e-6)


def test_a_prompt_is_computed_in_fp4_without_traffic_of_its_inputs() -> None:
    """An m x k input in NVFP4 has 0.5625 mk bytes, as its weight has per element; the output has 16 bits."""
    forward = setup("nvfp4").forward
    assert forward.precision == "fp4"
    found = forward.kernels.product(64.0, 8192.0, 8192.0, "fp4").forward
    moved = 0.5625 * (64 * 8192 + 8192 * 8192) + 2 * 64 * 8192
    assert found == pytest.approx(moved / 6e12 + 3e-6)


def test_weights_take_nine_thirtyseconds_of_the_memory_of_those_in_bf16() -> None:
    held = {name: serving_memory(setup(name), one_plan(micro_batch=1))["weights"] for name in ("bf16", "nvfp4")}
    assert held["nvfp4"] == pytest.approx(held["bf16"] * 9 / 32)


def test_products_run_in_the_precision_of_narrow_weights_where_the_chip_multiplies_in_it() -> None:
    assert {name: products_of(name) for name in ("bf16", "fp8", "int8", "int4", "nvfp4", "mxfp4")} == {
        "bf16": "bf16", "fp8": "fp8", "int8": "bf16", "int4": "bf16", "nvfp4": "fp4",
        "mxfp4": "mxfp4",
    }  # fmt: skip


@pytest.mark.parametrize("name", ["h100-80gb", "mi355x", "l40s-48gb", "trainium3"])
def test_a_chip_without_constants_of_fp4_refuses(name: str) -> None:
    with pytest.raises(InputError, match=f"{name} has no kernel constants for fp4; it has bf16, fp8"):
        accelerator(name).gemm_constants("fp4")


def test_mxfp4_has_a_scale_for_each_32_weights() -> None:
    """32 weights of 4 bits and a scale of 8 are 136 bits: 4.25 bits, or 0.53125 bytes, of each."""
    assert WEIGHT_BYTES["mxfp4"] == 0.53125
    assert accelerator("mi355x").gemm_constants("mxfp4").plateau == 0.477
    for name in ("tpu7x", "h100-80gb", "mi300x"):
        with pytest.raises(InputError, match=f"{name} has no kernel constants for mxfp4"):
            accelerator(name).gemm_constants("mxfp4")


def test_mxfp8_is_served_in_products_of_its_own() -> None:
    """A byte and a scale of 8 bits for each 32 elements (OCP Microscaling Formats, 2023): 33 bytes of 32."""
    assert WEIGHT_BYTES["mxfp8"] == 33 / 32
    assert products_of("mxfp8") == "mxfp8"
    serving = {"input": 1024, "output": 128, "concurrency": 8, "weights": ["mxfp8", "mxfp4"]}
    problem = load_problem({
        "version": 1, "name": "blocks", "question": "order", "systems": "hgx-b200", "npus": 8,
        "workloads": [{"model": "llama-3-8b", "serving": serving, "parallelism": {"tp": 8}}],
        "objectives": ["time", "order-cost"],
    })  # fmt: skip
    assert isinstance(problem, Problem)
    (table,) = problem.time.tables
    assert {word for n in range(len(table)) for word in table.text(n).split()} >= {"mxfp8", "mxfp4"}
