"""The verdict on a front: the one design to buy, the next best one, and the sum that decides between them.

Time has a price. A design that is faster does the same work in fewer hours, and an hour costs what the whole system
costs over its years of operation. The design whose hours times their price are least does the work for the least money:
every step away from it costs more than it saves.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from evo_libra.arrays import BoolArray, FloatArray
from evo_libra.errors import InfeasibleError, InputError
from evo_libra.explain.candidates import Candidates
from evo_libra.explain.hour_price import HourPrice, hour_price
from evo_libra.explain.labels import limit_text, per_what
from evo_libra.explain.reasons import difference_and_band, nothing_within
from evo_libra.explain.recommend import recommend
from evo_libra.explain.verdict_record import (
    BY_LIMIT,
    BY_PRICE,
    BY_SHAPE,
    BY_VALUE,
    Rival,
    Verdict,
    hourly_text,
    with_text,
    years_text,
)
from evo_libra.front.families import families_of, short_network, short_plans
from evo_libra.front.front import Front
from evo_libra.problem.problem import Problem
from evo_libra.problem.protocol import TIME, SearchProblem
from evo_libra.quantities import money_text, number

TRAINING_DAYS, TOKEN_SECONDS = "training_days", "time_per_Mtoken_s"
"""Columns of limits that are no objectives: a deadline, and a rate as its inverse."""

_OF_SYSTEMS = (TIME.column, "useful_iteration_ms")
"""Times for which a whole system works; of others, only a user waits."""
_MS_PER_DAY = 8.64e7


def verdict(
    front: Front, found: Candidates, problem: SearchProblem | None = None, value: float | None = None
) -> Verdict:
    """Return which design of a front to buy; an `InfeasibleError` says that none keeps the limits.

    Parameters
    ----------
    found : what it is chosen from, with limits.
    problem : what they are designs of; None where that is not at hand, and then time has no price.
    value : USD of an NPU-hour, in the place of what an hour costs; an `InputError` says that it has no use.
    """
    if not found.within.any():
        raise InfeasibleError(nothing_within(found))
    designs = front.frame["design"].to_list() if "design" in front.frame.columns else None
    price = hour_price(problem, designs, value)
    return verdict_of(found, price, _names(front, designs), limited=_served(problem))


def verdict_of(found: Candidates, price: HourPrice, names: Sequence[str], *, limited: bool = False) -> Verdict:
    """Return the candidate to buy; some candidates keep the limits.

    Parameters
    ----------
    price : of an hour of each; an `InputError` says that a given price of time has no use.
    names : of the designs.
    limited : whether the file limits the time of users.
    """
    choice = _Choice(found, price, names, limited)
    if price.value is not None and not choice.priced:
        raise InputError(f"a price of time has no use here. {choice.unpriced().removesuffix('.')}")
    return choice.verdict()


def _names(front: Front, designs: Sequence[str] | None) -> list[str]:
    """Return what designs are called: an order by its notation, with the plan where several have the same."""
    if front.noun != "order" or designs is None:
        return families_of(front).labels
    names = [short_network(design) for design in designs]
    plans, _ = short_plans([design.partition(" | ")[2] for design in designs])
    several = {name for name, count in Counter(names).items() if count > 1}
    return [f"{name}, {plan}" if name in several else name for name, plan in zip(names, plans, strict=True)]


def _served(problem: SearchProblem | None) -> bool:
    """Return whether the file limits what users wait for."""
    return isinstance(problem, Problem) and any(one.quantity in ("ttft", "tpot") for one in problem.constraints)


@dataclass(frozen=True)
class _Choice:
    """A choice among candidates; `limited` where the file limits the time of users."""

    found: Candidates
    price: HourPrice
    names: Sequence[str]
    limited: bool

    def verdict(self) -> Verdict:
        rule = self.rule()
        row, equal = self.row(rule)
        next_best, faster = self.rivals(rule, row, equal)
        hourly = self.price.usd_per_npu_hour()
        draft = Verdict(
            id=int(self.found.ids[row]), name=self.names[row], rule=rule, it_is=" ".join(self.reasons(row, rule)),
            next_best=next_best, faster=faster, equal=tuple(self.found.ids[equal].tolist()),
            usd_per_npu_hour=None if hourly is None or not self.priced else float(hourly[row]),
            operation=self.price.tco.model_dump() if self.priced else {}, assumed=self.priced and self.price.assumed,
            notes=tuple(self.notes(rule)),
        )  # fmt: skip
        return with_text(draft, self.found.noun, self.price.hours)

    @property
    def priced(self) -> bool:
        """Whether a time that a whole system works for has a price."""
        return self.of_system and self.price.usd_per_npu_hour() is not None

    @property
    def of_system(self) -> bool:
        """Whether whole systems are bought for a time that they work."""
        return self.found.time in _OF_SYSTEMS and bool(self.found.money) and not per_what(self.found.money)

    def rule(self) -> str:
        """Return what decides."""
        if self.priced and self.price.value is not None:
            return BY_VALUE
        timed = {TIME.column, TRAINING_DAYS, TOKEN_SECONDS} & self.found.limits.keys()
        served = self.limited and bool(per_what(self.found.money))
        if self.found.money and (timed or served):
            return BY_LIMIT
        return BY_PRICE if self.priced else BY_SHAPE

    def row(self, rule: str) -> tuple[int, BoolArray]:
        """Return the design to buy, and (n,) others whose time is equal to that of the best one within their bands.

        Of these it is the cheapest; each does better than the designs whose bands lie apart.
        """
        if rule == BY_SHAPE:
            return recommend(self.found)[0].row, np.zeros(len(self.names), dtype=np.bool_)
        money = self.found.figures[self.found.money]
        score = np.where(self.found.within, money if rule == BY_LIMIT else self.score(), np.inf)
        best = int(score.argmin())
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

    def score(self) -> FloatArray:
        """Return (n,) the score, which is lowest for the best design.

        That is the price of the same work: price of an hour times time. If the price of an hour is given, and is
        that of all designs, it is C + K ln(t): a percent of the time costs a percent of K, the price of all hours.
        At its least value no other design saves more than it costs: ln(x) >= 1 - 1/x.
        """
        if self.price.total_usd is not None and self.price.value is None:
            return np.asarray(self.price.total_usd * self.work)
        return np.asarray(self.found.figures[self.found.money] + self.all_hours() * np.log(self.work))

    def all_hours(self) -> float:
        """Return the USD of all hours of operation at a given price."""
        assert self.price.value is not None  # noqa: S101 - internal error
        assert self.price.npus is not None  # noqa: S101 - internal error
        return self.price.value * float(np.median(self.price.npus)) * self.price.hours

    def sums(self, row: int) -> tuple[FloatArray, FloatArray]:
        """Return (n,) USD that designs cost more than one, and USD of the time that they save in its work."""
        share = 1.0 - self.work / self.work[row]
        if self.price.total_usd is not None and self.price.value is None:
            total = self.price.total_usd
            return np.asarray(total - total[row]), np.asarray(total * share)
        money = self.found.figures[self.found.money]
        return np.asarray(money - money[row]), np.asarray(self.all_hours() * share)

    def rivals(self, rule: str, row: int, equal: BoolArray) -> tuple[Rival | None, Rival | None]:
        """Return the next best design, and the best one that is faster, if it is another."""
        others = self.found.within & ~equal
        others[row] = False
        # Thousands of bandwidths of one network are no alternatives to each other.
        apart = others & (self.found.network != self.found.network[row])
        if self.found.noun == "design" and apart.any():
            others = apart
        if not others.any():
            return None, None
        if not self.priced:
            return self.unpriced_rival(row, others), None
        costs, saves = self.sums(row)
        loss = np.where(others, costs if rule == BY_LIMIT else costs - saves, np.inf)
        first = int(loss.argmin())
        if rule == BY_LIMIT:
            return self.rival(row, first), None
        ahead = np.where(self.work < self.work[row], loss, np.inf)
        second = int(ahead.argmin())
        faster = None if second == first or np.isinf(ahead[second]) else self.rival(row, second)
        return self.rival(row, first), faster

    def rival(self, row: int, other: int) -> Rival:
        """Return a rival with its sum."""
        costs, saves = (float(each[other]) for each in self.sums(row))
        hourly = self.price.usd_per_npu_hour()
        assert hourly is not None  # noqa: S101 - internal error
        turns = costs / saves * float(hourly[other]) if costs * saves > 0 else None
        return Rival(
            id=int(self.found.ids[other]), name=self.names[other], costs_usd=costs, saves_usd=saves,
            time_percent=100.0 * float(1.0 - self.work[other] / self.work[row]), turns_at_usd_per_npu_hour=turns,
        )  # fmt: skip

    def unpriced_rival(self, row: int, others: BoolArray) -> Rival:
        """Return the runner-up of the recommendation, or the design that is the nearest on the front."""
        known = {one.row: one.runner_up for one in recommend(self.found)}
        other = known.get(row)
        if other is None or not others[other]:
            first = self.found.values[0]
            other = int(np.where(others, np.abs(np.log(first / first[row])), np.inf).argmin())
        it_is = difference_and_band(self.found, other, row)
        return Rival(id=int(self.found.ids[other]), name=self.names[other], it_is=it_is)

    def reasons(self, row: int, rule: str) -> Iterator[str]:
        """Yield why a design is bought."""
        word, limits = self.found.noun, " and ".join(limit_text(*one) for one in self.found.limits.items())
        within = f" within {limits}" if limits else ""
        if self.found.within.sum() == 1:
            yield f"It is the only {word}{within or ' on the front'}."
        elif rule == BY_LIMIT:
            yield f"It is the cheapest {word}{per_what(self.found.money)}{within or ' within the limits of the file'}."
        elif rule == BY_SHAPE:
            yield f"It is the {recommend(self.found)[0].kinds[0]}."
        elif rule == BY_VALUE:
            assert self.price.value is not None  # noqa: S101 - internal error
            yield f"At {hourly_text(self.price.value)} no other {word}{within} saves more time than it costs."
        else:
            yield f"It does the work for the least money{within}: {self.of_hours(row)}."
        if rule == BY_SHAPE and self.price.npus is not None and self.of_system:
            yield from self.best_for(row)
        if self.priced and self.price.training_tokens and self.price.tokens is not None:
            yield self.of_training(row)

    def of_hours(self, row: int) -> str:
        """Return what an hour costs."""
        hourly = self.price.usd_per_npu_hour()
        assert hourly is not None  # noqa: S101 - internal error
        *parts, last = self.price.parts
        what = f"{', '.join(parts)} and {last}" if parts else last
        return f"{hourly_text(float(hourly[row]))} for {what} over {years_text(self.price.tco.years)}"

    def best_for(self, row: int) -> Iterator[str]:
        """Yield the prices of an NPU-hour for which no other design is better, if there are some."""
        assert self.price.npus is not None  # noqa: S101 - internal error
        money, within = self.found.figures[self.found.money], self.found.within
        hours = float(np.median(self.price.npus)) * self.price.hours * (1.0 - self.work / self.work[row])
        turns = np.divide(money - money[row], hours, out=np.full(len(hours), np.nan), where=hours != 0)
        low = turns[within & (hours < 0)].max(initial=0.0)
        high = turns[within & (hours > 0)].min(initial=np.inf)
        if low < high:
            more, ends = (" and more", f"{low:.3g}") if np.isinf(high) else ("", f"{low:.3g} to {high:.3g}")
            yield f"It is the best at a price of time of {ends} USD per NPU-hour{more}."

    def of_training(self, row: int) -> str:
        """Return how long the training of the file takes, and what it costs by the hour."""
        assert self.price.tokens is not None  # noqa: S101 - internal error
        assert self.price.npus is not None  # noqa: S101 - internal error
        hourly, tokens = self.price.usd_per_npu_hour(), self.price.training_tokens or 0.0
        assert hourly is not None  # noqa: S101 - internal error
        days = tokens / float(self.price.tokens[row]) * float(self.found.figures[self.found.time][row]) / _MS_PER_DAY
        usd = money_text(days * 24.0 * float(hourly[row] * self.price.npus[row]), 3)
        return f"The training of {number(tokens / 1e12)} trillion tokens takes {days:.3g} days and costs {usd}."

    def notes(self, rule: str) -> Iterator[str]:
        """Yield what the sum rests on, or what it lacks."""
        tco = self.price.tco
        if self.priced and self.price.assumed:
            energy = f", {tco.usd_per_kWh:g} USD/kWh and PUE {tco.pue:g}" if self.price.value is None else ""
            yield f"Assumed: {years_text(tco.years)} of operation{energy}. The file has no `tco`."
        if self.priced and self.price.value is None and self.price.left_out:
            yield self.price.left_out
        if not self.priced and rule == BY_SHAPE:
            yield self.unpriced()

    def unpriced(self) -> str:
        """Return why time has no price, and what gives it one."""
        if not self.found.priced:
            return "Time has no price here: the objectives are not a time and a cost."
        if not self.of_system:
            return "The cost of a token has the price of time in it. A constraint on ttft or tpot decides."
        if self.price.npus is None or self.price.value is not None:
            return f"Time has no price here: {self.price.missing}."
        return f"Time has no price here: {self.price.missing}. `recommend --value 2USD/NPU-hour` gives it one."
