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
    id : on the front; None of a design that is not on it.
    costs_usd : over the years of operation, more than the design that is bought; negative where it is cheaper.
    saves_usd : the price of the time that it saves in the same work; negative where it loses time.
    time_percent : of the time that it saves.
    turns_at_usd_per_npu_hour : the price of an NPU-hour at which both are as good, and `--value` turns.
    energy_usd : the part of what it costs that is energy; None where that is not apart.
    it_is : what it is worse and better in, where time has no price.
    """

    id: int | None
    name: str
    costs_usd: float | None = None
    saves_usd: float | None = None
    time_percent: float | None = None
    turns_at_usd_per_npu_hour: float | None = None
    energy_usd: float | None = None
    it_is: str = ""


@dataclass(frozen=True, kw_only=True)
class OtherRail:
    """The best order of the same systems with the other number of ports for each NPU, or why there is none."""

    name: str
    order: Rival | None = None
    missing: str = ""


@dataclass(frozen=True, kw_only=True)
class OneOut:
    """The load that is left of a served order while a server, or a tray of a rack, is out.

    Attributes
    ----------
    part : what is out.
    tokens_per_s : that are left, and at the lower end of their band; `asked` : those that must be served, 0 where no
        rate is asked.
    spared : whether spare NPUs take its place.
    design : the cheapest order of the file that carries what is asked even so, in the notation; empty where it is not
        known. `none` : there is none.
    costs_usd : of that order, more than the one that is bought; `order_low_tokens_per_s` : of it with one out, at the
        lower end of their band.
    """

    part: str
    tokens_per_s: float
    asked: float
    low_tokens_per_s: float | None = None
    spared: bool = False
    design: str = ""
    none: bool = False
    costs_usd: float | None = None
    order_low_tokens_per_s: float | None = None


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """The design to buy.

    Attributes
    ----------
    rule : what decides: `BY_PRICE`, `BY_VALUE`, `BY_LIMIT` or `BY_SHAPE`.
    it_is : why it is bought, in sentences.
    next_best : the rival that is the nearest to it in money; `faster` : the best one that is faster, if it is another.
    other_number : the best order of the same network around more or fewer systems.
    rail : the best order with the other number of ports for each NPU, where it is none of them.
    one_out : what a served order carries while a server is out.
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
    other_number: Rival | None = None
    rail: OtherRail | None = None
    one_out: OneOut | None = None
    equal: tuple[int, ...] = ()
    usd_per_npu_hour: float | None = None
    operation: Mapping[str, float] = field(default_factory=dict, metadata=INLINE)
    assumed: bool = False
    notes: tuple[str, ...] = ()
    text: str = ""

    def __str__(self) -> str:
        return self.text

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
            f"Its time equals the time of {listed} within their bands, and it is the cheapest of these {word}s."
        )
    years = hours / _HOURS_PER_YEAR
    if draft.next_best is not None:
        lines.append(f"Next best: {_rival_text(draft.next_best, years, draft.id, limited=draft.rule == BY_LIMIT)}")
    if draft.faster is not None:
        lines.append(f"Next faster: {_rival_text(draft.faster, years, draft.id)}")
    if draft.other_number is not None:
        lines.append(f"Other number: {_rival_text(draft.other_number, years, draft.id)}{_as_good(draft)}")
    if draft.rail is not None:
        order = draft.rail.order
        text = (
            f"{draft.rail.missing}."
            if order is None
            else _rival_text(order, years, draft.id, limited=draft.rule == BY_LIMIT)
        )
        lines.append(f"{draft.rail.name}: {text}")
    if draft.one_out is not None:
        lines.append(f"With a {draft.one_out.part} out: {_one_out_text(draft.one_out, word)}")
    return replace(draft, text="\n".join([*lines, *draft.notes]))


def _one_out_text(out: OneOut, word: str) -> str:
    """Return what is carried, and what carries all that is asked."""
    if out.spared:
        return "spare NPUs take its place."
    left = f"it carries {out.tokens_per_s:,.5g} tokens/s" if out.tokens_per_s else "it carries nothing"
    if out.tokens_per_s >= out.asked:
        return f"{left}{_short(out.low_tokens_per_s, out.asked)}."
    if out.none:
        return f"{left}, and no {word} of the file carries the {out.asked:,.5g} asked then."
    if not out.design:
        return f"{left}; a constraint on tokens-per-s-one-out in the file searches for {word}s that carry all."
    more = "" if out.costs_usd is None else f" for {money_text(out.costs_usd, 3)} more"
    order, _, plan = out.design.partition(" | ")
    short = _short(out.order_low_tokens_per_s, out.asked)
    return f"{left}; {order} (with the plan {plan}) still carries the {out.asked:,.5g} asked{more}{short}."


def _short(low: float | None, asked: float) -> str:
    """Return that the lower end of a band is less than what is asked."""
    return "" if low is None or low >= asked else f", but {low:,.5g} at the lower end of the band"


_HOURS_PER_YEAR = 8760.0
_SEEN = 0.005
"""Share of a sum from which on its part is seen in three digits."""


def _as_good(draft: Verdict) -> str:
    """Return that the number of systems is open, where more of them do the work for as much money."""
    other = draft.other_number
    if other is None or other.costs_usd is None or other.saves_usd is None:
        return ""
    loss = abs(other.costs_usd - other.saves_usd)
    return " Both do the work for about the same money." if loss < _ABOUT * abs(other.costs_usd) else ""


_ABOUT = 0.05
"""Share of what more systems cost up to which the time that they save is as good."""


def _energy_text(one: Rival) -> str:
    """Return how much of what a rival costs more or less is energy; nothing where it would not be seen."""
    if one.energy_usd is None or one.costs_usd is None or abs(one.energy_usd) < _SEEN * abs(one.costs_usd):
        return ""
    energy = money_text(abs(one.energy_usd), 3)
    if (one.energy_usd > 0) == (one.costs_usd > 0):
        return f" ({energy} of it energy)"
    return f" (with {energy} {'more' if one.energy_usd > 0 else 'less'} of energy)"


def _rival_text(one: Rival, years: float, bought: int, *, limited: bool = False) -> str:
    """Return what a rival costs and saves, and the price of time at which it pays against the design to buy."""
    head = one.name if one.id is None else f"#{one.id} {one.name}"
    if one.costs_usd is None or one.saves_usd is None or one.time_percent is None:
        return f"{head}, which is {one.it_is}."
    gains, share = one.time_percent > 0, f"{percent(abs(one.time_percent))} % of {years_text(years)}"
    costs = f"costs {money_text(abs(one.costs_usd), 3)} {'more' if one.costs_usd > 0 else 'less'}{_energy_text(one)}"
    time = f"{'saves' if gains else 'loses'} {money_text(abs(one.saves_usd), 3)} of time ({share})"
    if limited:
        if one.costs_usd < 0 and not gains:  # a cheaper one that keeps the limits would be bought
            return f"{head}, which {costs} and {time}. It does not keep the limits."
        return f"{head}, which {costs} and {time if gains else 'is not faster'}. The limits do not ask for it."
    turn = one.turns_at_usd_per_npu_hour
    pays = "" if turn is None else f" Against #{bought} it pays {'from' if gains else 'below'} {hourly_text(turn)}."
    loss = one.costs_usd - one.saves_usd
    total = f"a {'loss' if loss >= 0 else 'gain'} of {money_text(abs(loss), 3)}"
    return f"{head}, which {costs} and {time}: {total}.{pays}"
