"""Assumptions that move a verdict most: the lead of the design to buy at the lower and upper end of each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from evo_libra.arrays import BoolArray
from evo_libra.explain.bought_parts import CERTAIN
from evo_libra.explain.choice import Choice
from evo_libra.explain.sheet import Section, Table, section
from evo_libra.explain.verdict_basis import Basis, Turn
from evo_libra.explain.verdict_record import BY_VALUE
from evo_libra.explain.wire_ranges import WireRange, wire_ranges
from evo_libra.network.blocks import Range
from evo_libra.problem.figures import TotalCostOfOwnership
from evo_libra.quantities import money_text

MOST = 10
"""Assumptions of a table."""

ASSUMED_SHARE = 0.2
"""A price without a range is varied by this share of it."""

_YEARS = 1.0
"""Years of operation more and less."""
_ENERGY, _HOUR = 0.5, 0.5
"""Shares of the price of energy, and of the price of time that a user gives."""
_PUES = (1.05, 1.5)
_MILLION = 1e6
RATIO = "ratio"
"""Unit of plain numbers; that of factors on a stated figure is empty."""


@dataclass(frozen=True, kw_only=True)
class Swing:
    """An assumption, and the lead of the design to buy over its best rival at both of its ends.

    Attributes
    ----------
    of : the assumption; `unit` : of its values, empty for a factor; `low`, `stated`, `high` : its values.
    is_range : whether its ends are those of a source, and not assumed here.
    low_usd, high_usd : the lead at both ends; below 0 another design is to be bought.
    turns : values at which another design is to be bought, each with its id.
    """

    of: str
    unit: str
    low: float
    stated: float
    high: float
    is_range: bool
    low_usd: float
    high_usd: float
    turns: tuple[tuple[float, int], ...]

    @property
    def usd(self) -> float:
        """USD that the lead moves by."""
        return abs(self.high_usd - self.low_usd)

    def text(self, value: float) -> str:
        """Return a value of the assumption."""
        return value_text(value, self.unit)


def value_text(value: float, unit: str) -> str:
    """Return the value of an assumption for reading.

    >>> value_text(4e6, "USD"), value_text(0.125, "USD/kWh"), value_text(0.96, ""), value_text(1.2, RATIO)
    ('4 MUSD', '0.125 USD/kWh', 'x 0.96', '1.2')
    """
    if unit in ("USD", RATIO):
        return money_text(value, 3) if unit == "USD" else f"{value:.3g}"
    return f"{value:.3g} {unit}" if unit else f"x {value:.3g}"


@dataclass(frozen=True, kw_only=True)
class Tornado:
    """The assumptions that move a verdict most.

    Attributes
    ----------
    id, name : of the design to buy; `lead_usd` : over its best rival, as stated.
    swings : the assumptions, the widest first.
    """

    id: int
    name: str
    lead_usd: float
    swings: tuple[Swing, ...]


@dataclass(frozen=True)
class _Assumption:
    of: str
    unit: str
    stated: float
    ends: Range
    at: Callable[[float], Choice]
    is_range: bool = True


def tornado(basis: Basis, name: str) -> Tornado | None:
    """Return the assumptions that move the verdict on a front most; None where no sums of money decide.

    Parameters
    ----------
    name : of the design to buy.
    """
    row, equal = basis.bought
    if not basis.weighs or not basis.stated.others(row, equal).any():
        return None
    known = {one.of: one for one in _assumptions(basis)}
    swings = [_swing(basis, one) for one in known.values()]
    most = sorted((one for one in swings if one.usd > 0), key=lambda one: -one.usd)[:MOST]
    return Tornado(
        id=int(basis.found.ids[row]), name=name, lead_usd=basis.lead(basis.stated)[0],
        swings=tuple(_with_turns(basis, one, known[one.of]) for one in most),
    )  # fmt: skip


def _swing(basis: Basis, one: _Assumption) -> Swing:
    low, high = (basis.lead(one.at(factor))[0] for factor in (one.ends.low, one.ends.high))
    return Swing(
        of=one.of, unit=one.unit, low=one.stated * one.ends.low, stated=one.stated, high=one.stated * one.ends.high,
        is_range=one.is_range, low_usd=low, high_usd=high, turns=(),
    )  # fmt: skip


def _with_turns(basis: Basis, swing: Swing, one: _Assumption) -> Swing:
    turns: tuple[Turn, ...] = basis.turns(one.at)
    found = tuple((one.stated * turn.factor, int(basis.found.ids[turn.row])) for turn in turns)
    return Swing(**{**vars(swing), "turns": found})


def _assumptions(basis: Basis) -> Iterator[_Assumption]:
    yield from _prices(basis)
    yield from _operation(basis)
    yield from _times(basis)
    for one in wire_ranges(basis):
        yield _Assumption(
            f"share of the wire, {one.switch}", RATIO, one.stated, one.ends, partial(_at_wire, basis, one)
        )


def _prices(basis: Basis) -> Iterator[_Assumption]:
    """Yield the price of each part, wherever it is in the bill."""
    for name in dict.fromkeys(part.name for part in basis.parts):
        places = [place for place, part in enumerate(basis.parts) if part.name == name]
        first = basis.parts[places[0]]
        known = first.factors != CERTAIN
        ends = first.factors if known else Range(1.0 - ASSUMED_SHARE, 1.0, 1.0 + ASSUMED_SHARE)
        # Prices per bandwidth have no piece: their figure is a factor.
        unit, stated = ("", 1.0) if first.piece_usd is None else ("USD", first.piece_usd)
        yield _Assumption(f"price of {name}", unit, stated, ends, partial(_at_price, basis, places), is_range=known)


def _at_price(basis: Basis, places: list[int], factor: float) -> Choice:
    return basis.choice(dict.fromkeys(places, factor))


def _operation(basis: Basis) -> Iterator[_Assumption]:
    """Yield years of operation, the price of energy, PUE, and the price of time that a user gives."""
    tco = basis.tco
    if not _rents(basis):
        ends = Range(max(tco.years - _YEARS, tco.years / 2.0) / tco.years, 1.0, 1.0 + _YEARS / tco.years)
        yield _Assumption("operation", "years", tco.years, ends, partial(_at_tco, basis, "years"), is_range=False)
    if basis.rule == BY_VALUE:
        assert basis.value is not None  # noqa: S101 - internal error
        ends = Range(1.0 - _HOUR, 1.0, 1.0 + _HOUR)
        yield _Assumption("price of time", "USD/NPU-hour", basis.value, ends, partial(_at_value, basis), is_range=False)
    ends = Range(1.0 - _ENERGY, 1.0, 1.0 + _ENERGY)
    yield _Assumption(
        "price of energy", "USD/kWh", tco.usd_per_kWh, ends, partial(_at_tco, basis, "usd_per_kWh"), is_range=False
    )
    low, high = min(_PUES[0], tco.pue), max(_PUES[1], tco.pue)
    ends = Range(low / tco.pue, 1.0, high / tco.pue)
    yield _Assumption("PUE", RATIO, tco.pue, ends, partial(_at_tco, basis, "pue"), is_range=False)


def _rents(basis: Basis) -> bool:
    """Return whether some system is rented: its price is that of the stated years."""
    book = basis.problem.book
    return book is not None and any(book.products.systems[one.system].order == "rent" for one in book.orders)


def _at_tco(basis: Basis, key: str, factor: float) -> Choice:
    return basis.choice(tco=with_operation(basis.tco, {key: getattr(basis.tco, key) * factor}))


def with_operation(tco: TotalCostOfOwnership, figures: Mapping[str, float]) -> TotalCostOfOwnership:
    """Return operation with other figures, which need not be those that a file may have."""
    return tco.model_copy(update=dict(figures))


def _at_value(basis: Basis, factor: float) -> Choice:
    assert basis.value is not None  # noqa: S101 - internal error
    return basis.choice(value=basis.value * factor)


def _times(basis: Basis) -> Iterator[_Assumption]:
    """Yield the reasons for which times of some designs may be off."""
    every = basis.found.reasons
    for name in dict.fromkeys(part.of for reasons in every for part in reasons):
        own = [{part.of: part for part in reasons}.get(name) for reasons in every]
        ends = Range(
            min(part.low_factor for part in own if part), 1.0, max(part.high_factor for part in own if part)
        )  # fmt: skip
        having = np.array([part is not None for part in own])
        yield _Assumption(f"time, {name}", "", 1.0, ends, partial(_at_time, basis, having))


def _at_time(basis: Basis, having: BoolArray, factor: float) -> Choice:
    return basis.choice(slower=np.where(having, factor, 1.0))


def _at_wire(basis: Basis, one: WireRange, factor: float) -> Choice:
    return basis.choice(slower=one.slower(factor))


def tornado_section(found: Tornado) -> Section:
    """Return the assumptions as a table, with the lead in million USD."""
    rows = tuple(
        (
            one.of,
            *map(one.text, (one.low, one.high)),
            *(f"{usd / _MILLION:.3g}" for usd in (one.low_usd, one.high_usd)),
            ", ".join(f"{one.text(value)} (#{other})" for value, other in one.turns) or "-",
        )
        for one in found.swings
    )
    title = f"lead of #{found.id} over the next best, {found.lead_usd / _MILLION:.3g} MUSD as stated [MUSD]"
    columns = ("assumption", "low", "high", "lead\nat low", "lead\nat high", "turns at")
    words = ("assumption", "low", "high", "turns at")
    assumed = [one.of for one in found.swings if not one.is_range]
    note = f"No source gives the ends of {', '.join(assumed)}; they are assumed." if assumed else ""
    table = Table(title=title, columns=columns, rows=rows, words=words, folds=("assumption", "turns at"))
    return section("assumptions that move the verdict most", table, [note])
