"""Themis end to end: figure 12 of its paper and the means of both abstracts, from problem files of the package."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np

from evo_libra.arrays import GIGA, FloatArray
from evo_libra.network.blocks.registry import BLOCKS
from evo_libra.problem.file.registry import load_problem
from evo_libra.problem.problem import Problem
from evo_libra.timing.input_files.network_file import TOPOLOGIES
from evo_libra.units import bandwidth_of_file
from evo_libra.validation.source import Basis, PublishedRow, PublishedSource
from evo_libra.validation.themis import BASELINE, SMALLEST, figures, geometric_mean

IDEAL = "ideal"
SCHEDULERS = {BASELINE: "baseline", SMALLEST: "themis-paper", IDEAL: "ideal"}
"""Names of schedulers in problem files, by the paper's."""
PROBLEMS = {
    name: f"themis-{name.lower()}" for name in ("ResNet-152", "GNMT", "DLRM", "Transformer-1T", "ResNet-50")
}  # fmt: skip
"""The problem that asks the paper's question of each workload."""

_TIERS = ("chiplet", "package", "node", "pod")
"""Technologies of four dimensions; three have no chiplets, and two have packages and pods."""


def designs() -> dict[str, str]:
    """Return the notation of the six networks; a Gb/s of the paper is 2^30 bit/s."""
    return {name: _design(one) for name, one in figures()["topologies"].items()}


def _design(network: dict[str, Any]) -> str:
    codes = {block.name: block.code for block in BLOCKS}
    depth = len(network["npus"])
    tiers = _TIERS[-depth:] if depth > 2 else ("package", "pod")  # noqa: PLR2004 - see `_TIERS`
    rows = zip(network["block"], network["npus"], tiers, network["bw_gbps_per_npu_unidir"], strict=True)
    return "_".join(
        f"{codes[TOPOLOGIES[block]]}({npus})@{tier}:{bandwidth_of_file(gigabits / 8) / GIGA:.6g}"
        for block, npus, tier, gigabits in rows
    )


@cache
def _timed(workload: str) -> tuple[FloatArray, float]:
    problem = load_problem(PROBLEMS[workload])
    assert isinstance(problem, Problem)  # noqa: S101 - the file is one
    asked = [f"{design} scheduler={name}" for name in SCHEDULERS.values() for design in designs().values()]
    time = problem.evaluate(asked).objectives[0].reshape(len(SCHEDULERS), -1)
    return time, sum(loop.workload.compute for loop in problem.time.loops)


def iteration_times(workload: str) -> dict[str, FloatArray]:
    """Return the (n,) s of an iteration on the six networks, by scheduler."""
    return dict(zip(SCHEDULERS, _timed(workload)[0], strict=True))


def exposed_times(workload: str) -> dict[str, FloatArray]:
    """Return the (n,) s of an iteration in which nothing is computed, by scheduler."""
    return {name: time - _timed(workload)[1] for name, time in iteration_times(workload).items()}


def training_speedups(workload: str) -> dict[str, FloatArray]:
    """Return the (n,) speed-ups of an iteration over the baseline, by scheduler."""
    times = iteration_times(workload)
    return {name: times[BASELINE] / times[name] for name in (SMALLEST, IDEAL)}


def published_bars(workload: str) -> dict[str, FloatArray]:
    """Return the (4, n) forward, backward, exposed model- and data-parallel parts of figure 12, by scheduler."""
    bars = figures()["training"]["bars"][workload].values()
    return {name: np.array([one[name] for one in bars]).T for name in SCHEDULERS}


def published_speedups(workload: str) -> dict[str, FloatArray]:
    """Return the (n,) speed-ups of figure 12 over the baseline, by scheduler."""
    whole = {name: bars.sum(axis=0) for name, bars in published_bars(workload).items()}
    return {name: whole[BASELINE] / whole[name] for name in (SMALLEST, IDEAL)}


def _workloads() -> list[str]:
    return list(figures()["training"]["bars"])


def _speedups() -> Iterator[PublishedRow]:
    for workload in _workloads():
        ours, theirs = training_speedups(workload), published_speedups(workload)
        for scheduler in ours:
            for network, given, found in zip(designs(), theirs[scheduler], ours[scheduler], strict=True):
                row = f"{workload}, {network}, {SCHEDULERS[scheduler]}"
                yield PublishedRow(row, float(given), float(found), "x")


def _exposed() -> Iterator[PublishedRow]:
    for workload in _workloads():
        ours = exposed_times(workload)[BASELINE] / iteration_times(workload)[BASELINE]
        theirs = published_bars(workload)[BASELINE][2:].sum(axis=0)
        for network, given, found in zip(designs(), 100 * theirs, 100 * ours, strict=True):
            yield PublishedRow(f"{workload}, {network}", float(given), float(found), "percent")


def _means() -> Iterator[PublishedRow]:
    given = figures()["training"]
    for workload in _workloads():
        ours = training_speedups(workload)
        published = (given["speedup"][key][workload] for key in ("mean", "largest", "ideal mean"))
        mean, largest, ideal = published
        yield PublishedRow(f"{workload}, mean", mean, geometric_mean(ours[SMALLEST]), "x")
        yield PublishedRow(f"{workload}, largest", largest, float(ours[SMALLEST].max()), "x")
        yield PublishedRow(f"{workload}, mean of ideal", ideal, geometric_mean(ours[IDEAL]), "x")
    every = [exposed_times(workload) for workload in _workloads()]
    for scheduler in (SMALLEST, IDEAL):
        gain = geometric_mean(np.concatenate([one[BASELINE] / one[scheduler] for one in every]))
        row = f"less exposed communication, {SCHEDULERS[scheduler]}"
        yield PublishedRow(row, given["exposed"][scheduler], gain, "x")


def _first_version() -> Iterator[PublishedRow]:
    given = figures()["training"]["first_version"]
    for workload, mean in given["mean"].items():
        ours = training_speedups(workload)[SMALLEST]
        yield PublishedRow(f"{workload}, mean", mean, geometric_mean(ours), "x")
        yield PublishedRow(f"{workload}, largest", given["largest"][workload], float(ours.max()), "x")


_COMPUTE = (
    "compute times are those of the bar Ideal of each model on 2D-SW_SW, of ResNet-152 of three bars of the baseline; "
    "all other bars are computed; commands: evo-libra run experiments/themis.yaml, evo-libra search themis-gnmt"
)
_OTHER_NETWORKS = "networks of the camera-ready; those of the first version are not known"


def _source(
    name: str, title: str, rows: Callable[[], Iterator[PublishedRow]], note: str, basis: Basis = Basis.FITTED
) -> PublishedSource:
    title = f"Themis (Rashidi et al. 2022), {title}"
    return PublishedSource(f"themis-training{name}", "networks", title, rows, note=note, basis=basis)


THEMIS_TRAINING = (
    _source("", "figure 12: speed-ups of an iteration over the fixed order", _speedups, _COMPUTE),
    _source("-exposed", "figure 12: exposed communication of an iteration in the fixed order", _exposed, _COMPUTE),
    _source("-mean", "section 6.2: means over six networks, and the largest", _means, _COMPUTE),
    _source("-v1", "abstract of arXiv v1 (2021): means and largest", _first_version, _OTHER_NETWORKS, Basis.UNSEEN),
)
"""Training under Themis against the fixed order of dimensions, and against all bandwidth in use."""
