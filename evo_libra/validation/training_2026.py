"""Measured training steps of 2024 to 2026, by software, accelerator and precision."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from evo_libra.arrays import GIGA, FloatArray, IntArray
from evo_libra.network.catalog.accelerator import Accelerator
from evo_libra.network.catalog.accelerators import accelerator
from evo_libra.validation.source import Basis, PublishedRow, PublishedSource, published
from evo_libra.validation.training import BEYOND_SERVER
from evo_libra.workload.models.decoder import Decoder
from evo_libra.workload.models.stacks import stack_of
from evo_libra.workload.plans.placement import ORDER, per_byte
from evo_libra.workload.plans.plans import Plans, one_plan
from evo_libra.workload.plans.recomputation import recompute_of
from evo_libra.workload.plans.step_class import DENSE, StepClass, schedule_of
from evo_libra.workload.training.races import PerByte
from evo_libra.workload.training.step_time import step_time
from evo_libra.workload.training.training_setup import Setup

FILE = "training_rows_2026.json"

LINKS = {"h100-80gb": "nvlink4", "b200": "nvlink5", "gb200": "nvlink5"}
"""Load/store links of the accelerators."""

DOMAIN = {"h100-80gb": 8, "b200": 8, "gb200": 64}
"""Accelerators that such links join: servers of 8, and of the 72 of a rack those that powers of two divide."""

NIC_RATE = 50e9
"""B/s of the NIC of each accelerator: InfiniBand NDR, and of torchtitan's Ethernet of 400 Gb/s."""

NIC_EFFICIENCY = 0.85
"""Rate that collectives reach on it, over the wire rate (assumed)."""

YEARS = {"mlperf41": 2024, "mlperf5": 2025, "dgxc": 2025, "titan25": 2025, "titan.": 2024}

OPTIONS = ("tp", "cp", "pp", "vp", "micro_batch", "zero", "sequence_parallel", "overlap_tp", "overlap_pp",
           "overlap_dp")  # fmt: skip


@dataclass(frozen=True)
class MeasuredStep:
    """A measured step of training.

    Attributes
    ----------
    id, source : name, and the file that it was read from.
    setup, plan : what was trained, and its division.
    npus : accelerators in all; `order` : of the groups, the innermost first.
    seconds : of a step.
    memory : bytes of the fullest accelerator, or None.
    """

    id: str
    source: str
    setup: Setup
    plan: Plans
    npus: int
    order: tuple[str, ...]
    seconds: float
    memory: float | None

    @property
    def computed(self) -> float:
        """Seconds of the step as this program computes them."""
        return float(step_time(self.setup, self.plan)(network_of(self))[0])


@cache
def measured_steps() -> tuple[MeasuredStep, ...]:
    """Return all rows of 2024 to 2026."""
    rows = published(FILE)["rows"]
    return tuple(_step_of(dict(zip(rows["columns"], row, strict=True))) for row in rows["rows"])


def _step_of(row: dict[str, Any]) -> MeasuredStep:
    plan = one_plan(
        **{name: row[name] for name in OPTIONS},
        dp=row["npus"] // (row["tp"] * row["cp"] * row["pp"]),
        recompute=recompute_of(row["recompute"]),
    )
    memory = None if row["memory_GB"] is None else row["memory_GB"] * GIGA
    return MeasuredStep(
        id=row["id"], source=row["source"], setup=_setup_of(row), plan=plan, npus=row["npus"],
        order=tuple(row["order"].split("-")), seconds=row["step_s"], memory=memory,
    )  # fmt: skip


def _setup_of(row: dict[str, Any]) -> Setup:
    model = dict(published(FILE)["models"][row["model"]])
    balanced, head_width = model.pop("balanced_head"), model.pop("head_dim")
    npu = npu_of(row["npu"])
    decoder = Decoder(
        **model, name=row["model"], head_width=head_width, sequence=row["sequence"], experts=None, latent=None,
        source=row["source"],
    )  # fmt: skip
    return Setup(
        decoder=decoder, accelerator=npu, sequence=row["sequence"], global_batch=row["global_batch"],
        precision=row["precision"], gradient_bytes=row["gradient_bytes"], balanced=balanced,
        stack=stack_of(row["software"], npu.generation), bus=npu.bus_constants(_link(npu)),
        wire_rate=npu.wire_rate(_link(npu)),
    )  # fmt: skip


