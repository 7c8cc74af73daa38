"""Congestion control of RoCE: the closed form next to a fluid simulation of the published laws, and training steps.

The study (HOTI 2022, arXiv 2207.10898) is known by its abstract: schemes have little impact on training. No figures of
it were read, so that what stands for published factors are those of `evo_libra.validation.roce.rows`.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from evo_libra.explain.explain import explain
from evo_libra.network.transport import APPROXIMATION, TRANSPORTS
from evo_libra.problem.file.registry import load_problem
from evo_libra.problem.problem import Problem
from evo_libra.validation.source import PublishedRow, PublishedSource, published

STUDY = "roce-study"
"""The problem of three training steps on the study's cluster: 128 NPUs at 200 Gb/s, 8 leaves and 8 spines, 2:1."""

Ratios = dict[str, dict[str, float]]
"""Times over those under PFC, by workload and transport."""


def simulated() -> dict[str, dict[str, dict[str, float]]]:
    """Return the simulated bandwidth over that of PFC, by the MB of an all-reduce, its algorithm and the transport.

    `experiments/roce_transport.py` makes the figures.
    """
    found: dict[str, dict[str, dict[str, float]]] = published("roce_fluid.json")["factors_by_MB"]
    return found


@cache
def study() -> Problem:
    """Return the problem of the study."""
    problem = load_problem(STUDY)
    assert isinstance(problem, Problem)  # noqa: S101 - the file is one
    return problem


def compute_seconds() -> dict[str, float]:
    """Return the s of compute of a step, by workload."""
    return {loop.workload.name: loop.workload.compute for loop in study().time.loops}


def closed_steps() -> Ratios:
    """Return the time of a step by the closed form over that under PFC."""
    problem, times = study(), dict[str, dict[str, float]]()
    for name in TRANSPORTS:
        for workload in explain(problem, problem.read(f"CL2(128)@roce-200g.{name}:25"))["workloads"]:
            times.setdefault(workload["name"], {})[name] = workload["time_ms"]
    return {workload: _over_pfc(row) for workload, row in times.items()}


def fluid_steps(algorithm: str) -> Ratios:
    """Return the time of a step by the fluid over that under PFC, where all-reduces run an algorithm.

    `experiments/roce_transport.py` simulates the communication; nothing overlaps with it, as in the problem.
    """
    sent: Ratios = published("roce_fluid.json")["communication_ms"][algorithm]
    compute = compute_seconds()
    return {
        workload: _over_pfc({name: ms + compute[workload] * 1e3 for name, ms in row.items()})
        for workload, row in sent.items()
    }


def algorithms() -> tuple[str, ...]:
    """Return what all-reduces run in the simulated steps, and how routes are chosen."""
    return tuple(published("roce_fluid.json")["communication_ms"])


def _over_pfc(times: dict[str, float]) -> dict[str, float]:
    return {name: time / times["pfc"] for name, time in times.items()}


def _factors() -> Iterator[PublishedRow]:
    for size, collectives in simulated().items():
        for collective, factors in collectives.items():
            for name, factor in factors.items():
                yield PublishedRow(f"{name}, {collective}, {size} MB", factor, TRANSPORTS[name].factor, "of PFC")


def _closed() -> Iterator[PublishedRow]:
    yield from _rows(closed_steps(), "closed form")


def _fluid() -> Iterator[PublishedRow]:
    for algorithm in algorithms():
        yield from _rows(fluid_steps(algorithm), algorithm)


def _rows(found: Ratios, label: str) -> Iterator[PublishedRow]:
    for workload, row in found.items():
        for name, ratio in row.items():
            if name != "pfc":
                yield PublishedRow(f"{workload}, {name}, {label}", 1.0, ratio, "of PFC")


_NO_IMPACT = f"1 stands for no impact; command: evo-libra search {STUDY}; {APPROXIMATION}"

ROCE = (
    PublishedSource("roce", "networks", "RoCE: bandwidth of transports, closed form next to a fluid simulation",
           _factors, note=f"published are the control laws, not these figures; {APPROXIMATION}"),
    PublishedSource("roce-training", "networks", "RoCE (HOTI 2022), abstract: little impact on training, closed form",
           _closed, note=_NO_IMPACT),
    PublishedSource("roce-training-fluid", "networks", "RoCE (HOTI 2022), abstract: little impact on training, fluid",
           _fluid, note=_NO_IMPACT),
)  # fmt: skip
"""The factors, and what they make of steps."""
