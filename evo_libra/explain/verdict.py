"""The verdict on a front: the one design to buy, the next best one, and the sum that decides between them.

Time has a price. A design that is faster does the same work in fewer hours, and an hour costs what the whole system
costs over its years of operation. The design whose hours times their price are least does the work for the least money:
every step away from it costs more than it saves.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from evo_libra.arrays import BoolArray
from evo_libra.errors import InfeasibleError, InputError
from evo_libra.explain.candidates import Candidates, candidates_of
from evo_libra.explain.choice import TRAINING_DAYS, Choice
from evo_libra.explain.hour_price import HourPrice, hour_price
from evo_libra.explain.labels import TOKEN_SECONDS, limit_text, per_what, percent, reached_text
from evo_libra.explain.reasons import difference_and_band, nothing_within
from evo_libra.explain.recommend import recommend
from evo_libra.explain.verdict_record import (
    BY_LIMIT,
    BY_SHAPE,
    BY_VALUE,
    OtherRail,
    Rival,
    Verdict,
    hourly_text,
    with_text,
    years_text,
)
from evo_libra.front.families import labels_of, short_network, short_plans
from evo_libra.front.front import Front
from evo_libra.problem.bands import bands_of
from evo_libra.problem.file.registry import load_problem
from evo_libra.problem.problem import Problem
from evo_libra.problem.protocol import TIME, SearchProblem
from evo_libra.problem.question import FABRIC
from evo_libra.quantities import money_text, number

if TYPE_CHECKING:
    from evo_libra.explain.verdict_basis import Basis

_MS_PER_DAY = 8.64e7
_WAITING = "Time has no price here, because users wait for it"


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
    price = hour_price(problem, designs, value, fabrics=FABRIC in front.frame.columns, count=len(front))
    said = verdict_of(found, price, names_of(front), known=_of_prices(front, found, problem, value))
    if designs is None or not isinstance(problem, Problem):
        return said
    row = found.ids.tolist().index(said.id)
    notes = (*_memory(problem, designs[row]), *_late(problem, designs[row], found, row), *said.notes)
    said = with_text(replace(said, notes=notes), found.noun, price.hours)
    if price.serves:
        from evo_libra.explain.carried import with_load  # noqa: PLC0415 - few problems serve

        said = with_load(said, found, problem=problem, designs=designs)
    if problem.book is None or said.usd_per_npu_hour is None:
        return said
    from evo_libra.explain.second_rail import other_rail  # noqa: PLC0415 - only orders have rails

    return _with_other_rail(said, other_rail(problem, found, designs, row, value), found.noun, price.hours)


def front_verdict(
    front: Front, problem: SearchProblem | str | None, value: float | None, limits: Mapping[str, float]
) -> Verdict:
    """Return the verdict on a front within limits, given by columns in their units; a problem may be named."""
    named = load_problem(problem) if isinstance(problem, str) else problem
    return verdict(front, candidates_of(front, limits), named, value)


def _memory(problem: Problem, design: str) -> tuple[str, ...]:
    if not problem.sources.npu.names:  # without an accelerator there is no memory to fit
        return ()
    from evo_libra.explain.memory_note import memory_note  # noqa: PLC0415 - it needs the bands of measured rows

    return memory_note(problem, design)


def _late(problem: Problem, design: str, found: Candidates, row: int) -> Iterator[str]:
    """Yield the given limits on the time of training that a design keeps, and may break within its band."""
    timed = [column for column in found.limits if column in (TIME.column, TRAINING_DAYS, TOKEN_SECONDS)]
    band = bands_of(problem, problem.read([design]))[0].get(TIME.column) if timed else None
    if band is None or problem.time.serves:
        return
    for column in timed:
        high = float(found.figures[column][row]) * band.high_factor
        if high > found.limits[column]:
            text = limit_text(column, found.limits[column])
            yield f"Within its band it may break {text}: its upper end is {reached_text(column, high)}."


def _with_other_rail(said: Verdict, rail: OtherRail | None, word: str, hours: float) -> Verdict:
    """Return the verdict with the sum of a second rail, or of one rail less, unless a rival is that order."""
    known = [one.name for one in (said.next_best, said.faster) if one is not None]
    said_already = rail is not None and rail.order is not None and rail.order.name in known
    return with_text(replace(said, rail=None if said_already else rail), word, hours)


def _of_prices(front: Front, found: Candidates, problem: SearchProblem | None, value: float | None) -> tuple[str, ...]:
    """Return in what share of scenarios of prices the design to buy is the best one; nothing without ranges."""
    if not isinstance(problem, Problem) or not problem.pricing.kits:
        return ()
    from evo_libra.explain.price_draws import DRAWN, price_draws  # noqa: PLC0415 - prices per bandwidth have no ranges
    from evo_libra.explain.verdict_basis import basis_of  # noqa: PLC0415 - the same

    basis = basis_of(front, found, problem, value)
    draws = price_draws(basis)
    if draws is None:
        return ()
    text = f"With prices drawn from their ranges it is the best in {percent(100.0 * draws.share)} % of {DRAWN:,} draws"
    if draws.rival is None:
        return (f"{text}.",)
    rival = f"#{int(found.ids[draws.rival])} in {percent(100.0 * draws.rival_share)} %{_as_stated(basis, draws.rival)}"
    unsure = " Known prices do not decide between them." if draws.rival_share >= _UNDECIDED else ""
    return (f"{text}, and {rival}.{unsure}",)


def _as_stated(basis: Basis, rival: int) -> str:
    """Return what a rival loses at stated prices, where sums of money decide."""
    if not basis.weighs:
        return ""
    return f" (as stated it loses {money_text(float(basis.losses(basis.stated)[rival]), 3)})"


_UNDECIDED = 0.25
"""Share of draws with another design from which on prices leave the verdict open."""


def verdict_of(found: Candidates, price: HourPrice, names: Sequence[str], *, known: Sequence[str] = ()) -> Verdict:
    """Return the candidate to buy; some candidates keep the limits.

    Parameters
    ----------
    price : of an hour of each; an `InputError` says that a given price of time has no use.
    names : of the designs.
    known : sentences on how sure the verdict is.
    """
    choice = _NamedChoice(found, price, names, known)
    if price.value is not None and not choice.priced:
        raise InputError(f"a price of time has no use here. {choice.unpriced().removesuffix('.')}")
    return choice.verdict()


def names_of(front: Front) -> list[str]:
    """Return what designs are called: an order by its notation, with the plan where several have the same."""
    if front.noun != "order":
        return labels_of(front)
    designs = front.frame["design"].to_list()
    names = [short_network(design) for design in designs]
    plans, _ = short_plans([design.partition(" | ")[2] for design in designs])
    several = {name for name, count in Counter(names).items() if count > 1}
    return [f"{name}, {plan}" if name in several else name for name, plan in zip(names, plans, strict=True)]


@dataclass(frozen=True)
class _NamedChoice(Choice):
    """A choice with its reasons; `names` are those of the designs, `known` says how sure it is."""

    names: Sequence[str] = ()
    known: Sequence[str] = ()

    def verdict(self) -> Verdict:
        rule = self.rule()
        row, equal = self.row(rule)
        next_best, faster = self.rivals(rule, row, equal)
        hourly = self.price.usd_per_npu_hour()
        draft = Verdict(
            id=int(self.found.ids[row]), name=self.names[row], rule=rule, it_is=" ".join(self.reasons(row, rule)),
            next_best=next_best, faster=faster, other_number=self.other_number(rule, row),
            equal=tuple(self.found.ids[equal].tolist()),
            usd_per_npu_hour=None if hourly is None or not self.priced else float(hourly[row]),
            operation=self.price.tco.model_dump() if self.priced else {}, assumed=self.priced and self.price.assumed,
            notes=tuple(self.notes(rule)),
        )  # fmt: skip
        return with_text(draft, self.found.noun, self.price.hours)

    def rivals(self, rule: str, row: int, equal: BoolArray) -> tuple[Rival | None, Rival | None]:
        """Return the next best design, and the best one that is faster, if it is another."""
        others = self.others(row, equal)
        if not others.any():
            return None, None
        if not self.priced:
            return self.unpriced_rival(row, others), None
        loss = self.losses(row, equal, rule)
        first = int(loss.argmin())
        if rule == BY_LIMIT:
            return self.rival(row, first, self.names[first]), None
        ahead = np.where(self.work < self.work[row], loss, np.inf)
        second = int(ahead.argmin())
        alone = second == first or np.isinf(ahead[second])
        faster = None if alone else self.rival(row, second, self.names[second])
        return self.rival(row, first, self.names[first]), faster

    def other_number(self, rule: str, row: int) -> Rival | None:
        """Return the best order of the same network around more or fewer systems, where time has a price."""
        if not self.priced or rule == BY_LIMIT or self.found.same_but_number is None:
            return None
        number = [name.partition(" ")[0] for name in self.names]
        other = np.array([one != number[row] for one in number])
        same = self.found.within & other & (self.found.alternatives == self.found.alternatives[row])
        costs, saves = self.sums(row)
        best = int(np.where(same, costs - saves, np.inf).argmin())
        return self.rival(row, best, self.names[best]) if same.any() else None

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
            per, usd = per_what(self.found.money), money_text(float(self.found.figures[self.found.money][row]), 4)
            at = "" if per else f", at {usd}"
            yield f"It is the cheapest {word}{per}{within or ' within the limits of the file'}{at}."
        elif rule == BY_SHAPE:
            yield f"It is the {recommend(self.found)[0].kinds[0]}."
        elif rule == BY_VALUE:
            assert self.price.value is not None  # noqa: S101 - internal error
            other = f"no other {word} of the front{within} saves more time than it costs"
            yield f"At {hourly_text(self.price.value)} {other}."
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
        within, saved, turns = self.found.within, self.saved(row), self.turns(row)
        low = turns[within & (saved < 0)].max(initial=0.0)
        high = turns[within & (saved > 0)].min(initial=np.inf)
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
        yield from self.known
        tco = self.price.tco
        if self.priced and self.price.assumed:
            energy = f", {tco.usd_per_kWh:g} USD/kWh and PUE {tco.pue:g}" if self.price.total_usd is not None else ""
            yield f"Assumed: {years_text(tco.years)} of operation{energy}. The file has no `tco`."
        if self.priced and self.price.left_out:
            yield self.price.left_out
        if not self.priced and rule == BY_SHAPE:
            yield self.unpriced()

    def unpriced(self) -> str:
        """Return why time has no price, and what gives it one."""
        if not self.found.priced:
            return "Time has no price here: the objectives are not a time and a cost."
        if not self.of_system:
            why = "The cost of a token has the price of time in it" if per_what(self.found.money) else _WAITING
            return f"{why}. A constraint on ttft, tpot or tokens-per-s in the file decides, or `recommend --rate`."
        if self.price.npus is None or self.price.value is not None:
            return f"Time has no price here: {self.price.missing}."
        return f"Time has no price here: {self.price.missing}. `recommend --value 2USD/NPU-hour` gives it one."
