"""A Pareto front as a table in a file that carries its checksum, and the genes of its designs."""

from __future__ import annotations

import io
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Unpack

import numpy as np
import polars as pl

from evo_libra.arrays import FloatArray, IntArray
from evo_libra.errors import InputError, InvalidFrontError
from evo_libra.files.integrity import BLANK, CHECKSUM, DamagedError, check_table, read_bytes, seal_table
from evo_libra.front.archive import Archive
from evo_libra.front.limits import Limits, all_limits
from evo_libra.front.printed import Picture, table_text
from evo_libra.front.selection import chosen
from evo_libra.installed import require, view
from evo_libra.network.fabric import NPU
from evo_libra.problem.bands import BAND, FACTORS, HIGH, JOIN, LOW, bands_of, written_factors
from evo_libra.problem.designs import genes_of, violations
from evo_libra.problem.problem import Problem
from evo_libra.problem.protocol import TIME, SearchProblem

if TYPE_CHECKING:
    from evo_libra.explain.verdict_record import Verdict


def write_table(target: Path | BinaryIO, frame: pl.DataFrame, metadata: Mapping[str, str] | None = None) -> None:
    """Write a table to a path or to an open file; the same table gives the same bytes."""
    buffer = io.BytesIO()
    frame.write_parquet(buffer, compression="zstd", metadata={**(metadata or {}), CHECKSUM: BLANK})
    raw = seal_table(buffer.getvalue())
    if isinstance(target, Path):
        target.write_bytes(raw)
    else:
        target.write(raw)


def read_table(path: Path) -> tuple[pl.DataFrame, Mapping[str, str]]:
    """Return a table and its metadata; an `InputError` says that there is none, a `DamagedError` that it is damaged."""
    raw = read_bytes(path)
    if raw is None:
        raise InputError(f"{path} cannot be read: no such file or directory")
    return parse_table(path, raw)


def parse_table(path: Path, raw: bytes) -> tuple[pl.DataFrame, Mapping[str, str]]:
    """Return the table and the metadata of bytes; a `DamagedError` says that `write_table` did not write them so."""
    check_table(path, raw)
    try:
        return pl.read_parquet(io.BytesIO(raw)), pl.read_parquet_metadata(io.BytesIO(raw))
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):  # it panics where sizes lie
        raise DamagedError(f"{path} is no Parquet file") from None


_DESIGN = "design"
SYSTEM = "system"
"""Column of the product that an order buys; only fronts of orders have it."""

ALL = "all designs"
"""The one family of a problem that is written in Python, whose designs have no notation."""

NOISE = 1e-9
"""Relative difference of an objective that is rounding: times of solved bandwidths are exact to about that."""


