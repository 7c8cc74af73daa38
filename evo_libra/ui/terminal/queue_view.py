"""The list of runs: the text of each line, and the columns that a line has room for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from evo_libra.experiment.run.record import COLUMNS, RUN_FIGURES, RunRecord, counts
from evo_libra.experiment.run.record import Column as RunColumn
from evo_libra.pictures.plots.series import ASCII_MARKERS, MARKERS

GLYPHS = {
    "running": "▶", "queued": "·", "done": "✓", "failed": "✗", "paused": "‖", "interrupted": "◌", "stale": "≈",
    "damaged": "!",
}  # fmt: skip
ASCII_GLYPHS = dict(zip(GLYPHS, ">.+x=-~!", strict=True))
LINE, ASCII_LINE = "━", "="
_BAR = 8
_SMALL, _LARGE = 10, 1000
_NARROW_NAME, _WIDE_NAME = 12, 30
GAP = 1
"""Characters between two columns."""


@dataclass(frozen=True)
class TableColumn:
    """A column of a table.

    Attributes
    ----------
    title : its head.
    width : its characters; 0 for the one that takes what is left.
    right : whether it is flush right.
    rank : columns of the lowest rank are the last to be dropped.
    sort : the order that a click on its head chooses.
    """

    title: str
    width: int
    right: bool = False
    rank: int = 0
    sort: str = ""


@dataclass(frozen=True)
class Row:
    """A line of a table: a text and a role of the theme for each cell, and a key for what the line stands for."""

    key: str
    cells: tuple[str, ...]
    roles: tuple[str, ...] = ()


_FIGURES = sorted(
    (one for one in RUN_FIGURES if one.shown and one.attribute != "evaluations"),
    key=lambda one: (one.unit == "s", one.attribute != "hypervolume"),
)
_NARROW = {"hypervolume": ("HV", 7, 1), "wall_s": ("time", 9, 2), "front_size": ("front", 7, 4)}
"""Figure of a run -> head, width and rank where there is little room; other figures are the first to be dropped."""


def _figure_column(one: RunColumn) -> TableColumn:
    title, width, rank = _NARROW.get(one.attribute, (one.heading, max(len(one.heading), 7), 5))
    return TableColumn(title, width, right=True, rank=rank, sort=f"-{one.name}")


QUEUE = (
    TableColumn("", 1, sort="status"),
    TableColumn("", 1),
    TableColumn("run", 0, sort="id"),
    TableColumn("", _BAR, rank=3),
    TableColumn("%", 4, right=True, sort="-evaluations"),
    *map(_figure_column, _FIGURES),
)
"""Columns of the list of runs: the progress, and the figures that tables of results show."""
SORTS = ("id", "-updated", "status", *(f"-{one.name}" for one in RUN_FIGURES if one.shown))
_SORT_NAMES = {one.name: one.heading for one in COLUMNS} | {"id": "name", "updated": "latest"}


def fitting(columns: Sequence[TableColumn], width: int, longest: int = 0) -> list[tuple[int, int]]:
    """Return the index and the width of the columns that a line has room for; whole columns are dropped, none is cut.

    `longest` is the characters of the longest text of the flexible column, which is cut only if it must be.
    """
    chosen: list[int] = []
    for index in sorted(range(len(columns)), key=lambda index: (columns[index].rank, index)):
        rank = columns[index].rank
        flexible = _NARROW_NAME if not rank else min(max(longest, _NARROW_NAME), _WIDE_NAME)
        needed = sum((columns[i].width or flexible) + GAP for i in [*chosen, index]) - GAP
        if needed > width and rank:
            break
        chosen.append(index)
    chosen.sort()
    fixed = sum(columns[i].width for i in chosen) + GAP * (len(chosen) - 1)
    return [(i, columns[i].width or max(width - fixed, 1)) for i in chosen]


def clipped(text: str, width: int, cut: str = "…") -> str:
    """Return a text that fits, its middle cut out where there is not enough room: its end tells runs apart.

    >>> clipped("gpt3-175b-16k-s3", 10)
    'gpt3-…k-s3'
    """
    return _without_middle(text, width, max((width - 1) // 2, 0), cut)


def _without_middle(text: str, width: int, tail: int, cut: str) -> str:
    if len(text) <= width:
        return text
    return text[: max(width - 1 - tail, 0)] + cut + (text[-tail:] if tail else "")


def distinct(texts: Sequence[str], width: int, cut: str = "…") -> dict[str, str]:
    """Return texts that fit, by the texts; different ones stay different.

    As much of the end is kept as tells most apart, half of the room if that suffices. Those that no end tells apart are
    numbered.

    >>> list(distinct(["npus 1024 nsga2 s0", "npus 1024 nsga2 s1"], 8).values())
    ['npus… s0', 'npus… s1']
    """
    different = list(dict.fromkeys(texts))
    half = max((width - 1) // 2, 0)
    tails = sorted(range(width), key=lambda tail: abs(tail - half))
    tried = ([_without_middle(text, width, tail, cut) for text in different] for tail in tails)
    found = max(tried, key=lambda short: len(set(short)), default=different)
    return dict(zip(different, _numbered(found, width, cut), strict=True))


def _numbered(texts: Sequence[str], width: int, cut: str) -> list[str]:
    """Return texts; those that occur several times end with a number of their own."""
    found: list[str] = []
    taken, uses = set(texts), Counter(texts)
    for text in texts:
        if uses[text] == 1:
            found.append(text)
            continue
        begin, ends = text.partition(cut)[0], (f"{cut}{n}" for n in range(1, len(texts) + len(taken) + 1))
        names = (begin[: max(width - len(end), 0)] + end for end in ends)
        name = next(name for name in names if name not in taken)
        taken.add(name)
        found.append(name)
    return found


_IN_ASCII = str.maketrans(
    {**{sign: ASCII_GLYPHS[status] for status, sign in GLYPHS.items()}, "…": "~", "·": "|", "━": "=", "█": "#"}
)


def in_ascii(text: str) -> str:
    """Return a text with its signs in ASCII; names that have other letters keep them.

    >>> in_ascii("-23.1 % · 4…8")
    '-23.1 % | 4~8'
    """
    return text.translate(_IN_ASCII)


def run_names(runs: Sequence[RunRecord]) -> dict[str, str]:
    """Return short names that tell runs apart, by their ids.

    A name has the problem where there are several, what the experiment varied, the engine and the seed; and only if
    that is some other run's name, too, the budget, the population, and the begin of the hash.
    """
    problems = len({run.problem for run in runs}) > 1
    names = {run.id: _name(run, problem=problems or not run.name) for run in runs}
    for more in (lambda run: f"e{short_count(run.budget)}", lambda run: f"p{run.population}", lambda run: run.hash[:6]):
        uses = Counter(names.values())
        names = {run.id: f"{name} {more(run)}" if uses[name := names[run.id]] > 1 else name for run in runs}
    return names


def _name(run: RunRecord, *, problem: bool) -> str:
    parts = [run.problem if problem else "", run.name, run.engine, f"s{run.seed}"]
    return " ".join(part for part in parts if part)


def queue_rows(
    runs: Sequence[RunRecord], names: Mapping[str, str], marks: Mapping[str, int], *, ascii_only: bool = False
) -> list[Row]:
    """Return a line for each run: `marks` has the colour and marker of the runs that are plotted together, by id."""
    return [_row(run, names[run.id], marks.get(run.id), ascii_only=ascii_only) for run in runs]


def _row(run: RunRecord, name: str, mark: int | None, *, ascii_only: bool) -> Row:
    share = fraction(run)
    plain = "dim" if run.status == "queued" else ""
    cells = (
        (ASCII_GLYPHS if ascii_only else GLYPHS)[run.status],
        "" if mark is None else (ASCII_MARKERS if ascii_only else MARKERS)[mark],
        name,
        "" if share == 1.0 else (ASCII_LINE if ascii_only else LINE) * int(_BAR * share),
        f"{int(100 * share)}",
        *(_figure(getattr(run, one.attribute), one, begun=run.evaluations > 0) for one in _FIGURES),
    )
    figures = ("dim" if one.unit == "s" else plain for one in _FIGURES)
    return Row(run.id, cells, (run.status, "" if mark is None else f"front-{mark}", plain, "bar", plain, *figures))


def _figure(value: float | str | None, column: RunColumn, *, begun: bool) -> str:
    if value is None or (not value and (column.unit == "s" or not begun)):
        return "-"
    if column.unit == "s":
        return short_time(float(value))
    return short_count(value) if isinstance(value, int) else f"{value:.4f}"[:6] if isinstance(value, float) else value


def fraction(run: RunRecord) -> float:
    """Return how much of a run is done, from 0 to 1; an exhausted search is done before its budget is."""
    if run.status in ("done", "stale"):
        return 1.0
    return min(run.evaluations / run.budget, 1.0) if run.budget else 0.0


def overall(runs: Sequence[RunRecord]) -> float:
    """Return how much of all runs is done, by their budgets."""
    budget = sum(run.budget for run in runs)
    return sum(fraction(run) * run.budget for run in runs) / budget if budget else 0.0


def bar(share: float, width: int, *, ascii_only: bool = False) -> str:
    """Return a bar as wide as a share of its width.

    >>> bar(0.5, 8), bar(0.3, 8), bar(0.3, 8, ascii_only=True)
    ('████', '██▍', '##')
    """
    if ascii_only:
        return "#" * int(share * width)
    whole, part = divmod(int(share * width * 8), 8)
    return "█" * whole + ("", "▏", "▎", "▍", "▌", "▋", "▊", "▉")[part]


def summary(runs: Sequence[RunRecord], signs: Mapping[str, str] | None = None) -> str:
    """Return how many runs there are of each status, those first that matter most; with signs for the statuses if any.

    >>> summary([])
    'no runs'
    """
    found = counts(runs)
    order = ("running", "paused", "queued", "interrupted", "done", "stale", "failed", "damaged")
    names = signs or {status: status for status in order}
    return " · ".join(f"{found[status]:,} {names[status]}" for status in order if status in found) or "no runs"


def next_sort(sort: str) -> str:
    """Return the order that follows an order."""
    return SORTS[(SORTS.index(sort) + 1) % len(SORTS)] if sort in SORTS else SORTS[0]


def sort_name(sort: str) -> str:
    """Return what an order is called."""
    return _SORT_NAMES.get(sort.removeprefix("-"), sort)


def short_count(count: int) -> str:
    """Return a number as short as it can be read.

    >>> [short_count(count) for count in (999, 1000, 20_000, 1_250_000)]
    ['999', '1k', '20k', '1.25M']
    """
    for size, suffix in ((10**9, "G"), (10**6, "M"), (_LARGE, "k")):
        if count >= size:
            return f"{count / size:.3g}{suffix}"
    return str(count)


def short_time(seconds: float) -> str:
    """Return a time as short as it can be read.

    >>> [short_time(seconds) for seconds in (0.43, 12, 61, 3700, 90_000)]
    ['0.4 s', '12 s', '1:01', '1:01:40', '1 d 1 h']
    """
    if seconds < _SMALL:
        return f"{seconds:.1f} s"
    whole = int(seconds)
    if whole < 60:  # noqa: PLR2004 - a minute
        return f"{whole} s"
    minutes, hours = whole // 60, whole // 3600
    if hours >= 24:  # noqa: PLR2004 - a day
        return f"{hours // 24} d {hours % 24} h"
    return f"{hours}:{minutes % 60:02d}:{whole % 60:02d}" if hours else f"{minutes}:{whole % 60:02d}"
