"""Sections of what a design is and why: its figures, its bottlenecks and slack, and what each step away costs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from evo_libra.explain.labels import cell, change, noun, percent, short_design, value_text
from evo_libra.explain.money_sheet import money_section
from evo_libra.explain.neighbours import Neighbour
from evo_libra.explain.record import DesignRecord, DimensionUse
from evo_libra.explain.sheet import Section, Table, section
from evo_libra.explain.time_sheet import streams_table, workload_sections
from evo_libra.network.fabric import is_order
from evo_libra.quantities import money_text, number

_NONE = 1e-9
_TIGHT = 0.1
"""Percent of slack that is none."""
_TIME, _COST = "time_ms", "cost_usd"


def evaluated(record: DesignRecord) -> list[Section]:
    """Return the figures of a design, and where time and money go."""
    figures = [(noun(column), value_text(column, value)) for column, value in record.figures.items()]
    wide = max(len(name) for name, _ in figures)
    lines = [f"{name:<{wide}}  {text}" for name, text in figures]
    broken = [f"broken: {sentence}" for sentence in record.violations]
    head = section(short_design(record.design), lines, broken)
    return [head, *workload_sections(record.breakdown), money_section(record.breakdown)]


def explained(record: DesignRecord) -> list[Section]:
    """Return why nothing on its front beats a design, its bottlenecks and slack, and what each step costs."""
    uses, steps = record.dimensions or (), record.steps or ()
    streams = [(one.name, one.training.optimizer_streams) for one in record.breakdown.workloads if one.training]
    better = record.better_steps or ()
    return [
        section(record.title, short_design(record.design), record.standing, record.approximation),
        section(
            "", uses_table(record.design, uses), bottleneck_sentences(uses),
            [streams_table(one, name) for name, one in streams if one],
        ),
        section(
            "", [steps_table(steps, record.objectives)] if steps else (), cheapest_ms(steps, record.objectives),
            [f"better in one objective and no worse in the others: {one}" for one in better], map(str, record.warnings),
        ),
    ]  # fmt: skip


def uses_table(design: str, uses: Sequence[DimensionUse]) -> Table:
    """Return how long each dimension is busy, what it could lose, and what more of it saves."""
    parts = [f"{one.block}({one.npus}) {one.technology}" for one in uses]
    if not is_order(design):
        parts = short_design(design).split(" ", maxsplit=1)[0].split("_")
    return Table(
        title="dimensions, GB/s per NPU; each row changes one dimension only",
        columns=("dimension", "busy\n[ms]", "of the\ntime [%]", "slack\n[%]", "saves\n[ms per GB/s]", "cost"),
        rows=tuple(
            (
                f"{one.dimension}: {part}", cell(one.busy_ms), percent(one.busy_percent), percent(one.slack_percent),
                percent(one.saves_ms_per_GBps), money_text(one.cost_usd, 3),
            )
            for part, one in zip(parts, uses, strict=True)
        ),
        folds=("dimension",),
    )  # fmt: skip


def bottleneck_sentences(uses: Sequence[DimensionUse]) -> list[str]:
    """Return which dimension holds a design back, and which have more bandwidth than it can use."""
    best = max(uses, key=lambda one: one.saves_ms_per_GBps)
    tight = [one for one in uses if one.slack_percent <= _TIGHT]
    names = " and ".join(f"dim {one.dimension}" for one in tight)
    if best.saves_ms_per_GBps > _NONE:
        head = f"the bottleneck is dim {best.dimension}: one GB/s more saves {number(best.saves_ms_per_GBps)} ms"
    elif len(tight) > 1:
        head = f"{names} wait for each other: more of one alone saves nothing, less of it takes longer"
    else:
        head = "no dimension alone holds it back"
    loose = [one for one in uses if one.slack_percent > _TIGHT]
    return [
        head,
        *(
            f"dim {one.dimension} could lose {percent(one.slack_percent)} % of its bandwidth at the same time"
            for one in loose
        ),
    ]


def steps_table(steps: Sequence[Neighbour], objectives: Mapping[str, float]) -> Table:
    """Return what each step away changes, in percent of each objective, what a ms costs, and what forbids it."""
    broken, priced = any(step.broken for step in steps), objectives.keys() >= {_TIME, _COST}
    heads = (f"{column.rpartition('_')[0] or column}\n[%]" for column in objectives)
    return Table(
        title="one step away",
        columns=("change", *heads, *(["a ms costs"] if priced else []), *(["but"] if broken else [])),
        rows=tuple(
            (
                step.change, *(change(step.percent[f"{column}_percent"]) for column in objectives),
                *([_price_text(step, objectives)] if priced else []),
                *(["; ".join(step.broken)] if broken else []),
            )
            for step in steps
        ),
        folds=("change", "but"),
    )  # fmt: skip


def _price_text(step: Neighbour, objectives: Mapping[str, float]) -> str:
    price = _price(step, objectives)
    return "" if price is None else money_text(price, 3)


def cheapest_ms(steps: Sequence[Neighbour], objectives: Mapping[str, float]) -> Iterator[str]:
    """Yield which feasible step saves time for the least money, if one does."""
    faster = [step for step in steps if not step.broken and step.percent.get(f"{_TIME}_percent", 0.0) < 0]
    priced = [(price, step.change) for step in faster if (price := _price(step, objectives)) is not None]
    if priced:
        price, least = min(priced)
        yield f"the cheapest step to a shorter time: {least}, {money_text(price, 3)} per ms"


def _price(step: Neighbour, objectives: Mapping[str, float]) -> float | None:
    """Return the USD of a ms that a step saves, or that it saves for a ms more; None where it is no such exchange."""
    if not objectives.keys() >= {_TIME, _COST}:
        return None
    ms, usd = objectives[_TIME] - step.values[_TIME], step.values[_COST] - objectives[_COST]
    return usd / ms if ms * usd > 0 else None
