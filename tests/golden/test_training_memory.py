"""Measured memory of training steps: MLPerf's allocated peak, and torchtitan's reserved one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evo_libra.network.catalog.accelerators import accelerator
from evo_libra.workload.models.decoder import Decoder
from evo_libra.workload.plans.plans import one_plan
from evo_libra.workload.plans.recomputation import recompute_of
from evo_libra.workload.training.memory import memory
from evo_libra.workload.training.training_setup import Setup

PUBLISHED = json.loads((Path(__file__).parent / "training_memory.json").read_text())
ROWS = [dict(zip(PUBLISHED["columns"], row, strict=True)) for row in PUBLISHED["rows"]]


def computed(row: dict[str, Any]) -> float:
    """Return what a framework allocates, over the measured peak."""
    model = Decoder(
        name="measured", layers=row["layers"], hidden=row["hidden"], heads=row["heads"], kv_heads=row["kv_heads"],
        head_width=row["head_dim"], feed_forward=row["feed_forward"], gated=row["gated"], vocabulary=row["vocabulary"],
        experts=None, latent=None, tied=False,
    )  # fmt: skip
    setup = Setup(
        model, accelerator(row["npu"]), row["sequence"], row["global_batch"], row["precision"],
        gradient_bytes=row["gradient_bytes"], balanced=row["balanced_head"], loss=row["loss"],
    )  # fmt: skip
    options = {name: row[name] for name in ("tp", "pp", "vp", "cp", "micro_batch", "zero", "sequence_parallel")}
    replicas = row["npus"] // (row["tp"] * row["pp"] * row["cp"])
    used = memory(setup, one_plan(**options, dp=replicas, recompute=recompute_of(row["recompute"])))
    allocated = sum(float(np.ravel(bytes_)[0]) for kind, bytes_ in used.items() if kind != "buffers")
    return allocated / (1e9 * row["memory_GB"])


ERRORS = {row["id"]: computed(row) - 1.0 for row in ROWS}
ALLOCATED = [error for row, error in zip(ROWS, ERRORS.values(), strict=True) if row["peak"] == "allocated"]


def test_pipelines_of_megatron_need_what_was_allocated() -> None:
    assert len(ALLOCATED) == 1
    assert np.mean(np.abs(ALLOCATED)) <= 0.07
    assert np.max(np.abs(ALLOCATED)) <= 0.12


def test_nothing_that_needs_more_than_a_tenth_above_an_accelerator_is_called_to_fit() -> None:
    assert min(ALLOCATED) >= 1.0 / 1.1 - 1.0


@pytest.mark.parametrize("name", [row["id"] for row in ROWS if row["peak"] == "reserved"])
def test_fsdp_without_tensor_parallelism_needs_what_was_reserved(name: str) -> None:
    assert abs(ERRORS[name]) <= 0.05
