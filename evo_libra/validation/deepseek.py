"""DeepSeek-V3's training on 2,048 H800: DualPipe with all-to-alls of experts alongside compute."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from evo_libra.arrays import FloatArray, IntArray
from evo_libra.network.catalog.accelerators import accelerator
from evo_libra.validation.source import PublishedRow, PublishedSource, StepClass
from evo_libra.validation.training import BEYOND_SERVER
from evo_libra.validation.training_2026 import NIC_EFFICIENCY, NIC_RATE
from evo_libra.workload.models.decoder import decoder
from evo_libra.workload.models.stacks import stack_of
from evo_libra.workload.plans.placement import ORDER, per_byte
from evo_libra.workload.plans.plans import DUALPIPE, Plans, one_plan
from evo_libra.workload.plans.recomputation import recompute_of
from evo_libra.workload.training.step_time import step_time
from evo_libra.workload.training.training_setup import Setup

_NPU, _LINK, _SERVER = "h800-80gb", "nvlink4-h800", 8

_DAYS, _TOKENS = 3.7, 1e12
"""Days of the cluster for some tokens."""

_SEQUENCE, _BATCH, _DAY = 4096, 15360, 86400.0


def _plan() -> Plans:
    return one_plan(
        pp=16, ep=64, dp=128, micro_batch=1, zero=1, recompute=recompute_of("layernorm+mla_up_proj+moe_act"),
        overlap_dp=True, overlap_pp=True, overlap_ep=True, schedule=DUALPIPE,
    )  # fmt: skip


def _setup() -> Setup:
    npu = accelerator(_NPU)
    model = decoder("deepseek-v3").model_copy(update={"predictors": 1})
    return Setup(
        model, npu, _SEQUENCE, _BATCH, precision="fp8", uneven=True, stack=stack_of("newest", npu.generation),
        bus=npu.bus_constants(_LINK), wire_rate=npu.wire_rate(_LINK),
    )  # fmt: skip


def _cluster(setup: Setup, npus: int) -> tuple[IntArray, FloatArray]:
    ports = setup.wire_rate * setup.accelerator.bus_constants(_LINK).large_share
    return np.array([[_SERVER], [npus // _SERVER]]), np.array([[ports], [NIC_RATE * NIC_EFFICIENCY]])


def _rows(setup: Setup, plan: Plans) -> Iterator[PublishedRow]:
    cluster, order = _cluster(setup, 2048), np.array([[ORDER.index(group)] for group in ORDER])
    routed = setup.decoder.experts
    network = per_byte(*cluster, plan, routed.per_token if routed else 1, outside=BEYOND_SERVER, order=order)
    step = float(step_time(setup, plan)(network)[0])
    days = step * _TOKENS / (_BATCH * _SEQUENCE) / _DAY
    of = StepClass(_NPU, "fp8", "routed", "pipeline")
    yield PublishedRow("deepseek-v3.2048", _DAYS, days, "days for 1T tokens", step=of, year=2024)


def _every_row() -> Iterator[PublishedRow]:
    yield from _rows(_setup(), _plan())


DEEPSEEK = (
    PublishedSource(
        name="deepseek-v3",
        group="training",
        title="DeepSeek-V3 technical report, 2024: 2,048 H800 in fp8, DualPipe with all-to-alls of experts alongside",
        rows=_every_row,
        note="its authors' software with the figures of Megatron on Hopper; a step of 15,360 sequences; one layer that "
        "predicts further tokens; no constant is fitted to it, and its error was known when the last stage got room "
        "for the head",
    ),
)
