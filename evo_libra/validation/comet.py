"""COMET (arXiv 2211.16648): parallelisation against expansion memory, of a transformer with a trillion weights.

Its figures and tables could not be had, only the abstract, whose gains are the largest of a sweep: "up to". So the
sweep here is one of this program, with its inputs stated: tensor parallel against data parallel groups on a fixed
network, with expansion memory of several bandwidths and without.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product

from evo_libra.network.catalog.accelerators import accelerator
from evo_libra.problem.file.registry import load_problem
from evo_libra.problem.problem import Problem
from evo_libra.validation.source import PublishedRow, PublishedSource
from evo_libra.workload.training.training_step import TrainingStep

NPU, NPUS, FABRIC = "a100-80gb", 1024, "SW(8)@node:300_SW(128)@pod:31.25"
"""Those of the shipped problem `comet-1t`."""
LARGE_GB = 4096
"""GB of expansion memory of an NPU that any plan of the sweep fits."""
BANDWIDTHS = (250, 500, 1000, 2000)
"""GB/s of expansion memory."""
DEGREES = (8, 16, 32, 64, 128)
"""Tensor parallel degrees; the data parallel group takes the rest."""
GAIN, AT = 1.4, 1000
"""Largest gain of memory expansion in the abstract, and GB/s of the expansion in its row here."""
DIFFERENCE = 7.7
"""Largest difference between configurations of clusters in the abstract."""
BOXES = {"a100-80gb": 300, "h100-80gb": 450}
"""GB/s inside boxes of 8 of each accelerator of the clusters (data sheets, 2020 and 2022)."""
INTER_GBPS, CAPACITIES, EXPANSION_GBPS = (12.5, 31.25, 50, 100), (0, 64, 128, 256, 512), 1000
"""GB/s between boxes, GB of memory next to each NPU, and its GB/s, of the sweep of `experiments/comet.yaml`."""
_GIGA = 1e9


@dataclass(frozen=True)
class Point:
    """A plan of the sweep.

    Attributes
    ----------
    tp, bandwidth : its tensor parallel degree, and GB/s of the expansion memory.
    seconds : of a step, where each class of memory is read from where it lies.
    serial : of a step as COMET counts it: all memory has one bandwidth, by how much of it lies where.
    footprint : GB of an NPU, wherever they lie; `fits` : whether all of them lie on the NPU.
    """

    tp: int
    bandwidth: int
    seconds: float
    serial: float
    footprint: float
    fits: bool


@cache
def sweep() -> tuple[Point, ...]:
    """Return every plan with every bandwidth of the expansion."""
    return tuple(_point(tp, bandwidth) for tp in DEGREES for bandwidth in BANDWIDTHS)


def gain(bandwidth: int, *, serial: bool = False) -> float:
    """Return how much faster the fastest plan of the sweep is than the fastest one that fits the NPUs alone."""
    alone = min(point.seconds for point in sweep() if point.fits)
    mine = [point for point in sweep() if point.bandwidth == bandwidth]
    return alone / min(point.serial if serial else point.seconds for point in mine)


def problem_of(tp: int, bandwidth: float, memory_bandwidth: float | None = None) -> Problem:
    """Return the shipped problem with one plan: one sequence in a microbatch.

    Parameters
    ----------
    bandwidth : GB/s of the expansion memory.
    memory_bandwidth : GB/s of the NPU's own memory; that of its data sheet when left out.
    """
    changes = [
        f"memory.expansion.capacity_GB={LARGE_GB}", f"memory.expansion.bandwidth_GBps={bandwidth}",
        f"workloads[0].parallelism.tp={tp}", "workloads[0].training.micro_batch=1",
    ]  # fmt: skip
    if memory_bandwidth is not None:
        own = {"base": NPU, "memory": {"bandwidth_GBps": memory_bandwidth}}
        changes += [f"npu={json.dumps({**own, 'source': 'COMET, effective bandwidth, 2022'})}"]
    return _problem(changes)


def _problem(changes: Sequence[str]) -> Problem:
    found = load_problem("comet-1t", list(changes))
    assert isinstance(found, Problem)  # noqa: S101 - of a file
    return found


@cache
def fastest(npu: str = NPU, between: float = 31.25, capacity: float = 0) -> float:
    """Return the seconds of the fastest step on a cluster, over the tensor parallel groups and microbatches."""
    shape = f"SW(8)@node:{BOXES[npu]}_SW(128)@pod:{between:g}"
    problem = _problem([f"npu={npu}", f"memory.expansion.capacity_GB={capacity}", f"fabric.shape={shape}"])
    table = problem.time.tables[0]
    designs = [f"{shape} | {table.text(plan)}" for plan in range(len(table))]
    found = problem.evaluate(designs)
    return float(found.objectives[0, found.violation <= 0.0].min())


def difference() -> float:
    """Return how much faster the fastest cluster of the sweep is than the slowest one.

    More memory never slows the fastest plan, so that only the ends of its capacities count.
    """
    clusters = product(BOXES, INTER_GBPS, (CAPACITIES[0], CAPACITIES[-1]))
    seconds = [fastest(*cluster) for cluster in clusters]
    return max(seconds) / min(seconds)


def _point(tp: int, bandwidth: int) -> Point:
    problem = problem_of(tp, bandwidth)
    step = problem.time.loops[0].workload
    assert isinstance(step, TrainingStep)  # noqa: S101 - it leaves nothing open
    away, own = sum(step.expanded.values()), accelerator(NPU).memory_bandwidth
    share = away / (step.total_memory + away)
    effective = 1.0 / ((1.0 - share) / own + share / (bandwidth * _GIGA))
    endless = problem_of(tp, 1e9, effective / _GIGA)
    seconds, serial = (float(each.evaluate(FABRIC).objectives[0, 0]) for each in (problem, endless))
    return Point(tp, bandwidth, seconds, serial, (step.total_memory + away) / _GIGA, fits=not away)


def _gains() -> Iterator[PublishedRow]:
    yield PublishedRow(f"largest gain at {AT:,} GB/s, each class over its own tier", GAIN, gain(AT), "x")
    yield PublishedRow(f"largest gain at {AT:,} GB/s, one effective bandwidth", GAIN, gain(AT, serial=True), "x")
    several = fastest() / fastest(capacity=CAPACITIES[-1])
    yield PublishedRow(f"largest gain at {AT:,} GB/s, up to 8 sequences in a microbatch", GAIN, several, "x")


def _clusters() -> Iterator[PublishedRow]:
    yield PublishedRow("largest difference between clusters", DIFFERENCE, difference(), "x")


COMET = (
    PublishedSource(
        "comet-expansion", "comet", "COMET (arXiv 2211.16648), abstract: what memory expansion gains at most", _gains,
        note="an up-to figure of its abstract next to the largest of a sweep of this program; its figures and tables "
        "were not available. Stage 2 scatters gradients with each microbatch here, so 1.4 lies between one "
        "sequence in it and up to 8; scattered once a step, one sequence gives 1.41",
    ),
    PublishedSource(
        "comet-clusters", "comet", "COMET (arXiv 2211.16648), abstract: how far clusters are apart at most", _clusters,
        note="an up-to figure of its abstract next to the largest ratio of experiments/comet.yaml. The paper's "
        "clusters were not available; assumed are boxes of 8 A100 or H100, 12.5 to 100 GB/s between them, and up "
        "to 512 GB next to each",
    ),
)  # fmt: skip
"""COMET's figures of expansion memory and of clusters."""
