"""Published training steps: Korthikanti et al. 2022, Narayanan et al. 2021, Llama 3, MosaicML's benchmarks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from evo_libra.arrays import FloatArray, IntArray
from evo_libra.network.catalog.accelerator import Accelerator
from evo_libra.network.catalog.accelerators import accelerator
from evo_libra.validation.source import Basis, PublishedRow, PublishedSource, published
from evo_libra.workload.models.decoder import Decoder
from evo_libra.workload.models.stacks import Stack
from evo_libra.workload.models.stacks import stack_of as software_of
from evo_libra.workload.plans.placement import per_byte
from evo_libra.workload.plans.plans import Plans, one_plan
from evo_libra.workload.plans.recomputation import recompute_of
from evo_libra.workload.plans.step_class import DENSE, StepClass, schedule_of
from evo_libra.workload.training.races import DATA, PerByte, StepTime
from evo_libra.workload.training.step_time import step_time
from evo_libra.workload.training.training_setup import Setup

SERVER = 8
"""Accelerators of a server in all rows."""

SERVER_LINKS = {"a100-80gb": "nvlink3", "h100-80gb": "nvlink4"}

BEYOND_SERVER = np.array([[False], [True]])
"""Dimensions of such a cluster that lie beyond the links of a server."""

NIC_RATE = {"a100-80gb": 25e9, "h100-80gb": 50e9}
"""B/s of the InfiniBand port of each accelerator."""

NIC_EFFICIENCY = 0.85
"""Rate that collectives reach on InfiniBand, over the wire rate (assumed)."""

YEARS = {"korth": 2022, "sc21": 2021, "llama3": 2024, "mpt": 2023}

SOFTWARE = {"korth": "megatron-2022", "sc21.t1": "megatron-2021", "sc21.t2.ptd": "megatron-2021",
            "sc21.t2.z3": "deepspeed-2021", "llama3": "llama-3", "mpt": "llm-foundry-2023"}  # fmt: skip

TrainingRow = Mapping[str, Any]


def stack_of(row: TrainingRow) -> Stack:
    """Return the software that a row was measured with."""
    name = next(name for start, name in SOFTWARE.items() if row["id"].startswith(start))
    return software_of(name, accelerator(row["npu"]).generation)


def setup_of(row: TrainingRow) -> Setup:
    """Return what a row trains, and on what."""
    model = Decoder(
        name=row["id"], layers=row["layers"], hidden=row["hidden"], heads=row["heads"], kv_heads=row["kv_heads"],
        head_width=row["hidden"] // row["heads"], feed_forward=row["feed_forward"], gated=row["gated"],
        vocabulary=row["vocabulary"], sequence=row["sequence"], experts=None, latent=None, source="",
        tied=not row["gated"],
    )  # fmt: skip
    npu = accelerator(row["npu"])
    return Setup(
        model,
        npu,
        row["sequence"],
        row["global_batch"],
        row["precision"],
        gradient_bytes=row["gradient_bytes"],
        fused_attention=row["attention"] == "fused",
        balanced=bool(row.get("balanced_head")),
        stack=stack_of(row),
        bus=npu.bus_constants(SERVER_LINKS[npu.name]),
        wire_rate=npu.wire_rate(SERVER_LINKS[npu.name]),
        # MosaicML's is fused in place (its FlashAttention's; assumed).
        loss="fused" if row["id"].startswith("mpt") else None,
    )


def plan_of(row: TrainingRow) -> Plans:
    """Return the parallelisation of a row."""
    degrees = {name: row[name] for name in ("tp", "cp", "pp", "vp", "micro_batch", "zero", "sequence_parallel")}
    overlap = {f"overlap_{name}": on for name, on in row["overlap"].items()}
    recompute = recompute_of(row["recompute"])
    replicas = row["npus"] // (row["tp"] * row["cp"] * row["pp"])
    return one_plan(**degrees, **overlap, dp=replicas, recompute=recompute)


def cluster_of(npu: Accelerator, npus: int) -> tuple[IntArray, FloatArray]:
    """Return the (2, 1) sizes and B/s of servers of eight on InfiniBand.

    Of a server's links the bandwidth is that which NCCL's ring reaches: the bytes that go through the ports.
    """
    inside = min(SERVER, npus)
    link = SERVER_LINKS[npu.name]
    ports = npu.wire_rate(link) * npu.bus_constants(link).large_share
    return np.array([[inside], [max(npus // inside, 1)]]), np.array([[ports], [NIC_RATE[npu.name] * NIC_EFFICIENCY]])


@cache
def _traffic_of(npu: str, npus: int, plan: tuple[int, ...]) -> PerByte:
    tp, cp, pp, dp = plan
    return per_byte(*cluster_of(accelerator(npu), npus), one_plan(tp=tp, cp=cp, pp=pp, dp=dp), outside=BEYOND_SERVER)


def traffic_of(row: TrainingRow, stack: Stack) -> PerByte:
    """Return the seconds of a byte of each group of a row."""
    degrees = (row["tp"], row["cp"], row["pp"])
    replicas = row["npus"] // int(np.prod(degrees))
    found = _traffic_of(row["npu"], row["npus"], (*degrees, replicas))
    if stack.ring_efficiency is None:
        return found
    # One ring through one NIC of each server.
    ring = (replicas - 1) / replicas / (NIC_RATE[row["npu"]] * stack.ring_efficiency)
    return PerByte({
        key: np.full(1, ring) if key[0] == DATA else seconds for key, seconds in found.seconds_per_byte.items()
    })  # fmt: skip


def step_of(row: TrainingRow, setup: Setup) -> StepTime:
    """Return the time of a row's step."""
    return step_time(setup, plan_of(row))


