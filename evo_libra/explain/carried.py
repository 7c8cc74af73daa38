"""The load of a served design: tokens with their band, the rate with a server out, and how long users wait."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

import numpy as np

from evo_libra.explain.candidates import Candidates
from evo_libra.explain.hour_price import answer_tokens
from evo_libra.explain.labels import TOKEN_SECONDS, per_what
from evo_libra.explain.step_report import first_tokens
from evo_libra.explain.verdict_record import OneOut, Verdict, with_text
from evo_libra.network.orders.failures import part_of
from evo_libra.optimality.order_fronts import front_of_orders
from evo_libra.problem.bands import Band, bands_of
from evo_libra.problem.class_bands import step_factors
from evo_libra.problem.constraint_parser import parse_constraint
from evo_libra.problem.figures import NONE_LEFT, Figures, has_tokens, tokens_one_out, tokens_per_second, users
from evo_libra.problem.problem import Problem
from evo_libra.problem.protocol import TIME
from evo_libra.quantities import time_text
from evo_libra.workload.plans.step_class import FIRST_TOKEN
from evo_libra.workload.plans.step_class import TIME as TIMES

if TYPE_CHECKING:
    from evo_libra.workload.serving.serving_step import ServingStep

_MEGA, _ROUNDING = 1e6, 1e-9
_RATE, _ONE_OUT = "tokens-per-s", "tokens-per-s-one-out"
_RATE_ASKED = (
    "The front was not searched for this rate: a constraint on tokens-per-s in the file finds the cheapest one of all."
)


def with_load(said: Verdict, found: Candidates, *, problem: Problem, designs: Sequence[str]) -> Verdict:
    """Return a verdict with what the design carries, and that no search was for a rate that was asked afterwards.

    Parameters
    ----------
    designs : the rows of candidates in the notation.
    """
    carried = Carried(problem, problem.measure(problem.read(list(designs))), _asked_rate(found.limits, problem, _RATE))
    row = found.ids.tolist().index(said.id)
    given, of_file = found.limits.get(TOKEN_SECONDS), _asked_rate({}, problem, _RATE, _ONE_OUT)
    asked = [] if given is None or _MEGA / given <= of_file * (1.0 + _ROUNDING) else [_RATE_ASKED]
    out = carried.one_out(row, designs[row], _asked_rate({}, problem, _ONE_OUT))
    if out is not None and out.tokens_per_s < out.asked and found.money:
        out = carried.spare_order(out, found.money, float(found.figures[found.money][row]))
    it_is = " ".join([said.it_is, *carried.sentences(row, designs[row])])
    return with_text(replace(said, it_is=it_is, notes=(*asked, *said.notes), one_out=out), found.noun, 0.0)


def _asked_rate(limits: Mapping[str, float], problem: Problem, *quantities: str) -> float:
    """Return the tokens/s that limits on some quantities of the file, and given ones, ask for; 0 for none."""
    lower = [one for one in problem.constraints if one.quantity in quantities and not one.at_most]
    of_file = [one.limit / one.objective for one in lower]
    given = limits.get(TOKEN_SECONDS)
    return max([*of_file, *([] if given is None else [_MEGA / given])], default=0.0)


@dataclass(frozen=True)
class Carried:
    """The load of the designs of a front.

    Attributes
    ----------
    figures : of n designs.
    rate : tokens/s that are asked; 0 where none are.
    """

    problem: Problem
    figures: Figures
    rate: float

    def sentences(self, row: int, design: str) -> Iterator[str]:
        """Yield what a design carries, and how long users wait."""
        served = users(self.figures)
        first, token = (time_text(1e3 * float(one[row])) for one in (served.first, served.token))
        waits = f"a first token after {first} if all ask at once, a further one each {token}"
        if not has_tokens(self.figures):
            yield f"Users wait for {waits}."
            return
        rate, answer = float(tokens_per_second(self.figures)[row]), answer_tokens(self.problem)
        answers = "" if answer is None else f" ({rate / answer:.3g} answers/s)"
        yield f"Its plan carries {rate:,.5g} tokens/s{answers}: {waits}."
        if (band := self._band(design)) is not None:
            low, high = rate / band.high_factor, rate / band.low_factor
            short = f": it may be less than the {self.rate:,.5g} asked" if low < self.rate else ""
            yield f"The band of this rate is {low:,.5g} to {high:,.5g} tokens/s{short}."
        yield from self._steady(design)
        yield from self._late(row, design)

    def _steady(self, design: str) -> Iterator[str]:
        """Yield when first tokens come in a steady state; nothing of several workloads, and of plans without one."""
        population = self.problem.read([design])
        pinned = self.problem.pinned(population)
        loop, *others = pinned.time.loops
        if others:
            return
        mean, most = first_tokens(pinned, loop, cast("ServingStep", loop.workload), population)
        if mean is not None and most is not None:
            when = f"after {time_text(mean)} on average, within {time_text(most)} for 19 of 20"
            yield f"In a steady state a first token comes {when}."

    def _band(self, design: str) -> Band | None:
        return bands_of(self.problem, self.problem.read([design]))[0].get(TIME.column)

    def _late(self, row: int, design: str) -> Iterator[str]:
        """Yield the limits of users that a design keeps, and may break within its band."""
        served, population = users(self.figures), self.problem.read([design])
        factors = [step_factors(self.problem, population, loop) for loop in self.problem.time.loops]
        for name, what, seconds in (("ttft", FIRST_TOKEN, served.first), ("tpot", TIMES, served.token)):
            ends = [each[what][1] for each in factors if what in each]
            limits = [
                one.limit / one.objective for one in self.problem.constraints if one.quantity == name and one.at_most
            ]
            late, allowed = float(seconds[row]) * max(ends, default=1.0), min(limits, default=np.inf)
            if late > allowed:
                yield f"Its {name} may be up to {time_text(1e3 * late)}, over the {time_text(1e3 * allowed)} allowed."

    def one_out(self, row: int, design: str, asked: float) -> OneOut | None:
        """Return what a design carries while a server or a tray is out; None of NPUs that are bought alone.

        Parameters
        ----------
        asked : tokens/s that must be carried then, too.
        """
        book = self.problem.book
        if book is None or not has_tokens(self.figures):
            return None
        order = book.orders[int(book.place(self.problem.read([design]))[0])]
        left, share = tokens_one_out(self.figures), users(self.figures).left
        assert share is not None, "orders know it"  # noqa: S101 - internal error
        rate, band = 0.0 if share[row] <= NONE_LEFT else float(left[row]), self._band(design)
        return OneOut(
            part=part_of(order, book.products), asked=max(self.rate, asked), tokens_per_s=rate,
            low_tokens_per_s=None if band is None else rate / band.high_factor, spared=bool(share[row] >= 1.0),
        )  # fmt: skip

    def spare_order(self, out: OneOut, money: str, usd: float) -> OneOut:
        """Return it with the cheapest of all orders that carries what is asked while one is out, if it is known.

        Parameters
        ----------
        money : a column, where the order that is bought has `usd`.
        """
        text = f"{_ONE_OUT} >= {out.asked:.12g} token/s"
        limits = parse_constraint(text, len(self.figures.npus), ())
        problem = replace(self.problem, constraints=(*self.problem.constraints, *limits))
        best = front_of_orders(problem)
        if best is None or not len(best.designs):
            return replace(out, none=best is not None)
        price = best.objectives[[one.column for one in self.problem.objectives].index(money)]
        cheapest = int(price.argmin())
        design = problem.notation.written(best.designs.select(np.array([cheapest])).population(problem))[0]
        return replace(
            out, design=design, costs_usd=None if per_what(money) else float(price[cheapest]) - usd,
            order_low_tokens_per_s=self._low(design),
        )  # fmt: skip

    def _low(self, design: str) -> float | None:
        """Return the tokens/s of a design with a server out at the lower end of their band; None without a band."""
        band, figures = self._band(design), self.problem.measure(self.problem.read([design]))
        return None if band is None else float(tokens_one_out(figures)[0]) / band.high_factor
