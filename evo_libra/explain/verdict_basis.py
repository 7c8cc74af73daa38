"""All that a verdict rests on, so that it can be taken again under another assumption."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from evo_libra.arrays import BoolArray, FloatArray, Population
from evo_libra.explain.bought_parts import BoughtPart, bought_parts, with_factors
from evo_libra.explain.candidates import Candidates
from evo_libra.explain.choice import TRAINING_DAYS, Choice
from evo_libra.explain.hour_price import ASSUMED, hour_price_of
from evo_libra.explain.labels import TOKEN_SECONDS, per_what
from evo_libra.explain.verdict_record import BY_LIMIT, BY_SHAPE
from evo_libra.front.front import Front
from evo_libra.problem.figures import Figures, TotalCostOfOwnership
from evo_libra.problem.objectives import PLAIN, Measure
from evo_libra.problem.problem import Problem

LARGEST = 10.0
"""A verdict that holds from a tenth to this many times of a figure is not said to turn."""

_STEPS, _HALVINGS = 48, 30


@dataclass(frozen=True)
class Turn:
    """The factor on a figure at which another design is to be bought, and its row."""

    factor: float
    row: int


@dataclass(frozen=True, kw_only=True)
class Basis:
    """The figures of a front that its verdict rests on.

    Attributes
    ----------
    found : what is chosen from, with limits.
    designs : of the front; `figures`, `parts` : theirs.
    value : USD of an NPU-hour that a user has given.
    """

    problem: Problem
    found: Candidates
    designs: Population
    figures: Figures
    parts: tuple[BoughtPart, ...]
    value: float | None = None

    def choice(
        self,
        factors: Mapping[int, float] | None = None,
        tco: TotalCostOfOwnership | None = None,
        slower: FloatArray | float = 1.0,
        value: float | None = None,
    ) -> Choice:
        """Return the choice under other assumptions.

        Parameters
        ----------
        factors : on the prices of parts, by their places.
        tco : other years of operation, price of energy, or PUE.
        slower : factor on (n,) times.
        value : another price of time.
        """
        each = np.array([(factors or {}).get(place, 1.0) for place in range(len(self.parts))])
        figures = with_factors(self.figures, self.parts, each[:, None])
        figures = replace(
            figures, cost=figures.cost[0], time=figures.time * slower,
            npu_price=None if figures.npu_price is None else np.asarray(figures.npu_price[0]),
            around_cost=None if figures.around_cost is None else figures.around_cost[0],
            tco=None if figures.tco is None else tco or figures.tco,
        )  # fmt: skip
        return self._choice(figures, slower, value, tco)

    def choices(self, factors: FloatArray) -> Choice:
        """Return the choice at (part, s) factors on prices: its money and totals are (s, n)."""
        return self._choice(with_factors(self.figures, self.parts, factors), 1.0, None, None)

    def _choice(
        self, figures: Figures, slower: FloatArray | float, value: float | None, tco: TotalCostOfOwnership | None
    ) -> Choice:
        price = hour_price_of(self.problem, figures, value or self.value, tco)
        return Choice(self._candidates(figures, slower), price)

    def _candidates(self, figures: Figures, slower: FloatArray | float) -> Candidates:
        """Return the candidates with all columns that other figures change, times included."""
        known = self.found.figures.items()
        columns = {column: values * self._change(column, figures, slower) for column, values in known}
        return replace(self.found, figures=columns)

    def _change(self, column: str, figures: Figures, slower: FloatArray | float) -> FloatArray | float:
        """Return the factor on a column that other figures put on it."""
        measure = self._measures.get(column)
        if measure is None:
            return slower if column in (TOKEN_SECONDS, TRAINING_DAYS) else 1.0
        return np.asarray(measure.minimised(figures) / measure.minimised(self.figures))

    @cached_property
    def _measures(self) -> dict[str, Measure]:
        """The formulas of columns, those of statistics over scenarios by their plain figure."""
        plain = {measure.objective.column: measure for measure in PLAIN.values()}
        own = {one.column: PLAIN[one.name.partition(".")[0]] for one in self.problem.objectives}
        known = {**plain, **own}
        return {column: known[column] for column in self.found.figures if column in known}

    @cached_property
    def stated(self) -> Choice:
        """The choice as stated."""
        return self.choice()

    @cached_property
    def rule(self) -> str:
        """The rule that decides."""
        return self.stated.rule()

    @cached_property
    def bought(self) -> tuple[int, BoolArray]:
        """The row to buy, and (n,) those that are equal to it."""
        return self.stated.row(self.rule)

    @property
    def tco(self) -> TotalCostOfOwnership:
        """Years of operation, price of energy, and PUE."""
        return self.problem.sources.tco or ASSUMED

    @property
    def weighs(self) -> bool:
        """Whether sums of money decide; costs of tokens have the price of time in them already."""
        cheapest = self.rule == BY_LIMIT and not per_what(self.found.money)
        return cheapest or (self.rule != BY_SHAPE and self.stated.priced)

    def is_same(self, row: int) -> bool:
        """Return whether a design is the one to buy, or no alternative to it: of the same network, or a rack more."""
        mine, equal = self.bought
        alternatives = self.found.alternatives
        return row == mine or bool(equal[row]) or bool(alternatives[row] == alternatives[mine])

    def lead(self, choice: Choice) -> tuple[float, int]:
        """Return the USD by which the design to buy leads its best rival under some choice, and the rival's row.

        It is negative where the rival is better. Rivals are those that keep the limits as stated.
        """
        row, equal = self.bought
        losses = np.where(self.stated.others(row, equal), self.losses(choice), np.inf)
        return float(losses.min()), int(losses.argmin())

    def losses(self, choice: Choice) -> FloatArray:
        """Return (n,) USD that each design loses against the one to buy under some choice."""
        costs, saves = choice.sums(self.bought[0])
        return np.asarray(costs if self.rule == BY_LIMIT else costs - saves)

    def turns(self, at: Callable[[float], Choice], rule: str | None = None) -> tuple[Turn, ...]:
        """Return the nearest factors below and above 1 at which another design is to be bought.

        If 1 is such a factor, it is the one below from which on that is so.
        """
        if not self.is_same(at(1.0).row(rule or self.rule)[0]):
            return (self._up_to(at, rule or self.rule),)
        found = (self._turn(at, sign, rule or self.rule) for sign in (-1.0, 1.0))
        return tuple(one for one in found if one is not None)

    def _up_to(self, at: Callable[[float], Choice], rule: str) -> Turn:
        """Return the lowest factor from 0 to 1 from which on another design is to be bought."""
        low, high = 0.0, 1.0
        for _ in range(_HALVINGS):
            middle = (low + high) / 2.0
            low, high = (middle, high) if self.is_same(at(middle).row(rule)[0]) else (low, middle)
        return Turn(high, at(high).row(rule)[0])

    def _turn(self, at: Callable[[float], Choice], sign: float, rule: str) -> Turn | None:
        def row_at(log: float) -> int | None:
            choice = at(float(np.exp(sign * log)))
            return choice.row(rule)[0] if choice.found.within.any() else None

        low, step = 0.0, float(np.log(LARGEST)) / _STEPS
        for high in (step * np.arange(1, _STEPS + 1)).tolist():
            row = row_at(high)
            if row is not None and not self.is_same(row):
                return self._between(row_at, low, high, sign)
            low = high
        return None

    def _between(self, row_at: Callable[[float], int | None], low: float, high: float, sign: float) -> Turn:
        for _ in range(_HALVINGS):
            middle = (low + high) / 2.0
            row = row_at(middle)
            low, high = (middle, high) if row is None or self.is_same(row) else (low, middle)
        other = row_at(high)
        assert other is not None, "it has a row at this end"  # noqa: S101 - internal error
        return Turn(float(np.exp(sign * high)), other)


def basis_of(front: Front, found: Candidates, problem: Problem, value: float | None = None) -> Basis:
    """Return what the verdict on a front rests on; some candidates keep the limits."""
    designs = problem.read(front.frame["design"].to_list())
    return Basis(
        problem=problem, found=found, designs=designs, figures=problem.measure(designs),
        parts=bought_parts(problem, designs), value=value,
    )  # fmt: skip
