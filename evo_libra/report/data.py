"""From results to the document of a report: a pure function of fronts, problems, proofs and progress of runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from evo_libra.errors import InputError
from evo_libra.explain.candidates import candidates_of
from evo_libra.explain.drawn_network import drawn_network
from evo_libra.explain.reasons import proof_text
from evo_libra.explain.references import References
from evo_libra.explain.verdict import verdict
from evo_libra.explain.verdict_record import Verdict
from evo_libra.front.families import Families, drawn_families, families_of
from evo_libra.front.front import Front
from evo_libra.network.transport import approximation
from evo_libra.pictures.networks.svg import network_svg
from evo_libra.pictures.plots.axes import COLOURS
from evo_libra.problem.constraint_parser import UNIT_SIZES
from evo_libra.problem.designs import announced
from evo_libra.report.columns import banded, columns_of, named_column, rounded
from evo_libra.report.details import MOST, detailed_rows, details_of, price_ranges, rule_text
from evo_libra.report.orders import COMMANDS as OF_ORDERS
from evo_libra.report.orders import order_frame
from evo_libra.report.records import Chart, Column, Detail, Document, Family, Reference, Rows
from evo_libra.report.results import result_of
from evo_libra.report.searched import searched_columns
from evo_libra.report.tornado_chart import tornado_chart
from evo_libra.report.verdicts import recommended, tornado_of, verdict_texts
from evo_libra.version import __version__

if TYPE_CHECKING:
    from evo_libra.arrays import FloatArray
    from evo_libra.optimality.certificate import Certificate
    from evo_libra.problem.problem import Problem

MAX_ROWS = 20_000
"""Designs of a report; of more, each front is thinned to even steps along it."""
_TIME, _COST, _ORDER_COST = "time_ms", "cost_usd", "order_cost_usd"


@dataclass(frozen=True)
class Source:
    """A result that goes into a report.

    Attributes
    ----------
    name : what the legend calls it; `address` : what commands call it, empty for a front that is in no folder.
    problem : what its designs are of; None where that is not known, and then there are no details.
    certificate : what is proven of the front.
    references : reference designs of its problem's size.
    facts : what it comes from, by name.
    """

    name: str
    front: Front
    problem: Problem | None = None
    address: str = ""
    certificate: Certificate | None = None
    references: References = field(default_factory=References)
    facts: Mapping[str, str] = field(default_factory=dict)

    def notes(self) -> list[str]:
        """Return which references its file does not allow, why others are not shown, and what is not sold yet."""
        outside = [one for one in self.references.points if one.not_allowed]
        said = [f"{one.name} is a reference that the file does not allow: {one.not_allowed}." for one in outside]
        sold = [] if self.problem is None else announced(self.problem, self.front.frame["design"].to_list())
        return [*said, *(f"{text}." for text in self.references.absent), *map(str, sold)]


def report_document(
    sources: Sequence[Source], *, title: str, charts: Sequence[Chart] = (), notes: Sequence[str] = (),
    most: int = MOST,
) -> Document:  # fmt: skip
    """Return the document of some results of the same objectives.

    Parameters
    ----------
    most : designs of all results together that have details.

    Raises
    ------
    InputError : there is no design at all, or results have other objectives.
    """
    _check(sources)
    thinned = _thinned(sources)
    every = _together(thinned)
    families, drawn = families_of(every), drawn_families(every, len(COLOURS) - 1)
    columns = [
        named_column("family", families.of.tolist(), families.names),
        *([named_column("structure", drawn.of.tolist(), drawn.names)] if drawn.names != families.names else []),
        *([named_column("result", _owners(thinned), [one.name for one in thinned])] if len(thinned) > 1 else []),
        *(
            _priced(one, thinned)
            if one.key == (_ORDER_COST if every.noun == "order" else _COST)
            else banded(one, [source.front for source in thinned])
            for one in columns_of(_shown(thinned, every), every.objectives)
        ),
    ]
    factors = {column.key: column.factor for column in columns}
    verdicts = [_verdict(source) for source in thinned]
    details, rule = _details(thinned, verdicts, most)
    return Document(
        title=title,
        made_by=f"evo_libra {__version__}",
        columns=columns,
        results=[result_of(source, part, factors) for source, part in zip(sources, thinned, strict=True)],
        families=_families(families, thinned),
        rows=Rows(every.frame["id"].to_list(), _owners(thinned), [one for part in thinned for one in _designs(part)]),
        marks=_marks(thinned, verdicts),
        references=_references(sources, factors),
        details=details,
        rule=rule,
        charts=[*_tornados(thinned), *charts],
        commands=_commands(every.noun) if any(source.address for source in sources) else {},
        notes=[
            *notes,
            *dict.fromkeys(text for source in sources for text in source.notes()),
            *approximation(_notations(sources)).values(),
            *_thinning(sources, thinned),
        ],
        verdict=verdict_texts([one.name for one in thinned], verdicts),
        buy=_bought(thinned, verdicts),
        searched=searched_columns(every, _result_names(thinned)),
        units=UNIT_SIZES,
        colours=list(COLOURS),
        noun=every.noun,
    )


def _shown(sources: Sequence[Source], every: Front) -> pl.DataFrame:
    """Return the rows of all results; of orders they have products in place of dimensions."""
    if every.noun != "order":
        return every.frame
    parts = [order_frame(source.front, source.problem) for source in sources if len(source.front)]
    return pl.concat(parts, how="diagonal_relaxed")


def _commands(noun: str) -> Mapping[str, str]:
    return OF_ORDERS if noun == "order" else COMMANDS


def _notations(sources: Sequence[Source]) -> Iterator[str]:
    for source in sources:
        if "design" in source.front.frame.columns:
            yield from map(str, source.front.frame["design"].to_list())


COMMANDS: Mapping[str, str] = {
    "its bottlenecks, and what each step away costs": "evo-libra explain '{address}#{id}'",
    "the picture as a file": "evo-libra draw '{address}#{id}' -o network.svg",
    "the input files of ASTRA-sim": "evo-libra export '{address}#{id}' --astra-sim astra-sim",
}
"""Commands for a design of a result, by their purpose."""


def _asked(source: Source) -> str:
    return "an order" if source.front.noun == "order" else "a design"


def _check(sources: Sequence[Source]) -> None:
    if not any(len(source.front) for source in sources):
        raise InputError("there is no design to report: every front is empty")
    first = sources[0]
    for source in sources[1:]:
        if source.front.noun != first.front.noun:
            raise InputError(
                f"{first.name} asks for {_asked(first)} and {source.name} for {_asked(source)}: they answer two "
                "questions, and one report is of one"
            )
        if source.front.objectives != first.front.objectives:
            raise InputError(
                f"{first.name} is of {', '.join(first.front.objectives)} and {source.name} of "
                f"{', '.join(source.front.objectives)}; one report is of results with the same objectives"
            )


def _thinned(sources: Sequence[Source]) -> list[Source]:
    """Return the sources with no more designs than a report has room for."""
    total = sum(len(source.front) for source in sources)
    if total <= MAX_ROWS:
        return list(sources)
    share = MAX_ROWS / total
    return [
        replace(
            source, certificate=None if source.certificate is None else _some(source, share),
            front=Front(source.front.spread(max(int(len(source.front) * share), 2)), source.front.objectives),
        )
        for source in sources
    ]  # fmt: skip


def _some(source: Source, share: float) -> Certificate:
    """Return a certificate with the factors of the designs that are left."""
    assert source.certificate is not None, "the caller has looked"  # noqa: S101 - internal error
    kept = source.front.frame["id"].is_in(source.front.spread(max(int(len(source.front) * share), 2))["id"].implode())
    return replace(source.certificate, factor=source.certificate.factor[kept.to_numpy()])


def _thinning(sources: Sequence[Source], thinned: Sequence[Source]) -> list[str]:
    before, after = (sum(len(one.front) for one in some) for some in (sources, thinned))
    rows = f"{before:,} {sources[0].front.noun}s"
    return [f"Of {rows}, {after:,} in even steps along each front are shown."] if after < before else []


def _together(sources: Sequence[Source]) -> Front:
    frames = [source.front.frame for source in sources if len(source.front)]
    return Front(pl.concat(frames, how="diagonal_relaxed"), sources[0].front.objectives)


def _owners(sources: Sequence[Source]) -> list[int]:
    """Return the place of the result of each row."""
    return [place for place, source in enumerate(sources) for _ in range(len(source.front))]


def _result_names(sources: Sequence[Source]) -> list[str]:
    """Return the name of the result of each row, where there are several."""
    return [sources[place].name for place in _owners(sources)] if len(sources) > 1 else []


def _starts(sources: Sequence[Source]) -> list[int]:
    return [sum(len(before.front) for before in sources[:place]) for place in range(len(sources))]


def _families(families: Families, sources: Sequence[Source]) -> list[Family]:
    """Return families with their pictures, of the first design of each."""
    owner = [source for source in sources for _ in range(len(source.front))]
    designs = [design for source in sources for design in _designs(source)]
    found = []
    for place, (name, topology) in enumerate(zip(families.names, families.topologies, strict=True)):
        first = int(np.argmax(families.of == place))
        known = bool(designs[first]) and owner[first].front.noun != "order"  # an order has a picture of its own
        drawing = _drawing(designs[first], owner[first].problem) if known else ""
        found.append(Family(name, topology, drawing))
    return found


def _designs(source: Source) -> list[str]:
    frame = source.front.frame
    return frame["design"].to_list() if "design" in frame.columns else [""] * frame.height


def _drawing(design: str, problem: Problem | None) -> str:
    return network_svg(drawn_network(design, problem), standalone=False)


def _priced(column: Column, sources: Sequence[Source]) -> Column:
    each = [
        (
            source,
            None if source.problem is None or not len(source.front) else price_ranges(source.front, source.problem),
        )
        for source in sources
    ]
    if not any(ranges for _, ranges in each):
        return column
    ends: list[list[float | None]] = [[], []]
    for source, ranges in each:
        for place in range(len(ends)):
            ends[place] += [None] * len(source.front) if ranges is None else _numbers(ranges[place] / column.factor)
    return replace(column, low=ends[0], high=ends[1])


def _numbers(values: FloatArray) -> list[float | None]:
    return [None if value is None else float(value) for value in rounded(values)]


def _verdict(source: Source) -> Verdict | None:
    return verdict(source.front, candidates_of(source.front), source.problem) if len(source.front) else None


def _tornados(sources: Sequence[Source]) -> Iterator[Chart]:
    """Give the chart of each result of the assumptions that move its verdict most."""
    for source in sources:
        found = tornado_of(source.front, source.problem)
        if found is not None:
            yield tornado_chart(found, source.name if len(sources) > 1 else "")


def _bought(sources: Sequence[Source], verdicts: Sequence[Verdict | None]) -> list[int]:
    """Return the row of the design of each verdict."""
    return [
        start + source.front.frame["id"].to_list().index(said.id)
        for start, source, said in zip(_starts(sources), sources, verdicts, strict=True)
        if said is not None
    ]


def _marks(sources: Sequence[Source], verdicts: Sequence[Verdict | None]) -> dict[str, list[int]]:
    """Return the rows of the designs that are recommended, by why."""
    found: dict[str, list[int]] = {}
    for start, source, said in zip(_starts(sources), sources, verdicts, strict=True):
        for row, (kinds, _) in recommended(source.front, said).items():
            found.setdefault(kinds, []).append(start + row)
    return found


def _references(sources: Sequence[Source], factors: Mapping[str, float]) -> list[Reference]:
    """Return the reference designs of all sources, each once."""
    found = {
        (point.name, tuple(point.figures.items())): Reference(
            point.name, point.design,
            {key: value / factors[key] for key, value in point.figures.items() if key in factors},
            f"{point.source}, {point.year}",
        )
        for source in sources for point in source.references.points
    }  # fmt: skip
    return list(found.values())


def _details(sources: Sequence[Source], verdicts: Sequence[Verdict | None], most: int) -> tuple[dict[str, Detail], str]:
    """Return the details of designs by row, the same number of each source at most, and which designs have some."""
    share = max(most // len(sources), 1)
    found: dict[str, Detail] = {}
    for start, source, said in zip(_starts(sources), sources, verdicts, strict=True):
        if source.problem is None or not len(source.front):
            continue
        reasons = {row: f"{kinds}: {reason}" for row, (kinds, reason) in recommended(source.front, said).items()}
        rows = detailed_rows(source.front, families_of(source.front).of, share, list(reasons))
        details = details_of(source.front, source.problem, rows)
        for row, detail in zip(rows, details, strict=True):
            first = [reasons[row][:1].upper() + reasons[row][1:]] if row in reasons else []
            found[str(start + row)] = replace(detail, sentences=[*first, *detail.sentences, *_proven(source, row)])
    if not found:
        return {}, "The parts of time and cost of designs are not known here: their problem is not at hand."
    return found, rule_text(sum(len(source.front) for source in sources), len(found), sources[0].front.noun)


def _proven(source: Source, row: int) -> list[str]:
    """Return what is proven of a design, as a sentence; nothing without a proof."""
    if source.certificate is None:
        return []
    return [proof_text(float(source.certificate.factor[row]), of_time_and_cost=True)]