@dataclass(frozen=True, repr=False)
class Front:
    """Mutually non-dominated designs, the first objective ascending.

    Attributes
    ----------
    frame : one row per design: ``id``, the objectives with their units, then the description. If some design has a
        band, its ends are ``low_`` and ``high_`` with the column, and its reasons ``band`` and ``band_factors``.
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

    def __repr__(self) -> str:
        """Return a table of ten rounded rows."""
        return table_text(self)

    @property
    def noun(self) -> str:
        """The kind of its rows, which is the question of its problem: an order or a design."""
        return "order" if SYSTEM in self.frame.columns else "design"

    @cached_property
    def topologies(self) -> tuple[tuple[str, ...], IntArray]:
        """The topologies in the notation, and (n,) the place of that of each design among them.

        Orders are in families by their system. Designs of a problem that is written in Python have no notation, and are
        all of one family.
        """
        if _DESIGN not in self.frame.columns:
            return (ALL,), np.zeros(len(self), dtype=np.int64)
        if SYSTEM in self.frame.columns:
            names = self.frame[SYSTEM].unique(maintain_order=True).to_list()
            return tuple(names), np.array([names.index(name) for name in self.frame[SYSTEM]], dtype=np.int64)
        texts = self.frame[_DESIGN].str.split(" ").list.first().str.replace_all(r":[^_]*", "")
        if NPU in self.frame.columns:
            texts = texts + f" {NPU}=" + self.frame[NPU]
        names = texts.unique(maintain_order=True).to_list()
        places = texts.replace_strict(names, list(range(len(names))), return_dtype=pl.Int64) if names else texts
        return tuple(names), np.array(places.to_list(), dtype=np.int64)

    @property
    def banded(self) -> tuple[str, ...]:
        """The objectives that have a band for some design."""
        return tuple(column for column in self.objectives if LOW + column in self.frame.columns)

    def ends(self, row: Mapping[str, Any]) -> dict[str, tuple[float, float]]:
        """Return the ends of the bands of a row of the frame, by objective."""
        found = {column: (row[LOW + column], row[HIGH + column]) for column in self.banded}
        return {column: ends for column, ends in found.items() if None not in ends}

    def rows(self) -> list[dict[str, Any]]:
        """Return the designs as dictionaries."""
        return self.frame.to_dicts()

    def spread(self, count: int, named: Collection[int] = ()) -> pl.DataFrame:
        """Return at most `count` rows, even steps along the front on logarithmic axes, both ends included.

        Rows with the `named` ids come on top of them.
        """
        if len(self) <= count:
            return self.frame
        values = np.log10(self.frame.select(self.objectives).to_numpy())
        span = values.max(axis=0) - values.min(axis=0)
        scaled = (values - values.min(axis=0)) / np.where(span > 0, span, 1.0)
        along = np.concatenate([[0.0], np.cumsum(np.abs(np.diff(scaled, axis=0)).max(axis=1))])
        wanted = np.linspace(0.0, along[-1], count)
        chosen = np.unique(np.searchsorted(along, wanted))
        if named:
            chosen = np.union1d(chosen, np.flatnonzero(self.frame["id"].is_in(list(named)).to_numpy()))
        return self.frame.filter(pl.Series(np.isin(np.arange(len(self)), chosen)))

    def knee(self) -> dict[str, Any]:
        """Return the design at which the front bends most; see `evo_libra.explain.recommend.knee`."""
        return dict(view("knee")(self))

    def recommend(self, *, others: Mapping[str, float] | None = None, **limits: Unpack[Limits]) -> list[dict[str, Any]]:
        """Return the recommended designs, each with its reason and its runner-up.

        Parameters
        ----------
        limits : the largest values of objectives by their columns, in their units, such as ``cost_usd=2e6``; `Limits`
            lists them.
        others : the same of columns that `Limits` does not list: statistics such as ``p95_time_ms``, own objectives.

        Raises
        ------
        InfeasibleError : no design keeps the limits; an `InputError` names what is no objective.

        >>> from evo_libra import search
        >>> first, *_ = search("gpt3-4k", evaluations=2000).recommend(cost_usd=2e6)
        >>> first["kinds"][0], first["cost_usd"] <= 2e6
        ('fastest within the limits', True)
        """
        return list(view("recommend")(self, all_limits(limits, others)))

    def verdict(
        self, problem: SearchProblem | str | None = None, *, value: float | None = None,
        others: Mapping[str, float] | None = None, **limits: Unpack[Limits],
    ) -> Verdict:  # fmt: skip
        """Return the design to buy, the next best one, and the sum that decides; its `text` has all of it.

        Parameters
        ----------
        problem : what they are designs of, or its name; without it, time has no price.
        value : USD of an NPU-hour, in the place of what an hour of the system costs.
        limits, others : as for `recommend`.

        Raises
        ------
        InfeasibleError : no design keeps the limits; an `InputError` names what is no objective.

        >>> from evo_libra import search
        >>> search("gpt3-4k", evaluations=2000).verdict("gpt3-4k", value=2.0).rule
        'given price of time'
        """
        found: Verdict = view("verdict")(self, problem, value, all_limits(limits, others))
        return found

    def where(self, query: str) -> Front:
        """Return the part of the front that fits a query, with its ids; see `evo_libra.front.selection.chosen`.

        >>> from evo_libra import search
        >>> front = search("gpt3-4k", evaluations=500)
        >>> 0 < len(front.where("time < 2 s cost<2MUSD")) < len(front)
        True
        """
        return chosen(self, query)

    def families(self) -> pl.DataFrame:
        """Return a row of each topology: its name, how many designs it has, and the range of each objective."""
        return pl.DataFrame(view("families")(self))

    def to_pandas(self) -> Any:  # noqa: ANN401 - pandas is not always there
        """Return the table as a data frame of pandas, which the extra ``evo-libra[pandas]`` brings."""
        require("pandas", extra="pandas", purpose="Front.to_pandas")
        import pandas as pd  # noqa: PLC0415 - an extra

        return pd.DataFrame(self.frame.to_dict(as_series=False))

    def plot(self, path: Path | str | None = None) -> Picture:
        """Return the picture of the front as a PNG, and write it to a path; families have colours and markers."""
        picture = Picture(view("picture")(self))
        if path is not None:
            Path(path).write_bytes(picture)
        return picture

    def _repr_html_(self) -> str:
        """Return the page of a report for a notebook; without the problem, it has no times and bills of designs."""
        return str(view("front_page")(self))

    @staticmethod
    def read(path: Path) -> Front:
        """Read a front from its Parquet file; the errors are those of `read_table`."""
        raw = read_bytes(path)
        if raw is None:
            raise InputError(f"the front {path} cannot be read: no such file or directory")
        return Front.of_bytes(path, raw)

    @staticmethod
    def of_bytes(path: Path, raw: bytes) -> Front:
        """Return the front that the bytes of a file hold; a `DamagedError` says that `write` did not write them so."""
        frame, metadata = parse_table(path, raw)
        objectives = tuple(metadata.get("objectives", "").split(","))
        if {"id", *objectives} - set(frame.columns):
            raise DamagedError(f"the front {path} cannot be read: it is the table of something else")
        return Front(frame, objectives)

    def write(self, path: Path | BinaryIO) -> None:
        """Write the front as a Parquet file that carries its checksum; the same front gives the same bytes."""
        write_table(path, self.frame, {"objectives": ",".join(self.objectives)})


def time_of(objectives: Sequence[str]) -> str:
    """Return the column of the time that is minimised: that of an iteration, or the first other one; empty for none.

    >>> time_of(("cost_usd", "time_ms")), time_of(("tpot_ms", "cost_per_Mtoken_usd")), time_of(("cost_usd",))
    ('time_ms', 'tpot_ms', '')
    """
    times = (TIME.column, *(column for column in objectives if column.endswith("_ms")))
    return next((column for column in times if column in objectives), "")


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
    columns = {o.column: values / o.scale for o, values in zip(problem.objectives, archive.objectives, strict=True)}
    described = problem.describe(archive.genes) if len(archive) else {}
    bands = _band_columns(problem, archive, columns) if len(archive) else {}
    frame = pl.DataFrame({"id": np.arange(len(archive)), **columns, **bands, **described})
    return Front(frame, tuple(objective.column for objective in problem.objectives))


def _band_columns(problem: SearchProblem, archive: Archive, columns: Mapping[str, FloatArray]) -> dict[str, list[Any]]:
    """Return the ends of the bands of objectives and their class, None where a design has none; {} if none has one."""
    if not isinstance(problem, Problem) or not problem.band_sources:
        return {}
    bands, found = bands_of(problem, problem.decode(archive.genes)), dict[str, list[Any]]()
    for column, values in columns.items():
        if any(column in mine for mine in bands):
            ends = [mine[column].around(value) if column in mine else (None, None)
                    for mine, value in zip(bands, values.tolist(), strict=True)]  # fmt: skip
            found |= {prefix + column: [each[end] for each in ends] for end, prefix in enumerate((LOW, HIGH))}
    if not found:
        return {}
    time = time_of(tuple(columns)) or next(iter(found)).removeprefix(LOW)
    of_time = [mine.get(time) for mine in bands]
    names = [None if band is None else JOIN.join(part.of for part in band.reasons) for band in of_time]
    factors = [None if band is None else written_factors(band.reasons) for band in of_time]
    return found | {BAND: names, FACTORS: factors}


def _check(problem: SearchProblem, archive: Archive) -> None:
    """Refuse designs that may not be on a front, checked as networks and not as genes."""
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
    """Drop designs that rounding alone keeps on a front of two objectives: of combinations of equal time, for one."""
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


@dataclass(frozen=True)
class Known:
    """Designs of a front that a problem has, too: their (g, k) genes, and the notation of those outside its space."""

    genes: FloatArray
    left_out: tuple[str, ...]


def front_genes(problem: Problem, front: Front) -> Known:
    """Return the genes of a front's designs, which may come from a search with other limits, prices or times.

    Raises
    ------
    InputError : the front has no designs in the notation, or none of them is in the search space.

    >>> from evo_libra import load_problem, search
    >>> earlier = search(load_problem("gpt3-4k"), evaluations=500)
    >>> front_genes(load_problem("gpt3-4k", ["fabric.max_dimensions=2"]), earlier).genes.shape[0]
    6
    """
    if _DESIGN not in front.frame.columns:
        raise InputError("the front has no column 'design': it is not that of a problem file")
    designs = front.frame[_DESIGN].to_list()
    if not designs:
        raise InputError("the front is empty: there is nothing to start from")
    try:
        return Known(genes_of(problem, problem.read(designs)), ())
    except InputError:
        pass  # One by one, to tell which.
    found, left_out, reason = [], [], ""
    for design in designs:
        try:
            found.append(genes_of(problem, problem.read(design)))
        except InputError as error:
            left_out.append(design)
            reason = str(error)
    if not found:
        raise InputError(f"no design of the front is in the search space of '{problem.name}': {reason}")
    return Known(np.concatenate(found, axis=1), tuple(left_out))
