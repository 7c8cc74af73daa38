"""Why a design of a front is the one to take, in sentences whose figures are computed from the front."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from evo_libra.explain.candidates import STEP, Candidates, Step
from evo_libra.explain.labels import TOKEN_SECONDS, best_text, limit_text, noun, per_what, percent, value_text
from evo_libra.problem.protocol import TIME
from evo_libra.quantities import money_text


def difference(found: Candidates, row: int, than: int) -> str:
    """Return what a design is better and worse in than another one, in words and percent."""
    return compared_with(found.of(row), found.of(than))


def difference_and_band(found: Candidates, row: int, than: int) -> str:
    """Return the difference, and whether the bands of both leave open which one is better in time."""
    return f"{difference(found, row, than)}{equal_text(found.time, equal=bool(found.equals(than)[row]))}"


_AS_FAR_AS_KNOWN = "the {} of both is equal within their bands"


def equal_text(column: str, *, equal: bool) -> str:
    """Return that two figures of a column are equal within their bands, after a semicolon; nothing where they are not.

    >>> equal_text("time_ms", equal=True)
    '; the time of both is equal within their bands'
    """
    return f"; {_AS_FAR_AS_KNOWN.format(noun(column))}" if equal else ""


def compared_with(mine: Mapping[str, float], other: Mapping[str, float]) -> str:
    """Return what figures are better and worse than others, by column, in words and percent.

    >>> compared_with({"time_ms": 90.0, "cost_usd": 120.0}, {"time_ms": 100.0, "cost_usd": 100.0})
    '10 % faster, 20 % more expensive'
    >>> compared_with({"tpot_ms": 90.0, "cost_per_Mtoken_usd": 1.2}, {"tpot_ms": 100.0, "cost_per_Mtoken_usd": 1.0})
    '10 % shorter in tpot, 20 % more expensive per Mtoken'
    >>> compared_with({"order_cost_usd": 9, "network_cost_usd": 12}, {"order_cost_usd": 10, "network_cost_usd": 10})
    '10 % cheaper in order cost, 20 % more expensive in network cost'
    >>> compared_with({"time_ms": 90.0, "network_cost_usd": 12}, {"time_ms": 100.0, "network_cost_usd": 0})
    '10 % faster, with a network cost'
    """
    several = sum(column.endswith("_usd") for column in mine) > 1
    return ", ".join(
        f"{_compared(column, 100.0 * (mine[column] / other[column] - 1.0))}"
        f"{f' in {noun(column)}' if several and column.endswith('_usd') and not per_what(column) else ''}"
        if other[column]
        else f"{'with a' if mine[column] else 'without'} {noun(column)}"
        for column in mine
    )


def _compared(column: str, change: float) -> str:
    if abs(change) < _SAME:
        return {"time": "as fast", "cost": "as cheap"}.get(noun(column), f"the same {noun(column)}")
    if change >= _MANY:
        return _times(column, 1.0 + change / 100.0)
    amount = f"{percent(abs(change))} %"
    if column == TIME.column:
        return f"{amount} {'slower' if change > 0 else 'faster'}"
    if column.endswith("_usd"):
        return f"{amount} {'more expensive' if change > 0 else 'cheaper'}{per_what(column)}"
    if column.endswith("_ms"):
        return f"{amount} {'longer' if change > 0 else 'shorter'} in {noun(column)}"
    return f"{amount} {'more' if change > 0 else 'less'} {noun(column)}"


def _times(column: str, factor: float) -> str:
    amount = f"{factor:.3g} times as" if factor < _MANY else f"{factor:,.0f} times as"
    if column == TIME.column:
        return f"{amount} slow"
    if column.endswith("_usd"):
        return f"{amount} expensive{per_what(column)}"
    return f"{amount} long in {noun(column)}" if column.endswith("_ms") else f"{amount} much {noun(column)}"


_MANY = 1000
"""Percent from which on a factor is easier to read."""

_SAME = 5e-4
"""Percent that are no difference."""


def why_near(found: Candidates, row: int) -> str:
    """Return what a design saves against the fastest one within the limits."""
    fastest = int(np.where(found.within, found.figures[found.time], np.inf).argmin())
    if fastest == row:
        return f"No cheaper {found.noun} comes within 5 % of it."
    return f"Against the fastest, #{found.ids[fastest]}, it is {difference(found, row, fastest)}."


def price_of_time(found: Candidates, row: int, faster: Step | None, slower: Step | None) -> str:
    """Return what the next tenth of the time costs, and what the last one cost."""
    per = per_what(found.money)
    if faster is None:
        return _little_left(found, row)
    step = (
        f"The next step up (#{found.ids[faster.row]}) saves {percent(100 * faster.share)} % of the {noun(found.time)}"
    )
    if faster.usd <= 0:
        return f"{step} for no more money."
    text = f"{step} for {money_text(faster.usd, 3)}{per}, {money_text(faster.usd_per_ms, 3)}{per} per ms."
    if slower is None:
        return f"{text} No {found.noun} is cheaper and at least {percent(100 * STEP)} % slower."
    return f"{text} The step up to this one cost {money_text(slower.usd_per_ms, 3)}{per} per ms."


def _little_left(found: Candidates, row: int) -> str:
    """Return how much the fastest design gains, which is less than a step, or that this one is the fastest."""
    time = found.figures[found.time]
    fastest = int(time.argmin())
    if fastest != row:
        gain = 100.0 * (1.0 - float(time[fastest] / time[row]))
        more = float(found.figures[found.money][fastest] - found.figures[found.money][row])
        left = f"{percent(gain)} % of the {noun(found.time)} for {money_text(more, 3)}{per_what(found.money)} more"
        return f"The fastest {found.noun}, #{found.ids[fastest]}, saves only {left}."
    slower = np.flatnonzero(time > time[row])
    if not len(slower):
        return f"It is the only {found.noun} of the front."
    nearest = int(slower[time[slower].argmin()])
    following = f"#{found.ids[nearest]}, the next one, is {difference(found, nearest, row)}"
    return f"It is the fastest {found.noun} of the front. {following}."


def why_balanced(found: Candidates, row: int) -> str:
    """Return how far a design is from the best of each objective."""
    best = (
        f"{percent(100 * (float(values[row]) / float(values.min()) - 1.0))} % above the lowest {noun(column)}"
        for column, values in ((column, found.figures[column]) for column in found.objectives)
    )
    return f"It is {', '.join(best)}."


def why_within(found: Candidates, row: int, column: str) -> str:
    """Return which limits the next better design breaks, in a column that is minimised within them."""
    values, is_time = found.figures[column], column == found.time
    fastest = int(np.where(found.within, values, np.inf).argmin())
    if is_time and found.equals(fastest)[row]:
        than = f"Against the fastest, #{found.ids[fastest]}, it is {difference(found, row, fastest)}"
        return f"{than}; {_AS_FAR_AS_KNOWN.format(noun(column))}, and it is the cheapest of these."
    there = np.flatnonzero(values < values[row])
    limits = " and ".join(limit_text(column, limit) for column, limit in found.limits.items())
    if not len(there):
        binds = "does not limit you" if len(found.limits) == 1 else "do not limit you"
        return f"It is the {'fastest' if is_time else 'cheapest'} {found.noun} found; {limits} {binds}."
    nearest = int(there[values[there].argmax()])
    broken = [
        f"{_article(noun(name))} {noun(name)} of {value_text(name, float(found.figures[name][nearest]))}"
        for name, limit in found.limits.items()
        if found.figures[name][nearest] > limit
    ]
    gain, word = percent(100.0 * (1.0 - float(values[nearest] / values[row]))), "faster" if is_time else "cheaper"
    next_one = f"#{found.ids[nearest]} is {gain} % {word} and has {' and '.join(broken)}"
    return f"No {found.noun} within {limits} is {word}. {next_one}."


def _article(word: str) -> str:
    return "an" if word[0] in "aeio" else "a"


_LOOSE = 10.0
"""Percent above which a bound says nothing worth reading."""


def proof_text(factor: float, *, of_time_and_cost: bool, space: str = "") -> str:
    """Return what is proven of a design by its factor, the value of an objective over the bound of it, and of where.

    >>> proof_text(1.0, of_time_and_cost=True)
    'Proven: no design of its cost is faster.'
    >>> proof_text(1.05, of_time_and_cost=True)
    'Proven: no design of its cost is more than 4.76 % faster.'
    >>> proof_text(1.0, of_time_and_cost=True, space=" of the space below")
    'Proven of the space below: no design of its cost is faster.'
    >>> proof_text(5.0, of_time_and_cost=True)
    'Not proven: the bound is loose (80 %). `certify` may tighten it.'
    """
    what = (
        "no design of its cost is {}faster"
        if of_time_and_cost
        else ("nothing that is as good in all other objectives is {}better in one")
    )
    return _proven(factor, what, space)


def front_proof_text(factor: float) -> str:
    """Return what is proven of a front of time and cost by its largest factor.

    >>> front_proof_text(1.05), front_proof_text(1.0)
    ('Proven: at no cost is a design more than 4.76 % faster.', 'Proven: at no cost is a design faster.')
    """
    return _proven(factor, "at no cost is a design {}faster")


def _proven(factor: float, what: str, space: str = "") -> str:
    gain = 100.0 * (1.0 - 1.0 / factor)
    if is_loose(factor):
        return f"{loose_text(factor)} `certify` may tighten it."
    return f"Proven{space}: {what.format('' if gain < _NOTHING else f'more than {percent(gain)} % ')}."


def is_loose(factor: float) -> bool:
    """Return whether a bound is too far from a value for a proof, by the value over the bound.

    >>> is_loose(1.1), is_loose(1.12)
    (False, True)
    """
    return 100.0 * (1.0 - 1.0 / factor) > _LOOSE


def loose_text(factor: float) -> str:
    """Return that nothing is proven by a loose bound.

    >>> loose_text(5.0)
    'Not proven: the bound is loose (80 %).'
    """
    return f"Not proven: the bound is loose ({100.0 * (1.0 - 1.0 / factor):.0f} %)."


def scope_text(factor: float, scope: object) -> str:
    """Return what a bound is of, and whether it is a proof.

    >>> scope_text(1.05, "all orders."), scope_text(5.0, "all orders.")
    ('Proven of all orders.', 'Not proven: the bound is loose (80 %). It is of all orders.')
    """
    return f"{loose_text(factor)} It is of {scope}" if is_loose(factor) else f"Proven of {scope}"


_NOTHING = 1e-4
"""Percent that are nothing."""


def nothing_within(found: Candidates) -> str:
    """Return that nothing keeps the limits, and the best value of each."""
    best = ", ".join(best_text(column, float(found.figures[column].min())) for column in found.limits)
    limits = " and ".join(limit_text(column, limit) for column, limit in found.limits.items())
    more = "; a constraint on tokens-per-s in the file searches for more" if TOKEN_SECONDS in found.limits else ""
    return f"nothing on the front keeps {limits}; {best}{more}"
