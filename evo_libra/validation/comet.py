"""COMET (arXiv 2211.16648): parallelisation against expansion memory, of a transformer with a trillion weights.

Its figures and tables could not be had, only the abstract, whose gains are the largest of a sweep: "up to". So the
sweep here is one of this program, with its inputs stated: tensor parallel against data parallel groups on a fixed
network, with expansion memory of several bandwidths and without.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from evo_libra.network.catalog.accelerators import accelerator
from evo_libra.problem.file.registry import load_problem
from evo_libra.problem.problem import Problem
from evo_libra.validation.source import PublishedRow, PublishedSource
from evo_libra.workload.training.training_step import TrainingStep

NPUS, FABRIC, NPU = 1024, "SW(8)@node:300_SW(128)@pod:31.25", "a100-80gb"
MODEL = {
    "kind": "decoder", "layers": 128, "hidden": 25600, "heads": 128, "feed_forward": 102400, "gated": False,
    "vocabulary": 51200, "source": "a transformer of a trillion weights, as of Narayanan et al. (SC21), with 128 heads",
}  # fmt: skip
"""128 heads, so that the degrees of the sweep divide them."""
LARGE_GB = 4096
"""GB of expansion memory of an NPU that any plan of the sweep fits."""
BANDWIDTHS = (250, 500, 1000, 2000)
"""GB/s of expansion memory."""
DEGREES = (8, 16, 32, 64, 128)
"""Tensor parallel degrees; the data parallel group takes the rest."""
GAIN, AT = 1.4, 1000
"""Largest gain of memory expansion in the abstract, and GB/s of the expansion in its row here."""
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
    """Return the problem of one plan: ZeRO's stage 2, one sequence in a microbatch, 2,048 in a step.

    Parameters
    ----------
    bandwidth : GB/s of the expansion memory.
    memory_bandwidth : GB/s of the NPU's own memory; that of its data sheet when left out.
    """
    own = {"base": NPU, "memory": {"bandwidth_GBps": memory_bandwidth}, "source": "COMET's effective bandwidth, 2022"}
    found = load_problem({
        "version": 1, "name": "comet", "npus": NPUS, "npu": NPU if memory_bandwidth is None else own,
        "objectives": ["time"],
        "memory": {"expansion": {"capacity_GB": LARGE_GB, "bandwidth_GBps": bandwidth}},
        "fabric": {"catalog": "libra", "shape": "SW(8)@node_SW(128)@pod"},
        "workloads": [{
            "name": "transformer-1t", "generator": MODEL, "parallelism": {"tp": tp},
            # The paper's groups leave their servers.
            "training": {"sequence": 2048, "global_batch": 2048, "zero": 2, "stack": "any", "tp_domain": "any"},
        }],
    })  # fmt: skip
    assert isinstance(found, Problem)  # noqa: S101 - of a file
    return found


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


def _rows() -> Iterator[PublishedRow]:
    yield PublishedRow(f"largest gain at {AT:,} GB/s, each class over its own tier", GAIN, gain(AT), "x")
    yield PublishedRow(f"largest gain at {AT:,} GB/s, one effective bandwidth", GAIN, gain(AT, serial=True), "x")


COMET = (
    PublishedSource(
        "comet-expansion", "comet", "COMET (arXiv 2211.16648), abstract: what memory expansion gains at most", _rows,
        note="an up-to figure of its abstract next to the largest of a sweep of this program; its figures and tables "
        "were not available. Stage 2 scatters gradients with each microbatch here; once a step, the sweep gives 1.41",
    ),
)  # fmt: skip
"""COMET's figures of expansion memory."""
