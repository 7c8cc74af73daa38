"""Published steps of MaxText on slices of TPUs, whose plans are not published: the best plan stands for them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from evo_libra.problem.file.registry import load_problem
from evo_libra.searching.generations import search
from evo_libra.validation.source import PublishedRow, PublishedSource, published
from evo_libra.workload.plans.step_class import DENSE, FSDP, ROUTED, StepClass

SliceRow = Mapping[str, Any]

_USD_PER_HOUR = 1.0
"""Rent of an NPU, which times do not depend on."""


def best_step(row: SliceRow) -> float:
    """Return the seconds of a row's step under the best plan that shards the weights."""
    return float(search(load_problem(_data_of(row))).frame["time_ms"].min()) / 1e3  # type: ignore[arg-type]


def _data_of(row: SliceRow) -> dict[str, Any]:
    training = {
        "sequence": row["sequence"], "global_batch": row["global_batch"], "micro_batch": [1, 2, 4, 8],
        "precision": row["precision"], "zero": [3], "recompute": ["none", "selective-op", "full"],
    }  # fmt: skip
    plans = {"tp": [1, 2, 4], "pp": 1} | ({} if row["experts"] is None else {"ep": row["experts"]})
    workload = {"name": row["id"], "model": row["model"], "training": training, "parallelism": plans}
    return {
        "version": 1, "name": row["id"], "question": "order", "systems": [row["system"]], "npus": row["npus"],
        "workloads": [workload], "objectives": ["time"], "rent": {row["system"]: _USD_PER_HOUR},
        "limits": {"order": ["buy", "rent"]}, "tco": {"years": 1, "usd_per_kWh": 0.0, "pue": 1.0},
        "search": {"evaluations": 1_000_000},
    }  # fmt: skip


def _seconds_of(row: SliceRow) -> float:
    """Return the published seconds of a step."""
    if "step_s" in row:
        return float(row["step_s"])
    return float(row["global_batch"] * row["sequence"] / row["npus"] / row["tokens_per_s_per_npu"])


def _rows() -> Iterator[PublishedRow]:
    for row in published("maxtext_rows.json")["rows"]:
        of = StepClass(row["npu"], row["precision"], DENSE if row["experts"] is None else ROUTED, FSDP)
        yield PublishedRow(
            row["id"], _seconds_of(row), best_step(row), "s", step=of, year=row["year"], model=row["model"]
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
