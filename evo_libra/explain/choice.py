"""The choice of one design among candidates: what decides, the design to buy, and the sums against all others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evo_libra.arrays import BoolArray, FloatArray
from evo_libra.explain.candidates import Candidates
from evo_libra.explain.hour_price import HourPrice
from evo_libra.explain.labels import TOKEN_SECONDS, per_what
from evo_libra.explain.recommend import recommend
from evo_libra.explain.verdict_record import BY_LIMIT, BY_PRICE, BY_SHAPE, BY_VALUE, Rival
from evo_libra.problem.protocol import TIME

TRAINING_DAYS = "training_days"
"""The column of a deadline, which is no objective."""

_OF_SYSTEMS = (TIME.column, "useful_iteration_ms")
"""Times for which a whole system works; of others, only a user waits."""


@dataclass(frozen=True)
class Choice:
    """A choice among candidates, some of which keep the limits.

    Attributes
    ----------
    price : of an hour of each.
    """

    found: Candidates
    price: HourPrice

    @property
    def priced(self) -> bool:
        """Whether a time that a whole system works for has a price."""
        return self.of_system and self.price.usd_per_npu_hour() is not None

    @property
    def of_system(self) -> bool:
        """Whether whole systems are bought for a time that they work; if they serve, users wait for that time."""
        whole = bool(self.found.money) and not per_what(self.found.money)
        return self.found.time in _OF_SYSTEMS and whole and not self.price.serves

    def rule(self) -> str:
        """Return what decides."""
        if self.priced and self.price.value is not None:
            return BY_VALUE
        timed = {TIME.column, TRAINING_DAYS, TOKEN_SECONDS} & self.found.limits.keys()
        if self.found.money and (timed or self.price.users_limited):
            return BY_LIMIT
        return BY_PRICE if self.priced else BY_SHAPE

    def row(self, rule: str) -> tuple[int, BoolArray]:
        """Return the design to buy, and (n,) others whose time is equal to that of the best one within their bands.

        Of these it is the cheapest; each does better than the designs whose bands lie apart. If limits decide, money
        alone does: none is equal.
        """
        if rule == BY_SHAPE:
            return recommend(self.found)[0].row, np.zeros(len(self.found.ids), dtype=np.bool_)
        money = self.found.figures[self.found.money]
        score = np.where(self.found.within, money if rule == BY_LIMIT else self.score(), np.inf)
        best = int(score.argmin())
        if rule == BY_LIMIT:
            return best, np.zeros(len(score), dtype=np.bool_)
        equal = self.found.within & self.found.equals(best)
        equal[best] = True
        equal &= score <= np.where(equal, np.inf, score).min()
        row = int(np.where(equal, money, np.inf).argmin())
        equal[row] = False
        return row, equal

    @property
    def work(self) -> FloatArray:
        """(n,) the time of the same work: of an iteration, or of a token where designs differ in them."""
        time = self.found.figures[self.found.time]
        return time if self.price.tokens is None else np.asarray(time / self.price.tokens * self.price.tokens.max())

    @property
    def money(self) -> FloatArray:
        """(n,) USD of each over the years of operation, with energy where its price is known."""
        total = self.price.total_usd
        return np.asarray(self.found.figures[self.found.money] if total is None else total)

    def score(self) -> FloatArray:
        """Return (n,) the score, which is lowest for the best design.

        That is the price of the same work: price of an hour times time. If the price of an hour is given, and is
        that of all designs, it is C + K ln(t): a percent of the time costs a percent of K, the price of all hours.
        """
        if self.price.total_usd is not None and self.price.value is None:
            return np.asarray(self.money * self.work)
        return np.asarray(self.money + (self.price.value or 0.0) * self.npu_hours * np.log(self.work))

    @property
    def npu_hours(self) -> float:
        """NPU-hours of operation, for all: those of the design that does the work for the least money.

        The price of its own hour then buys it, too: for x = C/C* it is x - 1 >= ln(x). Without prices of whole systems
        they are those of the design in the middle.
        """
        npus, total = self.price.npus, self.price.total_usd
        assert npus is not None  # noqa: S101 - internal error
        if total is None:
            return float(np.median(npus)) * self.price.hours
        sums = total * self.work
        least = np.where(self.found.within, sums if sums.ndim == 1 else np.median(sums, axis=0), np.inf).argmin()
        return float(npus[least]) * self.price.hours

    def sums(self, row: int) -> tuple[FloatArray, FloatArray]:
        """Return (n,) USD that designs cost more than one, and USD of the time that they save in its work."""
        costs = self.money - self.money[..., row, None]
        if self.price.total_usd is not None and self.price.value is None:
            return np.asarray(costs), np.asarray(self.money * (1.0 - self.work / self.work[row]))
        return np.asarray(costs), np.asarray((self.price.value or 0.0) * self.npu_hours * self.saved(row))

    def saved(self, row: int) -> FloatArray:
        """Return (n,) the logarithm of the time that designs save against one: alike from both sides of a pair."""
        return np.asarray(np.log(self.work[row]) - np.log(self.work))

    def turns(self, row: int) -> FloatArray:
        """Return (n,) USD of an NPU-hour at which designs and one are as good, whether or not a price is given."""
        saved = self.npu_hours * self.saved(row)
        costs = self.money - self.money[row]
        return np.asarray(np.divide(costs, saved, out=np.full(len(saved), np.nan), where=saved != 0))

    def rival(self, row: int, other: int, name: str) -> Rival:
        """Return a design with the sum of it against the one that is bought."""
        costs, saves = (float(each[other]) for each in self.sums(row))
        alone, turns = self.found.figures[self.found.money], float(self.turns(row)[other])
        whole = self.price.total_usd is not None and self.found.noun == "order"
        return Rival(
            id=int(self.found.ids[other]), name=name, costs_usd=costs, saves_usd=saves,
            energy_usd=costs - float(alone[other] - alone[row]) if whole else None,
            time_percent=100.0 * float(1.0 - self.work[other] / self.work[row]),
            turns_at_usd_per_npu_hour=turns if turns > 0 and self.is_clear(row, other, turns) else None,
        )  # fmt: skip

    def is_clear(self, row: int, other: int, turns: float) -> bool:
        """Return whether the price of an hour of the design that is bought lies on its side of a turning point.

        Two designs that are as good but for a little have it between the prices of their own hours.
        """
        hourly = self.price.usd_per_npu_hour()
        costs, saves = self.sums(row)
        if hourly is None or costs[other] < saves[other]:
            return True
        return bool((hourly[row] < turns) == (self.work[other] < self.work[row]))

    def others(self, row: int, equal: BoolArray) -> BoolArray:
        """Return (n,) the designs that could be bought instead of one: other networks, where there are any.

        Thousands of bandwidths of one network, or a rack more, are no alternatives to each other.
        """
        others = self.found.within & ~equal
        others[row] = False
        apart = others & (self.found.alternatives != self.found.alternatives[row])
        return apart if apart.any() else others

    def losses(self, row: int, equal: BoolArray, rule: str) -> FloatArray:
        """Return (n,) USD that each of the others loses against the design that is bought; infinite of itself."""
        costs, saves = self.sums(row)
        return np.where(self.others(row, equal), costs if rule == BY_LIMIT else costs - saves, np.inf)