def npu_of(name: str) -> Accelerator:
    """Return an accelerator of the catalogue, or one of the rows' own boards."""
    boards = published(FILE)["npus"]
    if name not in boards:
        return accelerator(name)
    board = boards[name]
    return replace(
        accelerator(board["base"]), name=name, memory_capacity=board["capacity_GB"] * GIGA,
        memory_bandwidth=board["bandwidth_GBps"] * GIGA,
    )  # fmt: skip


def _base(npu: Accelerator) -> str:
    board = published(FILE)["npus"].get(npu.name)
    return npu.name if board is None else str(board["base"])


def _link(npu: Accelerator) -> str:
    return LINKS[_base(npu)]


def cluster_of(npu: Accelerator, npus: int) -> tuple[IntArray, FloatArray]:
    """Return the (2, 1) sizes and B/s of domains of load/store links on a network of NICs."""
    inside, link = min(DOMAIN[_base(npu)], npus), _link(npu)
    ports = npu.wire_rate(link) * npu.bus_constants(link).large_share
    return np.array([[inside], [npus // inside]]), np.array([[ports], [NIC_RATE * NIC_EFFICIENCY]])


def network_of(step: MeasuredStep) -> PerByte:
    """Return the seconds of a byte of each group of a row."""
    order = np.array([[ORDER.index(group)] for group in step.order])
    cluster = cluster_of(step.setup.accelerator, step.npus)
    return per_byte(*cluster, step.plan, outside=BEYOND_SERVER, order=order)


def steps_of(*starts: str, without: Sequence[str] = ()) -> tuple[MeasuredStep, ...]:
    """Return the rows whose names start so, but for some."""
    return tuple(step for step in measured_steps() if step.id.startswith(starts) and step.id not in without)


def _rows(steps: Sequence[MeasuredStep]) -> Iterator[PublishedRow]:
    for step in steps:
        of, year, model = class_of(step), year_of(step), step.setup.decoder.name
        yield PublishedRow(step.id, step.seconds, step.computed, "s", step=of, year=year, model=model)


def class_of(step: MeasuredStep) -> StepClass:
    """Return the class of a step."""
    return StepClass(_base(step.setup.accelerator), step.setup.precision, DENSE, schedule_of(step.plan))


def year_of(step: MeasuredStep) -> int:
    """Return the year of a step's measurement."""
    return next(year for start, year in YEARS.items() if step.id.startswith(start))


def _gains() -> Iterator[PublishedRow]:
    """Yield how much faster asynchronous tensor parallelism is than the same plan without it."""
    for plain in steps_of("titan25"):
        if plain.id.endswith(".plain"):
            (overlapped,) = steps_of(plain.id.replace(".plain", ".async"))
            computed = plain.computed / overlapped.computed
            yield PublishedRow(overlapped.id, plain.seconds / overlapped.seconds, computed, "x")


PAIRS = (
    ("GB200 over H100, 405B", "mlperf50.405b.GB200.256.tyche", "mlperf50.405b.H100.512.eos-dfw"),
    *((f"fp8 over bf16, {model} on {npus} H100", f"dgxc.{model}.h100.fp8.{npus}", f"dgxc.{model}.h100.bf16.{npus}")
      for model, sizes in (("70b", (64, 128, 256, 512, 1024, 2048)), ("405b", (512, 1024, 2048))) for npus in sizes),
    *((f"fp8 over bf16, 8b on {npus} H100, FSDP", f"titan.8b.{npus}.fp8", f"titan.8b.{npus}.bf16")
      for npus in (8, 128)),
)  # fmt: skip
"""Pairs of rows that differ in their accelerator or precision, and in the plan that each was run with."""


def _ratios() -> Iterator[PublishedRow]:
    """Yield the throughput of an accelerator in the first row of a pair over that in the second one."""
    by_name = {step.id: step for step in measured_steps()}
    for label, first, second in PAIRS:
        measured, computed = (
            _throughput(by_name[first], getattr(by_name[first], name))
            / _throughput(by_name[second], getattr(by_name[second], name))
            for name in ("seconds", "computed")
        )
        yield PublishedRow(label, measured, computed, "x")


SERIES = ("mlperf41.gpt3.h100", "dgxc.405b.h100.bf16", "dgxc.405b.h100.fp8", "dgxc.70b.h100.bf16",
          "dgxc.70b.h100.fp8", "dgxc.340b.gb200.bf16.weak", "dgxc.340b.gb200.bf16.strong")  # fmt: skip
"""Rows of one model, accelerator and precision on more and more NPUs."""


def _throughput(step: MeasuredStep, seconds: float) -> float:
    return step.setup.global_batch / (step.npus * seconds)


def _scaling() -> Iterator[PublishedRow]:
    """Yield the tokens per second and NPU of the rows of a series over those of its first row."""
    for series in SERIES:
        first, *rest = steps_of(f"{series}.")
        for step in rest:
            measured, computed = (
                _throughput(step, getattr(step, name)) / _throughput(first, getattr(first, name))
                for name in ("seconds", "computed")
            )
            yield PublishedRow(step.id, measured, computed, "of the first")


ONE_MICROBATCH = ("mlperf51.8b.B200.32.uf", "mlperf51.8b.B200.128.uf")

LONG = ("titan.8b.8.fp8.s131072", "titan.8b.8.fp8.s262144")
"""Rows with a context parallel group of more than 2."""


def _source(
    name: str, title: str, steps: Sequence[str], without: Sequence[str] = (), fitted: str = ""
) -> PublishedSource:
    """Return a source of some rows; `fitted` names the constants that were fitted to them."""
    return PublishedSource(
        name, "training", title, rows=lambda: _rows(steps_of(*steps, without=without)),
        note=f"fitted to these rows: {fitted}" if fitted else "", basis=Basis.FITTED if fitted else Basis.UNSEEN,
    )  # fmt: skip


_SHARE = "share of overlapped tensor traffic on Blackwell"
_TORCH = "PyTorch's factors on compute"

TRAINING_2026 = (
    _source(
        "megatron-h100-fp8",
        "MLPerf 4.1 and 5.0, DGX Cloud, 2024-25: pipelines of GPT-3, 70B and 405B on H100 in fp8",
        ("mlperf50.405b.H100", "mlperf41.gpt3", "dgxc.70b.h100.fp8", "dgxc.405b.h100.fp8"),
        fitted="bytes of fused casts, derived, and chosen among several that were tried",
    ),
    _source(
        "megatron-h100-bf16",
        "DGX Cloud, 2025: pipelines of 70B and 405B on H100 in bf16",
        ("dgxc.70b.h100.bf16", "dgxc.405b.h100.bf16"),
    ),
    _source(
        "megatron-gb200-fp8",
        "MLPerf 5.0, 2025: a pipeline of 405B on GB200 in fp8",
        ("mlperf50.405b.GB200",),
        fitted=_SHARE,
    ),
    _source(
        "megatron-gb200-bf16",
        "DGX Cloud, 2025: pipelines of 340B on GB200 in bf16",
        ("dgxc.340b",),
        fitted=_SHARE,
    ),
    _source(
        "one-microbatch-b200",
        "MLPerf 5.1, 2025: 8B on B200 in fp8, one microbatch in a step",
        ONE_MICROBATCH,
        fitted="share of gradients that Megatron leaves exposed",
    ),
    _source("one-server-b200", "MLPerf 5.1, 2025: 8B on one server of B200 in fp8", ("mlperf51.8b.B200.8.",)),
    _source(
        "torchtitan-h100",
        "torchtitan, 2024: 8B on H100 with FSDP, bf16 and fp8, cp 1 and 2",
        ("titan.",),
        LONG,
        fitted=f"{_TORCH}, share of gradients that it leaves exposed",
    ),
    _source(
        "torchtitan-h100-long",
        "torchtitan, 2024: 8B on H100 with FSDP and cp 4 and 8 in fp8",
        LONG,
        fitted="rate of its attention among more than two NPUs",
    ),
    _source(
        "torchtitan-h100-tp",
        "torchtitan, 2025: 8B and 70B on H100 with FSDP and tp 8 in bf16",
        ("titan25.",),
        fitted=_TORCH,
    ),
    PublishedSource(
        name="asynchronous-tp",
        group="ratios",
        title="torchtitan, 2025: gain of asynchronous tensor parallelism at tp 8",
        rows=_gains,
        note="fitted to these rows: share of overlapped tensor traffic in PyTorch",
        basis=Basis.FITTED,
    ),
    PublishedSource(
        name="accelerators-and-precisions",
        group="ratios",
        title="Throughput of an accelerator over that of another one or in another precision, 2024-25",
        rows=_ratios,
        note=f"fitted to these rows: {_SHARE}, {_TORCH}, both chosen by hand",
        basis=Basis.FITTED,
    ),
    PublishedSource(
        name="scaling",
        group="scaling slopes",
        title="Throughput of an accelerator on more of them, over that of the first row of the series, 2024-25",
        rows=_scaling,
        note="13 of the 22 rows are of series that constants of their software were fitted to",
        basis=Basis.FITTED,
    ),
)
