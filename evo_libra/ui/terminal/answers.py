"""What the terminal UI says of which design to take, why one is as it is, and what two differ in: titles and texts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evo_libra.front.front import Front

Answer = list[tuple[str, str]]
"""Titles, each with the text below it."""


def which_one(front: Front) -> Answer:
    """Return which designs of a front to look at first, and what their runners-up lose."""
    from evo_libra.explain.reasons import value_text
    from evo_libra.front.families import families_of

    place, labels = {one: at for at, one in enumerate(front.frame["id"].to_list())}, families_of(front).labels
    found = []
    for row in front.recommend():
        values = ", ".join(value_text(column, row[column]) for column in front.objectives)
        lines = [values, f"why: {row['reason']}"]
        if row["runner_up"] is not None:
            network = labels[place[row["runner_up"]]]
            lines.append(f"runner-up: #{row['runner_up']} {network} is {row['runner_up_is']}")
        found.append((f"#{row['id']} {labels[place[row['id']]]}, the {' and the '.join(row['kinds'])}", _text(lines)))
    return found


def why(found: Mapping[str, Any]) -> Answer:
    """Return why a design is as it is, from `evo_libra.ui.commands.explain.explanation`."""
    from evo_libra.front.families import short_network
    from evo_libra.ui.commands.explain import bottleneck_sentences, cheapest_ms

    dimensions = [
        (f"dim {row['dimension']}", f"{row['busy_ms']:.4g}", f"{row['slack_percent']:.3g}",
         f"{row['saves_ms_per_GBps']:.3g}")
        for row in found["dimensions"]
    ]  # fmt: skip
    columns = [key for key in (found["steps"] or [{}])[0] if key.endswith("_percent")]
    heads = [f"{column.removesuffix('_percent').rpartition('_')[0]} %" for column in columns]
    steps = [
        (step["change"], *(f"{step[column]:+.3g}" for column in columns), "; ".join(step["broken"]))
        for step in found["steps"]
    ]
    return [
        (f"{found['name']} {short_network(found['design'])}", _text([*found["standing"], *_labels(found)])),
        ("dimensions", _table([("", "busy ms", "slack %", "ms per GB/s"), *dimensions])),
        ("", _text(bottleneck_sentences(found["dimensions"]))),
        ("one step away", _table([("", *heads, ""), *steps])),
        ("", _text(cheapest_ms(found))),
    ]


def _labels(found: Mapping[str, Any]) -> list[str]:
    """Return what is to be known about the figures."""
    return [found["approximation"]] if "approximation" in found else []


def against(found: Mapping[str, Any]) -> Answer:
    """Return what two designs differ in, from `evo_libra.ui.commands.diff.difference_of`."""
    from evo_libra.quantities import money_unit, time_unit
    from evo_libra.ui.commands.diff import winners

    differs = [row for row in found["network"] if row["differs"]]
    rows = [(f"dim {row['dimension']}", row["first"] or "-", row["second"] or "-") for row in differs]
    rows += [(row["of"], row["first"] or "-", row["second"] or "-") for row in found["plan"]]
    time, cost = time_unit(found["first"]["time_ms"]), money_unit(found["first"]["cost_usd"])
    names = f"first: {found['first']['name']}", f"second: {found['second']['name']}, {found['second_is']}"
    return [
        ("", _text([*names, *_labels(found)])),
        ("what differs", _text(f"{name}\n    {first}\n    {second}" for name, first, second in rows) or "nothing"),
        (f"where the time goes [{time[0]}]", _table(list(_changes(found["time"], "ms", time[1])))),
        (f"where the money goes [{cost[0]}]", _table(list(_changes(found["money"], "usd", cost[1])))),
        ("who wins when", _text(winners(found))),
    ]


def _changes(rows: Sequence[Mapping[str, Any]], unit: str, size: float) -> Iterator[tuple[str, ...]]:
    keys = (f"first_{unit}", f"second_{unit}", f"change_{unit}")
    yield "", "first", "second", "change"
    for row in rows:
        yield row["part"], *(f"{row[key] / size:.4g}" for key in keys)
    yield "total", *(f"{sum(row[key] for row in rows) / size:.5g}" for key in keys)


def _table(rows: Sequence[Sequence[str]]) -> str:
    """Return rows as lines: the first column and the last one of words flush left, figures flush right."""
    wide = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join(
        "  ".join(
            [f"{row[0]:<{wide[0]}}", *(f"{cell:>{w}}" for cell, w in zip(row[1:], wide[1:], strict=True))]
        ).rstrip()
        for row in rows
    )


def _text(lines: Sequence[str] | Iterator[str]) -> str:
    return "\n".join(lines)
