"""Why a design of a front is the one to take, in sentences whose figures are computed from the front."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from evo_libra.explain.candidates import STEP, Candidates, Step
from evo_libra.problem.protocol import COST, TIME
from evo_libra.quantities import money_text, number, time_text


def difference(found: Candidates, row: int, than: int) -> str:
    """Return what a design is better and worse in than another one, in words and percent."""
    return compared_with(found.of(row), found.of(than))


def compared_with(mine: Mapping[str, float], other: Mapping[str, float]) -> str:
    """Return what figures are better and worse than others, by column, in words and percent.

    >>> compared_with({"time_ms": 90.0, "cost_usd": 120.0}, {"time_ms": 100.0, "cost_usd": 100.0})
    '10 % faster, 20 % more expensive'
    >>> compared_with({"tpot_ms": 90.0, "cost_per_Mtoken_usd": 1.2}, {"tpot_ms": 100.0, "cost_per_Mtoken_usd": 1.0})
    '10 % shorter in tpot, 20 % more expensive per Mtoken'
    """
    return ", ".join(_compared(column, 100.0 * (mine[column] / other[column] - 1.0)) for column in mine)


def _compared(column: str, change: float) -> str:
    if abs(change) < _SAME:
        return {"time": "as fast", "cost": "as cheap"}.get(noun(column), f"the same {noun(column)}")
    if change >= _MANY:
        return _times(column, 1.0 + change / 100.0)
    amount = f"{abs(change):.3g} %"
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


def noun(column: str) -> str:
    """Return what people call a column.

    >>> noun("cost_per_Mtoken_usd"), noun("tpot_ms")
    ('cost per Mtoken', 'tpot')
    """
    return column.rpartition("_")[0].replace("_", " ") or column


def why_near(found: Candidates, row: int) -> str:
    """Return what a design saves against the fastest one within the limits."""
    fastest = int(np.where(found.within, found.figures[found.time], np.inf).argmin())
    if fastest == row:
        return "it is the fastest, and nothing cheaper is nearly as fast"
    return f"against the fastest, #{found.ids[fastest]}, it is {difference(found, row, fastest)}"


def price_of_time(found: Candidates, row: int, faster: Step | None, slower: Step | None) -> str:
    """Return the price of the next step to a faster design, against that of the step up to this one."""
    what, per = noun(found.time), per_what(found.money)
    if faster is None:
        fastest = int(found.figures[found.time].argmin())
        if fastest == row:
            return "nothing on the front is faster"
        more = float(found.figures[found.money][fastest] - found.figures[found.money][row])
        gain = 1.0 - float(found.figures[found.time][fastest] / found.figures[found.time][row])
        return f"only {100 * gain:.3g} % of the {what} is left to gain, for {money_text(more, 3)}{per}"
    text = f"the next step up (#{found.ids[faster.row]}) saves {100 * faster.share:.3g} % of the {what}"
    if faster.usd <= 0:
        return f"{text} for no money"
    text += f" for {money_text(faster.usd, 3)}{per}, {money_text(faster.usd_per_ms, 3)}{per} per ms"
    if slower is None:
        return f"{text}; nothing on the front is {100 * STEP:.3g} % slower and cheaper"
    return f"{text}; the step up to this one cost {money_text(slower.usd_per_ms, 3)}{per} per ms"


def per_what(column: str) -> str:
    """Return what the money of a column is paid for, with a space before it; nothing where it is the price of all.

    >>> per_what("cost_per_Mtoken_usd"), per_what("cost_usd"), per_what("tco_usd")
    (' per Mtoken', '', '')
    """
    return column.removeprefix("cost").removesuffix("_usd").replace("_", " ") if column.startswith("cost") else ""


def why_balanced(found: Candidates, row: int) -> str:
    """Return how far a design is from the best of each objective."""
    best = (
        f"{100 * (float(values[row]) / float(values.min()) - 1.0):.3g} % above the least {noun(column)}"
        for column, values in ((column, found.figures[column]) for column in found.objectives)
    )
    return f"it is {', '.join(best)}"


def why_within(found: Candidates, row: int, column: str) -> str:
    """Return which limits the next better design breaks, in a column that is minimised within them."""
    values, word = found.figures[column], "faster" if column == found.time else "cheaper"
    there = np.flatnonzero(values < values[row])
    limits = " and ".join(limit_text(column, limit) for column, limit in found.limits.items())
    if not len(there):
        return f"nothing on the front is {word}, within {limits} or not"
    nearest = int(there[values[there].argmax()])
    broken = [
        f"a {noun(name)} of {value_text(name, float(found.figures[name][nearest]))}"
        for name, limit in found.limits.items()
        if found.figures[name][nearest] > limit
    ]
    gain = 100.0 * (1.0 - float(values[nearest] / values[row]))
    return f"nothing within {limits} is {word}; #{found.ids[nearest]}, {gain:.3g} % {word}, has {' and '.join(broken)}"


def limit_text(column: str, limit: float) -> str:
    """Return a limit as people write it.

    >>> limit_text("cost_usd", 3e8), limit_text("time_ms", 5000.0), limit_text("power_kW", 70.0)
    ('cost <= 300 MUSD', 'time <= 5000 ms', 'power <= 70 kW')
    """
    return f"{noun(column)} <= {value_text(column, limit)}"


def value_text(column: str, value: float) -> str:
    """Return a figure of a column with its unit.

    >>> value_text("cost_usd", 3.2e8), value_text("power_kW", 1234.5)
    ('320 MUSD', '1234.5 kW')
    """
    if column.endswith("_ms"):
        return time_text(value)
    if column.endswith("_usd"):
        return money_text(value, 5)
    return f"{number(value)} {column.rpartition('_')[2]}"


def figure_text(column: str, value: float) -> str:
    """Return a figure of a column with its unit, and its name unless it is the time or the cost.

    >>> figure_text("time_ms", 5.0), figure_text("tpot_ms", 5.0), figure_text("cost_per_Mtoken_usd", 1.4)
    ('5 ms', 'tpot 5 ms', 'cost per Mtoken 1.4 USD')
    """
    text = value_text(column, value)
    return text if column in (TIME.column, COST.column) else f"{noun(column)} {text}"


def nothing_within(found: Candidates) -> str:
    """Return that nothing keeps the limits, and the best value of each."""
    best = ", ".join(
        f"the least {noun(column)} is {value_text(column, float(found.figures[column].min()))}"
        for column in found.limits
    )
    limits = " and ".join(limit_text(column, limit) for column, limit in found.limits.items())
    return f"nothing on the front keeps {limits}; {best}"
