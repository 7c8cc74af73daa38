"""A Pareto front as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import polars as pl

from evo_libra.arrays import FloatArray
from evo_libra.errors import InputError, InvalidFrontError
from evo_libra.files.integrity import DamagedError, read_bytes
from evo_libra.front.archive import Archive
from evo_libra.front.table import parse_table, write_table
from evo_libra.problem.designs import violations
from evo_libra.problem.problem import Problem
from evo_libra.problem.protocol import Objective, SearchProblem

NOISE = 1e-9
"""Relative difference of an objective that is rounding: times of solved bandwidths are exact to about that."""


@dataclass(frozen=True)
class Front:
    """Mutually non-dominated designs, the first objective ascending.

    Attributes
    ----------
    frame : one row per design: ``id``, the objectives with their units, then the description of the design.
    objectives : columns of the frame that are minimised.

    >>> from evo_libra import load_problem, search
    >>> front = search(load_problem("gpt3-4k"), evaluations=2000)
    >>> front.objectives
    ('time_ms', 'cost_usd')
    >>> front.frame["time_ms"].is_sorted()
    True
    """

    frame: pl.DataFrame
    objectives: tuple[str, ...]

    def __len__(self) -> int:
        return self.frame.height

    def __str__(self) -> str:
        return f"Front of {len(self)} designs\n{self.frame}"

    def rows(self) -> list[dict[str, Any]]:
        """Return the designs as dictionaries."""
        return self.frame.to_dicts()

    def spread(self, count: int) -> pl.DataFrame:
        """Return at most `count` rows, even steps along the front on logarithmic axes, both ends included."""
        if len(self) <= count:
            return self.frame
        values = np.log10(self.frame.select(self.objectives).to_numpy())
        span = values.max(axis=0) - values.min(axis=0)
        scaled = (values - values.min(axis=0)) / np.where(span > 0, span, 1.0)
        along = np.concatenate([[0.0], np.cumsum(np.abs(np.diff(scaled, axis=0)).max(axis=1))])
        wanted = np.linspace(0.0, along[-1], count)
        chosen = np.unique(np.searchsorted(along, wanted).clip(0, len(self) - 1))
        return self.frame.filter(pl.Series(np.isin(np.arange(len(self)), chosen)))

    @staticmethod
    def read(path: Path) -> Front:
        """Read a front from its Parquet file.

        Raises
        ------
        InputError : there is no such file; `DamagedError` where it is not a front as it was written.
        """
        raw = read_bytes(path)
        if raw is None:
            raise InputError(f"the front {path} cannot be read: no such file or directory")
        return Front.of_bytes(path, raw)

    @staticmethod
    def of_bytes(path: Path, raw: bytes) -> Front:
        """Return the front that the bytes of a Parquet file hold.

        Raises
        ------
        DamagedError : `write` did not write them so.
        """
        frame, metadata = parse_table(path, raw)
        objectives = tuple(metadata.get("objectives", "").split(","))
        if {"id", *objectives} - set(frame.columns):
            raise DamagedError(f"the front {path} cannot be read: it is the table of something else")
        return Front(frame, objectives)

    def write(self, path: Path | BinaryIO) -> None:
        """Write the front as a Parquet file that carries its checksum; the same front gives the same bytes."""
        write_table(path, self.frame, {"objectives": ",".join(self.objectives)})


def ranks(values: FloatArray) -> pl.Series:
    """Return (n,) ranks from 1; equal values share the lowest one."""
    return pl.Series(values).rank("min").cast(pl.Int64)


def front_of(problem: SearchProblem, archive: Archive) -> Front:
    """Return an archive as a front.

    Raises
    ------
    InvalidFrontError : a design of it breaks a constraint, a limit of its parts, or has a value that is not finite.
    """
    archive = _without_noise(archive)
    _check(problem, archive)
    columns = _objective_columns(problem.objectives, archive)
    described = problem.describe(archive.genes) if len(archive) else {}
    frame = pl.DataFrame({"id": np.arange(len(archive)), **columns, **described})
    return Front(frame, tuple(objective.column for objective in problem.objectives))


def _check(problem: SearchProblem, archive: Archive) -> None:
    """Refuse designs, looked at as networks and not as genes, that may not be on a front."""
    wrong = ~np.isfinite(archive.objectives).all(axis=0)
    if isinstance(problem, Problem) and len(archive):
        wrong |= problem.violation(problem.decode(archive.genes)) > 0
    if not wrong.any():
        return
    first = np.flatnonzero(wrong)[:1]
    reasons = "an objective is not finite"
    if isinstance(problem, Problem):
        reasons = "; ".join(violations(problem, problem.decode(archive.genes[:, first]))) or reasons
    raise InvalidFrontError(
        f"the front of '{problem.name}' has {wrong.sum():,} of {len(archive):,} designs that it may not have: {reasons}"
    )


def _without_noise(archive: Archive) -> Archive:
    """Drop designs that rounding alone keeps on a front of two objectives.

    Different structures may take the same time but for the last digits, whatever they cost.
    """
    if len(archive.objectives) != 2:  # noqa: PLR2004 - only there neighbours are next to each other
        return archive
    kept = np.arange(len(archive))
    while True:
        time, cost = archive.objectives[:, kept]
        slower, costlier = time[1:] / time[:-1] - 1.0, cost[:-1] / cost[1:] - 1.0
        drop_first = (slower <= NOISE) & (costlier > NOISE)
        drop_second = (costlier <= NOISE) & (slower > NOISE)
        dropped = np.append(drop_first, False) | np.insert(drop_second, 0, False)
        if not dropped.any():
            return Archive(archive.genes[:, kept], archive.objectives[:, kept])
        kept = kept[~dropped]


def _objective_columns(objectives: Sequence[Objective], archive: Archive) -> Mapping[str, Any]:
    return {o.column: values / o.scale for o, values in zip(objectives, archive.objectives, strict=True)}
