"""Contents of a report: the document that its page reads, as records that become JSON.

The page's scripts have the same records as types, in ``static/types.js``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from evo_libra.explain.sheet import Table

Kind = Literal["objective", "gene", "plan", "other"]

VERSION = 1
"""Of the document; the page and what makes it are always of one version."""


@dataclass(frozen=True)
class Column:
    """A figure or a choice of every design.

    Attributes
    ----------
    key : its name in the front's table.
    label : what axes and headings call it, with the unit that the values are in.
    kind : an objective is minimised; genes and plans are what was chosen.
    values : of every row; numbers, or places in `names`. None where a design has none.
    names : of choices, in order; empty for numbers.
    shown : whether the parallel coordinates begin with it.
    log : whether its axis is logarithmic at first; `least`, `most` : of its values; `few` : all of them, if few.
    low, high : of prices at their lowest and their highest, or of the band of a figure; empty without ranges.
    faint : whether the range is a band.
    factor : what values of the front's table are divided by here.
    """

    key: str
    label: str
    kind: Kind
    values: list[float | int | None]
    names: list[str] = field(default_factory=list)
    shown: bool = True
    log: bool = False
    least: float = 0.0
    most: float = 0.0
    few: list[float] = field(default_factory=list)
    low: list[float | None] = field(default_factory=list)
    high: list[float | None] = field(default_factory=list)
    faint: bool = False
    factor: float = 1.0


@dataclass(frozen=True)
class Searched:
    """A column that the filter reads: that of the front's table, in its unit.

    Attributes
    ----------
    unit : as people write it; empty for none that can be converted.
    names : its different values; `values` : the place among them of every row. Without places, every row has the one
        value, or rows have the values in turn.
    """

    key: str
    unit: str
    kind: Literal["text", "integer", "number"]
    names: list[str | float | int | None]
    values: list[int]


@dataclass(frozen=True)
class Result:
    """A result that is overlaid.

    Attributes
    ----------
    name : what tells it from the others, which the legend shows; `address` : what commands call it.
    designs : on its front; `shown` : rows of it in the report.
    proof : what is proven of it, as a sentence; empty for nothing.
    band : corners of the area between its front and what is proven, times and costs in the units of the columns.
    facts : what it comes from, by name.
    """

    name: str
    address: str
    designs: int
    shown: int
    proof: str
    band: list[list[float]]
    facts: Mapping[str, str]


@dataclass(frozen=True)
class Family:
    """Designs of one topology: a short name, the notation, and the picture, whose slots take what differs."""

    name: str
    topology: str
    drawing: str


@dataclass(frozen=True)
class Reference:
    """A reference design: its objectives in the units of the columns, by key, and where it comes from."""

    name: str
    design: str
    values: Mapping[str, float]
    source: str


@dataclass(frozen=True)
class Step:
    """A step of a waterfall; one that is negative is time that overlaps with earlier steps.

    Attributes
    ----------
    text : its time for reading.
    where : the dimension that is slowest in it.
    start, share : where its bar begins and how long it is, both over the sum of all steps that are positive.
    """

    name: str
    time_ms: float
    text: str
    where: str = ""
    start: float = 0.0
    share: float = 0.0


@dataclass(frozen=True)
class Waterfall:
    """Parts of the time of a workload, in a unit of time; the steps add up to the total."""

    title: str
    unit: str
    weight: float
    total_ms: float
    steps: list[Step]


@dataclass(frozen=True)
class Detail:
    """The data of a design beyond its columns.

    Attributes
    ----------
    figures : names and texts of its time, cost and objectives.
    tables : bills and failures, as commands print them.
    slots : texts of the drawing that differ between designs of a family.
    sentences : why it is on the front, and what holds it back.
    drawing : its own picture; empty where that of its family is its own.
    """

    figures: list[tuple[str, str]]
    waterfalls: list[Waterfall]
    tables: list[Table]
    slots: Mapping[str, str]
    sentences: list[str]
    drawing: str = ""


@dataclass(frozen=True)
class Rows:
    """The data of every design besides its columns."""

    id: list[int]
    result: list[int]
    design: list[str]


@dataclass(frozen=True)
class Chart:
    """A picture of several runs: what it is called, the picture, and a sentence on how to read it.

    Attributes
    ----------
    printed : whether it is on paper, too.
    """

    title: str
    drawing: str
    caption: str
    printed: bool = False


@dataclass(frozen=True)
class Document:
    """All that a page shows.

    Attributes
    ----------
    verdict : the design to buy of each result, and the sum that decides, as sentences.
    columns : the family first, then the combination where there are many families, and the result of several.
    rows : id, result and notation of every design.
    buy : rows of the designs of the verdicts; the page opens with the first one.
    searched : columns that the filter reads; `units` : sizes of units by their kinds.
    marks : rows that are marked, such as the knee, by what they are called.
    details : of some designs, by row; `rule` names these designs.
    commands : what to type for a design; ``{address}``, ``{id}`` and ``{design}`` stand for its own.
    notes : sentences that hold for the whole report.
    noun : what its rows are, ``design`` or ``order``.
    """

    title: str
    made_by: str
    columns: list[Column]
    results: list[Result]
    families: list[Family]
    rows: Rows
    marks: Mapping[str, list[int]]
    references: list[Reference]
    details: Mapping[str, Detail]
    rule: str
    charts: list[Chart]
    commands: Mapping[str, str]
    notes: list[str]
    verdict: list[str]
    buy: list[int]
    searched: list[Searched]
    units: Mapping[str, Mapping[str, float]]
    colours: list[str]
    noun: str = "design"
    version: int = VERSION

    def json(self) -> dict[str, Any]:
        """Return the document as plain data."""
        return asdict(self)
