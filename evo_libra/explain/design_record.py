"""The record of a design, whichever command, screen or page shows it, and its position on a front."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from evo_libra.arrays import Population
from evo_libra.explain.candidates import Candidates
from evo_libra.explain.difference import busy_times
from evo_libra.explain.explain import breakdown_of
from evo_libra.explain.labels import noun
from evo_libra.explain.neighbours import neighbours, objectives_of, shadow_price, slack
from evo_libra.explain.order_remarks import order_remarks
from evo_libra.explain.reasons import compared_with, difference
from evo_libra.explain.record import Breakdown, DesignRecord, DimensionUse
from evo_libra.network.transport import approximation
from evo_libra.problem.bands import bands_of
from evo_libra.problem.designs import violations, warnings_of
from evo_libra.problem.link_limits import beyond_links
from evo_libra.problem.problem import Problem

if TYPE_CHECKING:
    from evo_libra.explain.candidates import Candidates


def position_on_front(found: Candidates, row: int) -> list[str]:
    """Return why nothing on the front beats a design of it: what the next better one in each objective is worse in."""
    sentences = []
    for column in found.objectives:
        values = found.figures[column]
        better = np.flatnonzero(values < values[row])
        word, of = {"time_ms": ("faster", ""), "cost_usd": ("cheaper", ""), "order_cost_usd": ("cheaper", "")}.get(
            column, ("better", f" in {noun(column)}")
        )
        if len(better):
            nearest = int(better[values[better].argmax()])
            sentences.append(
                f"#{found.ids[nearest]}, the next {word} {found.noun}{of}, is {difference(found, nearest, row)}"
            )
        else:
            sentences.append(f"no {found.noun} on the front is {word}{of}")
    return sentences


def beaten_by(found: Candidates, figures: Mapping[str, float]) -> list[str]:
    """Return what on a front is as good as some figures in every objective and better in one; that nothing is."""
    mine = np.array([[figures[column]] for column in found.objectives])
    better = np.flatnonzero((found.values <= mine).all(axis=0) & (found.values < mine).any(axis=0))
    if not len(better):
        return ["nothing on the front is as good in every objective"]
    best = int(better[(found.values[:, better] / mine).prod(axis=0).argmin()])
    own = {column: figures[column] for column in found.objectives}
    count = f"{len(better):,} of {len(found.ids):,} {found.noun}s on the front are better"
    return [f"{count}; #{found.ids[best]} is {compared_with(found.of(best), own)}"]


_NONE = 1e-9


def design_record(
    problem: Problem, design: str, *, name: str = "", front: Candidates | None = None, row: int | None = None,
    alternatives: bool = True,
) -> DesignRecord:  # fmt: skip
    """Return the record of a design without its steps, which `with_steps` adds.

    Parameters
    ----------
    name : its id on its front; without one it is called by its notation.
    front : its front, and `row` its place there; None for a design that is not on it.
    alternatives : whether other plans are of interest, which take most of the time.
    """
    population = problem.read(design)
    notation = problem.notation.written(population)[0]
    breakdown, broken = breakdown_of(problem, population, alternatives=alternatives), violations(problem, population)
    objectives, (beyond,) = objectives_of(problem, population), beyond_links(problem, population)
    return DesignRecord(
        name=name or notation,
        design=notation,
        time_ms=breakdown.time_ms,
        cost_usd=breakdown.cost_usd,
        objectives=objectives,
        bands=bands_of(problem, population)[0],
        feasible=not broken,
        violations=tuple(broken),
        standing=() if front is None else _position(front, row, objectives),
        approximation=approximation([design]).get("approximation", ""),
        warnings=tuple(warnings_of(problem, population)),
        remarks=order_remarks(problem, population),
        shares=beyond,
        breakdown=breakdown,
    )


def _position(front: Candidates, row: int | None, objectives: Mapping[str, float]) -> tuple[str, ...]:

    return tuple(beaten_by(front, objectives) if row is None else position_on_front(front, row))


def with_steps(record: DesignRecord, problem: Problem) -> DesignRecord:
    """Return a record with what each dimension does and what each step away from the design costs."""
    steps = neighbours(problem, record.design)
    uses = _uses(problem, problem.read(record.design), record.breakdown)
    better = tuple(one.change for one in steps if not one.broken and _is_better(one.percent))
    return replace(record, dimensions=uses, steps=steps, better_steps=better)


def _is_better(percent: Mapping[str, float]) -> bool:
    """Return whether a step is better in one objective and no worse in the others."""
    return max(percent.values()) <= _NONE and min(percent.values()) < -_NONE


def _uses(problem: Problem, population: Population, breakdown: Breakdown) -> tuple[DimensionUse, ...]:
    busy = busy_times(breakdown)
    lost, saved = slack(problem, population), shadow_price(problem, population)
    return tuple(
        DimensionUse(
            dimension=one.dimension,
            block=one.block,
            npus=one.npus,
            technology=one.technology,
            bandwidth_GBps=one.bandwidth_GBps,
            busy_ms=busy[f"dim {one.dimension}"],
            busy_percent=100.0 * busy[f"dim {one.dimension}"] / breakdown.time_ms,
            slack_percent=100.0 * float(lost[one.dimension]),
            saves_ms_per_GBps=float(saved[one.dimension]) * 1e12,
            cost_usd=one.cost_usd,
        )
        for one in breakdown.dimensions
    )
