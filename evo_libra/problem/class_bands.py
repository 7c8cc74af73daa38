"""Bands of the figures of designs from measured rows of what they buy; see `evo_libra.problem.measured`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import log
from typing import TYPE_CHECKING

import numpy as np

from evo_libra.arrays import FloatArray, Population
from evo_libra.problem.bands import JOIN, Band, Bands, Part, joined_ends
from evo_libra.problem.figures import Figures, memory
from evo_libra.problem.measured import MeasuredClass, parts_of
from evo_libra.problem.objectives import MEASURES
from evo_libra.problem.protocol import TIME
from evo_libra.workload.plans.step_class import FIRST_TOKEN, MEMORY, StepClass
from evo_libra.workload.plans.step_class import TIME as TIMES

if TYPE_CHECKING:
    from evo_libra.problem.problem import Problem
    from evo_libra.problem.time_models.loops import WeightedLoop

FIGURES = (TIMES, FIRST_TOKEN, MEMORY)
MEMORY_COLUMN = MEASURES["memory"].objective.column
_NOTHING = 1e-9
"""Difference of factors that is rounding."""


@dataclass(frozen=True)
class Known:
    """The reasons for which a figure of a design may be off, and the rows that say so."""

    parts: tuple[Part, ...]
    rows: tuple[MeasuredClass, ...]

    @property
    def ends(self) -> tuple[float, float]:
        """The factors of both ends: the squares of the logarithms of the parts add up."""
        return joined_ends(self.parts)

    def band(self, low: float, high: float) -> Band:
        """Return a band of these reasons between other factors."""
        own = self.ends
        years = [year for one in self.rows for year in one.years]
        return Band(
            low_factor=low, high_factor=high, of=JOIN.join(part.of for part in self.parts),
            rows=sum(one.rows for one in self.rows), years=(min(years), max(years)),
            parts=tuple(_scaled(part, log(low) / _log(own[0]), log(high) / _log(own[1])) for part in self.parts),
        )  # fmt: skip


def _log(factor: float) -> float:
    return log(factor) or 1.0


def _scaled(part: Part, low: float, high: float) -> Part:
    """Return a part of a figure that moves less, or more, than the time does: powers of its factors."""
    return Part(of=part.of, low_factor=part.low_factor**low, high_factor=part.high_factor**high)


class ClassBands:
    """Bands from the measured rows of the nearest class; see `evo_libra.problem.measured`.

    The figures of a design are computed again with its times, and its memory, at both ends.
    """

    def bands(self, problem: Problem, designs: Population) -> list[Bands]:
        """Return the bands of each design; none of a figure where nothing of its kind was measured."""
        classes = classes_of(problem, designs)
        if not any(classes):
            return [{} for _ in classes]
        known = {figure: [_known(mine, figure) for mine in classes] for figure in FIGURES}
        figures = problem.measure(designs)
        moved = {figure: [_moved(problem, figures, figure, _factors(each, end)) for end in (0, 1)]
                 for figure, each in known.items() if any(each)}  # fmt: skip
        stated = _columns(problem, figures)
        return [_bands_of(n, stated, known, moved) for n in range(len(classes))]


def classes_of(problem: Problem, designs: Population) -> list[tuple[StepClass, ...]]:
    """Return the classes of all workloads of each design; none where some workload is no model as a whole."""
    npus = npus_of(problem, designs)
    loops = problem.time.loops
    found = [tuple(_class_of(loop, designs, n) for loop in loops) for n in range(len(designs))]
    return [
        tuple(one.on(npu) for one in mine if one is not None) if None not in mine else ()
        for npu, mine in zip(npus, found, strict=True)
    ]


def step_factors(problem: Problem, designs: Population, loop: WeightedLoop) -> dict[str, tuple[float, float]]:
    """Return the factors of the band of a workload's own time, and of its first token, on the first design.

    A figure is not among them if nothing alike was measured.
    """
    found = _class_of(loop, designs, 0)
    if found is None or not any(isinstance(one, ClassBands) for one in problem.band_sources):
        return {}
    known = {figure: _known((found.on(npus_of(problem, designs)[0]),), figure) for figure in (TIMES, FIRST_TOKEN)}
    return {figure: one.ends for figure, one in known.items() if one is not None}


def _class_of(loop: WeightedLoop, designs: Population, n: int) -> StepClass | None:
    place = loop.open_place
    return loop.workload.step_class(0 if place is None else int(designs.plans[place, n]))


def npus_of(problem: Problem, designs: Population) -> list[str]:
    """Return the accelerator of each design under its own name, which pools of orders do not have."""
    if problem.book is None:
        known = problem.sources.npu
        return known.named(designs.technology) if known.names else [""] * len(designs)
    systems = [problem.book.orders[place].system for place in problem.book.place(designs).tolist()]
    return [problem.book.products.systems[name].npu for name in systems]


def _known(classes: Sequence[StepClass], figure: str) -> Known | None:
    """Return what is known of a figure of a design: of several classes those whose band is the widest."""
    each = [parts_of(one, figure) for one in dict.fromkeys(classes)]
    found = [Known(parts, (rows,)) for one in each if one is not None for parts, rows in [one]]
    if not found or len(found) < len(each):
        return None
    return max(found, key=lambda one: one.ends[1] / one.ends[0])


def _factors(known: Sequence[Known | None], end: int) -> FloatArray:
    return np.array([1.0 if one is None else one.ends[end] for one in known])


def _moved(problem: Problem, figures: Figures, figure: str, factor: FloatArray) -> dict[str, FloatArray]:
    """Return the columns with a kind of figure times (n,) factors."""
    return _columns(problem, _MOVES[figure](figures, factor))


def _slower(figures: Figures, factor: FloatArray) -> Figures:
    served, drawn = figures.served, figures.scenarios
    return replace(
        figures, time=figures.time * factor,
        served=None if served is None else replace(served, token=served.token * factor),
        scenarios=None if drawn is None else replace(drawn, time=drawn.time * factor),
    )  # fmt: skip


def _later(figures: Figures, factor: FloatArray) -> Figures:
    served = figures.served
    return figures if served is None else replace(figures, served=replace(served, first=served.first * factor))


def _larger(figures: Figures, factor: FloatArray) -> Figures:
    trained = figures.training
    return figures if trained is None else replace(figures, training=replace(trained, memory=trained.memory * factor))


_MOVES = {TIMES: _slower, FIRST_TOKEN: _later, MEMORY: _larger}


def _columns(problem: Problem, figures: Figures) -> dict[str, FloatArray]:
    """Return the time and the objectives of designs in SI, by column."""
    values = {one.column: MEASURES[one.name].minimised(figures) for one in problem.objectives}
    return {TIME.column: figures.time, MEMORY_COLUMN: memory(figures), **values}


def _bands_of(
    n: int, stated: dict[str, FloatArray], known: dict[str, list[Known | None]],
    moved: dict[str, list[dict[str, FloatArray]]],
) -> Bands:  # fmt: skip
    found: dict[str, Band] = {}
    for figure, ends in moved.items():
        one = known[figure][n]
        for column, values in stated.items() if one is not None else ():
            low, high = sorted(float(end[column][n] / values[n]) for end in ends)
            if high - low > _NOTHING:
                found[column] = one.band(min(low, 1.0), max(high, 1.0))  # type: ignore[union-attr]
    return found
