"""Published steps of MaxText on slices of TPUs, whose plans are not published: the best plan stands for them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from evo_libra.problem.file.registry import load_problem
from evo_libra.problem.problem import Problem
from evo_libra.searching.generations import search
from evo_libra.validation.source import PublishedRow, PublishedSource
from evo_libra.workload.plans.step_class import DENSE, FSDP, ROUTED, StepClass


@dataclass(frozen=True)
class SliceStep:
    """A published step.

    Attributes
    ----------
    npu, npus : the TPU and the chips of the slice; `precision` : of products.
    experts : degrees of expert parallelism that may be best; empty of a dense model.
    seconds : of the step; `rate` : tokens a second and chip where these are published in its place.
    """

    year: int
    npu: str
    npus: int
    model: str
    sequence: int
    global_batch: int
    precision: str
    experts: tuple[int, ...] = ()
    seconds: float = 0.0
    rate: float = 0.0

    @property
    def name(self) -> str:
        """Its name."""
        return f"{self.npu}.{self.npus}.{self.model}.{self.precision}"

    @property
    def published(self) -> float:
        """The published seconds of a step."""
        return self.seconds or self.global_batch * self.sequence / self.npus / self.rate


IRONWOOD, TIERS = 2026, 2025
"""Years of AI-Hypercomputer/tpu-recipes, Ironwood, and of AI-Hypercomputer/maxtext, models by tiers."""

_ROWS = (
    (IRONWOOD, "tpu7x", 64, "llama-3.1-70b", 8192, 256, "bf16", (), 12.20, 0.0),
    (IRONWOOD, "tpu7x", 256, "llama-3.1-405b", 8192, 1536, "bf16", (), 98.34, 0.0),
    (IRONWOOD, "tpu7x", 256, "deepseek-v3", 4096, 4096, "bf16", (8, 16), 26.79, 0.0),
    (IRONWOOD, "tpu7x", 256, "deepseek-v3", 4096, 4096, "fp8", (8, 16), 22.08, 0.0),
    (IRONWOOD, "tpu7x", 256, "qwen3-235b-a22b", 4096, 8192, "bf16", (8, 16), 30.87, 0.0),
    (TIERS, "tpu-v6e", 256, "llama-3.1-8b", 8192, 1024, "bf16", (), 0.0, 7207),
    (TIERS, "tpu-v6e", 256, "llama-3.1-70b", 8192, 256, "bf16", (), 0.0, 960),
    (TIERS, "tpu-v6e", 256, "mixtral-8x7b", 4096, 2048, "bf16", (1, 8), 0.0, 3899),
    (TIERS, "tpu-v5p", 256, "mixtral-8x7b", 4096, 2048, "bf16", (1, 8), 0.0, 2909),
    (TIERS, "tpu-v5p", 512, "llama-2-70b", 4096, 2048, "bf16", (), 0.0, 692),
)
"""Values of the fields of steps, in order."""

STEPS = tuple(SliceStep(*row) for row in _ROWS)

_USD_PER_HOUR = 1.0
"""Rent of a chip, which times do not depend on."""


def best_seconds(step: SliceStep) -> float:
    """Return the seconds of a step under the best plan that shards the weights."""
    problem = load_problem(_data_of(step))
    assert isinstance(problem, Problem), "it is of a file"  # noqa: S101 - internal error
    return float(search(problem).frame["time_ms"].to_numpy().min()) / 1e3


def _data_of(step: SliceStep) -> dict[str, Any]:
    training = {
        "sequence": step.sequence, "global_batch": step.global_batch, "micro_batch": [1, 2, 4, 8],
        "precision": step.precision, "zero": [3], "recompute": ["none", "selective-op", "full"],
    }  # fmt: skip
    plans = {"tp": [1, 2, 4], "pp": 1} | ({"ep": list(step.experts)} if step.experts else {})
    workload = {"name": step.name, "model": step.model, "training": training, "parallelism": plans}
    system = f"{step.npu}-slice"
    return {
        "version": 1, "name": step.name, "question": "order", "systems": [system], "npus": step.npus,
        "workloads": [workload], "objectives": ["time"], "rent": {system: _USD_PER_HOUR},
        "limits": {"order": ["buy", "rent"]}, "tco": {"years": 1, "usd_per_kWh": 0.0, "pue": 1.0},
        "search": {"evaluations": 1_000_000},
    }  # fmt: skip


def _rows() -> Iterator[PublishedRow]:
    for step in STEPS:
        of = StepClass(step.npu, step.precision, ROUTED if step.experts else DENSE, FSDP)
        yield PublishedRow(
            step.name, step.published, best_seconds(step), "s", step=of, year=step.year, model=step.model
        )


SLICES = (
    PublishedSource(
        name="maxtext",
        group="training",
        title="MaxText, 2025-26: dense and routed models on slices of TPU v5p, v6e and TPU7x",
        rows=_rows,
        note="the tables have no plans; the best plan stands for them",
    ),
)
