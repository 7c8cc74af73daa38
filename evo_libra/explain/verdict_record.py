"""The record of a verdict: the design to buy, its rivals with what they cost and save, and both as sentences."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from evo_libra.explain.as_json import INLINE
from evo_libra.explain.labels import percent
from evo_libra.quantities import money_text

BY_PRICE, BY_VALUE = "price of time", "given price of time"
BY_LIMIT, BY_SHAPE = "limit on time", "shape of the front"


@dataclass(frozen=True, kw_only=True)
class Rival:
    """A design that could be bought instead.

    Attributes
    ----------
    costs_usd : over the years of operation, more than the design that is bought; negative where it is cheaper.
    saves_usd : the price of the time that it saves in the same work; negative where it loses time.
    time_percent : of the time that it saves.
    turns_at_usd_per_npu_hour : the price of an NPU-hour at which both are as good.
    it_is : what it is worse and better in, where time has no price.
    """

    id: int
    name: str
    costs_usd: float | None = None
    saves_usd: float | None = None
    time_percent: float | None = None
    turns_at_usd_per_npu_hour: float | None = None
    it_is: str = ""


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """The design to buy.

    Attributes
    ----------
    rule : what decides: `BY_PRICE`, `BY_VALUE`, `BY_LIMIT` or `BY_SHAPE`.
    it_is : why it is bought, in sentences.
    next_best : the rival that is the nearest to it in money; `faster` : the best one that is faster, if it is another.
    equal : designs that their bands do not tell apart from it in time; it is the cheapest of them.
    usd_per_npu_hour : of an NPU with all that is around it; None where it is not known.
    operation : years, price of energy and PUE, where time has a price; `assumed` where the file has no `tco`.
    notes : what the sum rests on.
    text : all of it, as it is printed.
    """

    id: int
    name: str
    rule: str
    it_is: str
    next_best: Rival | None = None
    faster: Rival | None = None
    equal: tuple[int, ...] = ()
    usd_per_npu_hour: float | None = None
    operation: Mapping[str, float] = field(default_factory=dict, metadata=INLINE)
    assumed: bool = False
    notes: tuple[str, ...] = ()
    text: str = ""

    @property
    def sentences(self) -> tuple[str, ...]:
        """The verdict as it is printed, a line each."""
        return tuple(self.text.split("\n"))


def hourly_text(usd: float) -> str:
    """Return a price of time.

    >>> hourly_text(1.7046)
    '1.7 USD per NPU-hour'
    """
    return f"{usd:.3g} USD per NPU-hour"


def years_text(years: float) -> str:
    """Return a number of years.

    >>> years_text(4.0), years_text(1.0)
    ('4 years', '1 year')
    """
    return f"{years:g} year{'' if years == 1 else 's'}"


def with_text(draft: Verdict, word: str, hours: float) -> Verdict:
    """Return a verdict with its text; the noun is that of its rows, the hours are those of operation."""
    lines = [f"Buy #{draft.id} {draft.name}. {draft.it_is}"]
    if draft.equal:
        listed = ", ".join(f"#{one}" for one in draft.equal)
        lines.append(
            f"Its time is equal to that of {listed} within their bands, and it is the cheapest of these {word}s."
        )
    years = hours / _HOURS_PER_YEAR
    if draft.next_best is not None:
        lines.append(f"Next best: {_rival_text(draft.next_best, years, limited=draft.rule == BY_LIMIT)}")
    if draft.faster is not None:
        lines.append(f"Next faster: {_rival_text(draft.faster, years)}")
    return replace(draft, text="\n".join([*lines, *draft.notes]))


_HOURS_PER_YEAR = 8760.0


def _rival_text(one: Rival, years: float, *, limited: bool = False) -> str:
    """Return what a rival costs and saves, and the price of time at which it pays."""
    head = f"#{one.id} {one.name}"
    if one.costs_usd is None or one.saves_usd is None or one.time_percent is None:
        return f"{head}, which is {one.it_is}."
    gains, share = one.time_percent > 0, f"{percent(abs(one.time_percent))} % of {years_text(years)}"
    costs = f"costs {money_text(abs(one.costs_usd), 3)} {'more' if one.costs_usd > 0 else 'less'}"
    time = f"{'saves' if gains else 'loses'} {money_text(abs(one.saves_usd), 3)} of time ({share})"
    if limited:
        return f"{head}, which {costs} and {time if gains else 'is not faster'}. The limits do not ask for it."
    turn = one.turns_at_usd_per_npu_hour
    pays = "" if turn is None else f" It pays {'from' if gains else 'below'} {hourly_text(turn)}."
    return f"{head}, which {costs} and {time}: a loss of {money_text(one.costs_usd - one.saves_usd, 3)}.{pays}"
