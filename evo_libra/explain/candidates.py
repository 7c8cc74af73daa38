"""Designs of a front as arrays of figures to choose from, and the ways from one to another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from evo_libra.arrays import BoolArray, FloatArray, IntArray
from evo_libra.errors import InputError
from evo_libra.front.families import families_of, short_network, structures_of
from evo_libra.front.front import Front, time_of
from evo_libra.problem.bands import BAND, FACTORS, HIGH, LOW, Part, are_equal, read_parts

STEP = 0.1
"""The share of the time in the question what the next one costs."""


FEWEST_WITH_KNEE = 4
"""Designs from which on a front may bend; of fewer, a knee would be one of the ends or the only other design."""


@dataclass(frozen=True)
class Candidates:
    """Candidates of a recommendation.

    Attributes
    ----------
    ids : (n,) of the designs; `network` : (n,) the kinds of network among which runners-up differ.
    figures : (n,) of each objective, and of other figures that are limited, by column.
    objectives : columns that are minimised.
    limits : the largest value of a column.
    ends : (n,) ends of the bands of objectives, by column; NaN of a design that has none.
    reasons : for which the time of each design may be off; empty where none has a band.
    same_but_number : (n,) orders that differ in nothing but how many systems they have; None : designs by `network`.
    noun : what a row is, an order or a design.
    """

    ids: IntArray
    network: IntArray
    figures: Mapping[str, FloatArray]
    objectives: tuple[str, ...]
    limits: Mapping[str, float] = field(default_factory=dict)
    noun: str = "design"
    ends: Mapping[str, tuple[FloatArray, FloatArray]] = field(default_factory=dict)
    reasons: Sequence[tuple[Part, ...]] = ()
    same_but_number: IntArray | None = None

    @property
    def alternatives(self) -> IntArray:
        """(n,) what could be bought: designs of the same are no alternatives to each other."""
        return self.network if self.same_but_number is None else self.same_but_number

    @property
    def values(self) -> FloatArray:
        """(m, n) objectives."""
        return np.array([self.figures[column] for column in self.objectives])

    def of(self, row: int) -> dict[str, float]:
        """Return the objectives of a design."""
        return {column: float(self.figures[column][row]) for column in self.objectives}

    def between(self, row: int) -> dict[str, tuple[float, float]]:
        """Return the ends of the bands of a design, by objective."""
        found = {column: (float(low[row]), float(high[row])) for column, (low, high) in self.ends.items()}
        return {column: both for column, both in found.items() if not np.isnan(both).any()}

    def equals(self, row: int) -> BoolArray:
        """Return (n,) whether bands leave open which of two designs is better in the time that is minimised.

        Reasons that both designs share are one error, and cancel.
        """
        if not self.reasons or not self.time:
            return np.zeros(len(self.ids), dtype=np.bool_)
        values, mine = self.figures[self.time], self.reasons[row]
        ratios = (values[row] / values).tolist()
        return np.array([are_equal(ratio, mine, other) for ratio, other in zip(ratios, self.reasons, strict=True)])

    @property
    def bends(self) -> bool:
        """Whether enough designs keep the limits for a knee: designs that are equal within their bands count as one."""
        left, distinct = self.within, 0
        while left.any() and distinct < FEWEST_WITH_KNEE:
            first = int(np.flatnonzero(left)[0])
            left = left & ~self.equals(first)
            left[first] = False
            distinct += 1
        return distinct == FEWEST_WITH_KNEE

    @property
    def money(self) -> str:
        """The column that is paid; empty for none."""
        return next((column for column in self.objectives if column.endswith("_usd")), "")

    @property
    def time(self) -> str:
        """The column of the time that is minimised: that of an iteration, or the first other one; empty for none."""
        return time_of(self.objectives)

    @property
    def priced(self) -> bool:
        """Whether time is bought for money."""
        return bool(self.time and self.money)

    @property
    def within(self) -> BoolArray:
        """(n,) whether designs keep the limits."""
        kept = np.ones(len(self.ids), dtype=np.bool_)
        for column, limit in self.limits.items():
            kept &= self.figures[column] <= limit
        return kept


def candidates_of(
    front: Front, limits: Mapping[str, float] | None = None, more: Mapping[str, FloatArray] | None = None
) -> Candidates:
    """Return what recommendations of a front are chosen from.

    Parameters
    ----------
    limits : the largest value of a column.
    more : (n,) figures that are no objectives and are limited, by column.
    """
    figures = {column: front.frame[column].to_numpy() for column in front.objectives} | dict(more or {})
    unknown = [column for column in limits or () if column not in figures]
    if unknown:
        raise InputError(f"{unknown[0]} is no objective of the front: {', '.join(front.objectives)}")
    ids = front.frame["id"].to_numpy()
    # Blocks alone often make no difference: a runner-up has other sizes or technologies, if there are any.
    networks = structures_of(front)
    networks = networks if len(networks) > 1 else families_of(front)
    ends = {c: (front.frame[LOW + c].to_numpy(), front.frame[HIGH + c].to_numpy()) for c in front.banded}
    return Candidates(
        ids, networks.of, figures, objectives=front.objectives, limits=dict(limits or {}), noun=front.noun, ends=ends,
        reasons=_reasons(front) if ends else (), same_but_number=_same_but_number(front),
    )  # fmt: skip


def _same_but_number(front: Front) -> IntArray | None:
    """Return orders in groups: those of a file that says about how many NPUs differ in racks more or less."""
    if front.noun != "order":
        return None
    heads = [short_network(design).partition(" ")[2] for design in front.frame["design"]]
    names = list(dict.fromkeys(heads))
    return np.array([names.index(head) for head in heads], dtype=np.int64)


def _reasons(front: Front) -> tuple[tuple[Part, ...], ...]:
    """Return the reasons for which the time of each design of a front may be off; earlier fronts have no factors."""
    if FACTORS not in front.frame.columns:
        return ()
    pairs = zip(front.frame[BAND].to_list(), front.frame[FACTORS].to_list(), strict=True)
    return tuple(() if names is None else read_parts(names, factors) for names, factors in pairs)


@dataclass(frozen=True)
class Step:
    """The way from a design to another one that is faster or slower by a tenth of the time at least.

    Attributes
    ----------
    row : of the other design.
    usd : that the faster one of the two costs more.
    ms : that it is faster; `share` of the slower one's time.
    """

    row: int
    usd: float
    ms: float
    share: float

    @property
    def usd_per_ms(self) -> float:
        """USD per ms of this step."""
        return self.usd / self.ms


def step(found: Candidates, row: int, *, to_faster: bool) -> Step | None:
    """Return the way to the cheapest design that is a tenth faster, or to the fastest one that is a tenth slower."""
    time, cost = found.figures[found.time], found.figures[found.money]
    if to_faster:
        there = np.flatnonzero(time <= time[row] * (1.0 - STEP))
        best = there[np.lexsort((time[there], cost[there]))[:1]]
    else:
        there = np.flatnonzero((time >= time[row] / (1.0 - STEP)) & (cost < cost[row]))
        best = there[np.lexsort((cost[there], time[there]))[:1]]
    if not len(best):
        return None
    other, sign = int(best[0]), 1.0 if to_faster else -1.0
    ms = float(time[row] - time[other]) * sign
    return Step(other, float(cost[other] - cost[row]) * sign, ms, ms / float(max(time[row], time[other])))
