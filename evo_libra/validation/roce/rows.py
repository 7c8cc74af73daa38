"""Congestion control of RoCE: the closed form next to a fluid simulation of the published laws, and a training step.

The study (HOTI 2022, arXiv 2207.10898) is known by its abstract: schemes have little impact on training. No figures of
it were read, so that what stands for published factors are those of `evo_libra.validation.roce.rows`.
"""

from __future__ import annotations

from collections.abc import Iterator

from evo_libra.network.transport import APPROXIMATION, TRANSPORTS
from evo_libra.problem.file.registry import load_problem
from evo_libra.problem.problem import Problem
from evo_libra.validation.source import DATA, PublishedRow, PublishedSource, published

STUDY = DATA / "roce_study.yaml"
"""A training step on the study's cluster: 128 NPUs at 200 Gb/s, 8 leaf and 8 spine switches, 2:1."""

TABLE = "{model: resnet-50-libra, parallelism: {dp: 128}}"
"""A workload that sends for most of its time: a table of ResNet-50 by LIBRA, on an accelerator of 2020."""


def simulated() -> dict[str, dict[str, dict[str, float]]]:
    """Return the simulated bandwidth over that of PFC, by the MB of an all-reduce, its algorithm and the transport.

    `experiments/roce_transport.py` makes the figures.
    """
    found: dict[str, dict[str, dict[str, float]]] = published("roce_fluid.json")["factors_by_MB"]
    return found


def steps(*assignments: str) -> dict[str, float]:
    """Return the time of an iteration on the study's cluster under each transport, over that under PFC."""
    problem = load_problem(str(STUDY), assignments)
    assert isinstance(problem, Problem)  # noqa: S101 - the file is one
    times = problem.evaluate([f"CL2(128)@roce-200g.{name}:25" for name in TRANSPORTS]).objectives[0]
    return {name: float(time / times[0]) for name, time in zip(TRANSPORTS, times, strict=True)}


def _factors() -> Iterator[PublishedRow]:
    for size, collectives in simulated().items():
        for collective, factors in collectives.items():
            for name, factor in factors.items():
                yield PublishedRow(f"{name}, {collective}, {size} MB", factor, TRANSPORTS[name].factor, "of PFC")


def _steps() -> Iterator[PublishedRow]:
    for name, ratio in steps().items():
        yield PublishedRow(f"{name}, Llama 2 7B", 1.0, ratio, "of PFC")
    for name, ratio in steps(f"workloads=[{TABLE}]", "time=libra").items():
        yield PublishedRow(f"{name}, ResNet-50 by LIBRA", 1.0, ratio, "of PFC")


ROCE = (
    PublishedSource("roce", "networks", "RoCE: bandwidth of transports, closed form next to a fluid simulation",
           _factors, note=f"published are the control laws, not these figures; {APPROXIMATION}"),
    PublishedSource("roce-step", "networks", "RoCE (HOTI 2022), abstract: little impact on training", _steps,
           note=f"an iteration on the study's cluster, where 1 stands for no impact; {APPROXIMATION}"),
)  # fmt: skip
"""The factors, and what they make of an iteration."""
