"""The designs that the runs of an experiment have found to be best, for the studies that print and draw them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from command_line import parser_of

from evo_libra.arrays import GIGA, FloatArray
from evo_libra.errors import InputError
from evo_libra.experiment.results.catalogue import Catalogue, read_front, read_manifest
from evo_libra.experiment.run.origin import build
from evo_libra.experiment.run.record import BatchRecord, RunRecord, counts
from evo_libra.experiment.run.spec import spec_of
from evo_libra.network.fabric import parse_fabric
from evo_libra.problem.problem import Problem


@dataclass(frozen=True)
class Best:
    """The best bandwidths of a network, next to the same total split equally.

    Attributes
    ----------
    manifest : of the run.
    design : with the best bandwidths, in the notation.
    """

    manifest: Mapping[str, Any]
    design: str

    @property
    def said(self) -> Mapping[str, Any]:
        """The problem file, validated."""
        said: Mapping[str, Any] = self.manifest["problem"]
        return said

    @property
    def budget(self) -> int:
        """GB/s per NPU over all dimensions."""
        return round(float(self.bandwidth.sum()) / GIGA)

    @cached_property
    def problem(self) -> Problem:
        """The problem of the run."""
        found = build(spec_of(dict(self.manifest)).origin)
        assert isinstance(found, Problem), "problems of studies are files"  # noqa: S101 - internal error
        return found

    @cached_property
    def bandwidth(self) -> FloatArray:
        """(d,) B/s, innermost dimension first."""
        return np.array([dimension.bandwidth for dimension in parse_fabric(self.design).dimensions], dtype=np.float64)

    @cached_property
    def equal(self) -> str:
        """The design with the same total in equal parts."""
        fabric = parse_fabric(self.design)
        part = float(self.bandwidth.mean())
        return str(replace(fabric, dimensions=tuple(replace(one, bandwidth=part) for one in fabric.dimensions)))

    @property
    def time(self) -> float:
        """Seconds of an iteration."""
        return float(self._times[0])

    @property
    def speedup(self) -> float:
        """How many times faster it is than the equal split."""
        return float(self._times[1] / self._times[0])

    @property
    def performance_per_cost(self) -> float:
        """How many times more performance per USD it has than the equal split."""
        costs = self._worth("cost")
        return float(self._times[1] * costs[1] / (self._times[0] * costs[0]))

    @cached_property
    def _times(self) -> FloatArray:
        return self._worth("time")

    def _worth(self, objective: str) -> FloatArray:
        row = [known.name for known in self.problem.objectives].index(objective)
        return np.asarray(self.problem.evaluate([self.design, self.equal]).objectives[row])


def times(problem: Problem, designs: Sequence[str]) -> list[float]:
    """Return the seconds of an iteration on designs."""
    row = [known.name for known in problem.objectives].index("time")
    return [float(value) for value in problem.evaluate(designs).objectives[row]]


def best_of(experiment: str, results: Path) -> list[Best]:
    """Return the best design of each run of an experiment, in the order of its file.

    Raises
    ------
    InputError : it was not run, or not to the end; the sentence says how to.
    """
    catalogue = Catalogue.open(results)
    try:
        batch = next((one for one in catalogue.batches() if one.experiment == experiment), None)
        runs = [] if batch is None else catalogue.runs_of(batch)
        _check(experiment, batch, runs, results)
        return [Best(read_manifest(run), str(read_front(run).frame["design"][0])) for run in runs]
    finally:
        catalogue.close()


def _check(experiment: str, batch: BatchRecord | None, runs: Sequence[RunRecord], results: Path) -> None:
    found = counts(runs)
    if batch is not None and found == {"done": len(batch.runs)}:
        return
    again = "".join(f" --{option}" for status, option in _AGAIN.items() if found.get(status))
    there = "no runs" if batch is None else f"{found.get('done', 0)} of {len(batch.runs)} runs"
    out = "" if results == Path("results") else f" --out {results}"
    file = Path(os.path.relpath(Path(__file__).parent / f"{experiment}.yaml")).as_posix()
    raise InputError(f"{results} has {there} of {experiment} that are done; evo-libra run {file}{out}{again}")


_AGAIN = {"stale": "rerun-stale", "failed": "retry-failed"}


def best_or_exit(experiment: str, description: str | None) -> list[Best]:
    """Return `best_of` the folder of results that the command line names; end with the sentence where that fails."""
    parser = parser_of(description)
    parser.add_argument("results", nargs="?", type=Path, default=Path("results"), help="folder of results (results)")
    try:
        return best_of(experiment, parser.parse_args().results)
    except InputError as error:
        raise SystemExit(str(error)) from None