def seconds_of(row: TrainingRow, setup: Setup) -> float:
    """Return the seconds of a row's step."""
    return float(step_of(row, setup)(traffic_of(row, setup.stack))[0])


def training_rows(start: str = "", kind: str = "rows") -> list[TrainingRow]:
    """Return the public rows whose name starts so; those of one shape are a table with its columns once."""
    found = published("training_rows.json")[kind]
    if not isinstance(found, list):
        found = [dict(zip(found["columns"], row, strict=True)) for row in found["rows"]]
    return [row for row in found if row["id"].startswith(start)]


def _rows(start: str, kind: str = "rows") -> Iterator[PublishedRow]:
    for row in training_rows(start, kind):
        year = next(year for start, year in YEARS.items() if row["id"].startswith(start))
        step, seconds = StepClass(row["npu"], row["precision"], DENSE, schedule_of(plan_of(row))), row["step_s"]
        computed, model = seconds_of(row, setup_of(row)), f"{row['layers']} layers of {row['hidden']}"
        yield PublishedRow(row["id"], seconds, computed, "s", step=step, year=year, model=model)


def plain_rows() -> list[TrainingRow]:
    """Return the 27 rows without ZeRO's stage 3."""
    return [row for row in training_rows() if row["zero"] != 3]  # noqa: PLR2004 - ZeRO's stage


def without_factor(setup: Setup) -> Setup:
    """Return a setup whose software has no factor of its own."""
    return replace(setup, stack=replace(setup.stack, compute=1.0))


def _two_constants() -> Iterator[PublishedRow]:
    for row in plain_rows():
        yield PublishedRow(row["id"], row["step_s"], seconds_of(row, without_factor(setup_of(row))), "s")


TRAINING = (
    PublishedSource(
        name="two-constants",
        group="training",
        title="27 training steps with the two fitted constants alone",
        rows=_two_constants,
        anchor="Calculon 11.3 % mean on the 24 of them on A100",
        note="factors of software are 1",
        basis=Basis.FITTED,
    ),
    PublishedSource(
        "korthikanti",
        "training",
        "Korthikanti et al. 2022, table 5: time of an iteration",
        lambda: _rows("korth"),
        "Calculon 3.65 % mean, 8.9 % max; Kundu et al. 4.4, 6.9",
        basis=Basis.FITTED,
    ),
    PublishedSource(
        "megatron-table-1",
        "training",
        "Narayanan et al. 2021, table 1: 1.7B to 1T",
        lambda: _rows("sc21.t1"),
        "Calculon 18.1 % mean, 56 % max",
        basis=Basis.FITTED,
    ),
    PublishedSource(
        "megatron-table-2",
        "training",
        "Narayanan et al. 2021, table 2: pipelines",
        lambda: _rows("sc21.t2.ptd"),
        "Calculon 10.3 % mean, 12.5 % max",
        basis=Basis.FITTED,
    ),
    PublishedSource(
        name="zero-3",
        group="training",
        title="Narayanan et al. 2021, table 2: DeepSpeed's ZeRO-3",
        rows=lambda: _rows("sc21.t2.z3"),
        note="two constants of that software",
        basis=Basis.FITTED,
    ),
    PublishedSource("llama-3", "training", "Llama 3 405B, table 4", lambda: _rows("llama3"), basis=Basis.FITTED),
    PublishedSource(
        name="llm-foundry",
        group="training",
        title="MosaicML llm-foundry, training benchmarks",
        rows=lambda: _rows("mpt", "llm_foundry"),
        note="software of 2023",
    ),
)
