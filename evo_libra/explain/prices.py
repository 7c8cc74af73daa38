"""A front under uncertain prices: the costs of its designs in scenarios, and the designs that stay on the front."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import polars as pl

from evo_libra.arrays import BoolArray, FloatArray, Population
from evo_libra.errors import InputError
from evo_libra.front.archive import non_dominated
from evo_libra.front.front import Front, ranks, time_of
from evo_libra.network.bill import parts_of, pieces
from evo_libra.problem.needs import NPU_PRICE
from evo_libra.problem.objectives import MEASURES, PLAIN
from evo_libra.problem.order_scenarios import product_prices, scenarios_of
from evo_libra.problem.pricing.parts import BillOfMaterials
from evo_libra.problem.problem import Problem
from evo_libra.problem.protocol import Objective
from evo_libra.problem.scenarios import draw
from evo_libra.problem.statistics import NAMED

Score = Literal["mean", "worst", "regret"]
SCORES: tuple[Score, ...] = ("mean", "worst", "regret")

_VALUE = NAMED.index("value")


@dataclass(frozen=True)
class Priced:
    """Designs of a front with their costs under uncertain prices.

    Attributes
    ----------
    frame : one row per design, in the order of the front, with the cost of the network, of the whole order, or of
        tokens: ``id``, the time, ``cost_low_usd``, ``cost_value_usd``, ``cost_high_usd``, ``mean_usd``, ``worst_usd``,
        ``regret_usd``, ``regret_factor`` (null where the cheapest design costs nothing), ``rank`` by cost at the stated
        prices and ``rank_scored`` by score (1 is the least), ``on_front``, ``front_share`` (of orders: the share of
        drawn scenarios in which it is on the front), ``design``.
    parts : names of the parts; `prices` : (part, s) USD, the scenarios of `NAMED` first.
    pieces : (part, n) of each design; `cost` : (n, s) USD.
    money : the column of the front that the cost is, or that of the network or the whole order.
    """

    frame: pl.DataFrame
    parts: tuple[str, ...]
    prices: FloatArray
    pieces: FloatArray
    cost: FloatArray
    money: str


def price_front(front: Front, problem: Problem, drawn: int, seed: int, score: Score = "mean") -> Priced:
    """Return the designs of a front of time and cost with their costs in scenarios of prices.

    The time is that of an iteration; of a front without it, the first other one. If an objective of orders is what
    tokens cost, that is the cost: prices of the order make it, and its throughput.

    The mean is over the scenarios that are drawn. The worst case is over all of them, those of `NAMED` included, so
    that it is the cost with all prices at the upper ends of their ranges. The regret is, in each scenario, how much
    more a design costs than the cheapest design of the front that is at most as slow; the largest counts. A design
    stays on the front unless another one that is at most as slow has at most its score; of regrets, both against the
    cheapest design that is at most as slow as the slower one of the two.

    Parameters
    ----------
    front, problem : designs in the notation, and the problem that they are designs of, built of parts.
    drawn, seed : scenarios to draw, at least 1; the first of more scenarios are those of fewer.
    score : which of the three decides the rank, and which designs are on the front.

    Raises
    ------
    InputError : the problem has no catalogue of parts or solves for bandwidths, the front has no time, or a design
        is none of the problem.
    """
    if not isinstance(problem.pricing, BillOfMaterials):
        raise InputError(
            f"prices are drawn for parts; the catalogue '{problem.catalog.name}' of '{problem.name}' has none, but "
            "prices per bandwidth"
        )
    if problem.optimal:
        raise InputError(
            f"prices are drawn for whole parts; those of '{problem.name}' come in any fraction, because "
            "their bandwidths are solved for"
        )
    if not (column := time_of(front.objectives)):
        found = ", ".join(front.objectives)
        raise InputError(f"designs of equal time are compared, and no objective of the front is a time: {found}")
    designs = problem.read(front.frame["design"].to_list())
    parts, prices, counts = _bought(problem, problem.pricing, designs, drawn, seed)
    time, money = front.frame[column].to_numpy(), _of_tokens(front, problem)
    cost = counts.T @ prices if money is None else _in_scenarios(problem, [money], front, drawn, seed)[:, 0].T
    excess, factor = _regret(time, cost)
    scores = {"mean": cost[:, len(NAMED) :].mean(axis=1), "worst": cost.max(axis=1), "regret": excess}
    kept = _least_regret(time, cost, excess) if score == "regret" else non_dominated(np.stack([time, scores[score]]))
    frame = pl.DataFrame({
        "id": front.frame["id"],
        column: time,
        **{f"cost_{name}_usd": cost[:, s] for s, name in enumerate(NAMED)},
        **{f"{name}_usd": values for name, values in scores.items()},
        "regret_factor": [value if np.isfinite(value) else None for value in factor.tolist()],
        "rank": ranks(cost[:, _VALUE]),
        "rank_scored": ranks(scores[score]),
        "on_front": kept,
        **({} if problem.book is None else {"front_share": _share(time, cost[:, len(NAMED) :])}),
        "design": front.frame["design"],
    })  # fmt: skip
    whole = "cost_usd" if problem.book is None else "order_cost_usd"
    paid = whole if money is None else money.column
    return Priced(frame=frame, parts=parts, prices=prices, pieces=counts, cost=cost, money=paid)


def _of_tokens(front: Front, problem: Problem) -> Objective | None:
    """Return the objective of a front of orders that is what tokens cost; None where it is no such front."""
    orders = problem.book is not None and not {"order_cost_usd", "network_cost_usd"} & set(front.objectives)
    of_tokens = (one for one in problem.objectives if (found := MEASURES[one.name]).paid and found.timed)
    return next((one for one in of_tokens if orders and one.column in front.objectives), None)


def _bought(
    problem: Problem, pricing: BillOfMaterials, designs: Population, drawn: int, seed: int
) -> tuple[tuple[str, ...], FloatArray, FloatArray]:
    """Return parts of networks, or products of whole orders: names, (part, s) USD of a piece, and (part, n) pieces."""
    if problem.book is not None:
        products = product_prices(problem.book, drawn, seed)
        bills = [problem.book.bills[place] for place in problem.book.place(designs).tolist()]
        return products.names, products.usd, products.pieces(bills)
    parts = parts_of(pricing.kits)
    prices = draw([part.price for part in parts.values()], drawn, seed)
    counts = pieces(pricing.items(designs), pricing.kits, designs.technology, list(parts))
    return tuple(parts), prices, counts * problem.evaluator.of_spares(designs)


def _share(time: FloatArray, cost: FloatArray) -> FloatArray:
    """Return (n,) the share of (n, s) costs with which designs are on the front."""
    return np.asarray(np.mean([_kept(np.stack([time, one])) for one in cost.T], axis=0))


def kept_with_prices(front: Front, problem: Problem, drawn: int, seed: int) -> FloatArray:
    """Return (n,) the share of drawn scenarios of prices in which designs of a front stay on it.

    The front may have any objectives. Equal designs stay together.

    Raises
    ------
    InputError : no objective depends on prices, no price is a range, or bandwidths are solved for.

    Parameters
    ----------
    front, problem : designs in the notation, and the problem that they are designs of.
    drawn, seed : scenarios to draw, at least 1; those of parts are the ones of `price_front`.
    """
    measures = [MEASURES[objective.name] for objective in problem.objectives]
    if not any(one.paid or NPU_PRICE in one.needs for one in measures):
        raise InputError("no objective of the front depends on prices")
    if problem.optimal:
        raise InputError(f"prices are drawn for whole parts; those of '{problem.name}' come in any fraction")
    each = _in_scenarios(problem, problem.objectives, front, drawn, seed)[len(NAMED) :]
    return np.asarray(np.mean([_kept(values) for values in each], axis=0))


def _in_scenarios(problem: Problem, objectives: Sequence[Objective], front: Front, drawn: int, seed: int) -> FloatArray:
    """Return (s, m, n) objectives of the designs of a front in each scenario of prices.

    A statistic of the front is what it is in all scenarios together; each of them has the plain figure. An `InputError`
    says that no price is a range.
    """
    weight, sources = np.zeros((len(problem.time.loops), len(NAMED) + drawn)), problem.sources
    found = scenarios_of(
        problem.pricing.kits, sources.npu, system=sources.system, book=problem.book, weight=weight, drawn=drawn,
        seed=seed,
    )  # fmt: skip
    if not (len(found.parts) or found.npu_price.any() or found.around_price.any()):
        raise InputError(f"no price of '{problem.name}' is a range")
    designs = problem.read(front.frame["design"].to_list())
    figures = replace(problem, sources=replace(sources, scenarios=found)).measure(designs).scenarios
    assert figures is not None, "the scenarios are there"  # noqa: S101 - internal error
    plain, shape = [PLAIN[one.name.partition(".")[0]] for one in objectives], (len(NAMED) + drawn, len(designs))
    return np.stack([np.broadcast_to(one.minimised(figures), shape) for one in plain], axis=1)


def _kept(values: FloatArray) -> BoolArray:
    """Return (n,) whether none of (m, n) designs is better; equal ones stay together."""
    different, place = np.unique(values, axis=1, return_inverse=True)
    return np.asarray(non_dominated(different)[place.reshape(-1)])


def _cheapest(time: FloatArray, cost: FloatArray) -> FloatArray:
    """Return the (n, s) USD of the cheapest design that is at most as slow."""
    order = np.argsort(time, kind="stable")
    least = np.minimum.accumulate(cost[order], axis=0)
    last = np.searchsorted(time[order], time, side="right") - 1
    return np.asarray(least[last])


def _regret(time: FloatArray, cost: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the largest (n,) regrets over the scenarios, in USD and as factors."""
    best = _cheapest(time, cost)
    nothing = np.where(cost > 0, np.inf, 1.0)
    factor = np.divide(cost, best, out=nothing, where=best > 0)
    return np.asarray((cost - best).max(axis=1)), np.asarray(factor.max(axis=1))


def _least_regret(time: FloatArray, cost: FloatArray, regret: FloatArray) -> BoolArray:
    """Return (n,) whether no other design that is at most as slow has at most its regret at the time it allows."""
    best, kept = _cheapest(time, cost), np.ones(len(time), dtype=np.bool_)
    for n in range(len(time)):
        others = np.flatnonzero(time <= time[n])
        others = others[others != n]
        against = (cost[others] - best[n]).max(axis=1)
        # Of designs that are alike in both, each one stays, as in any front.
        better = (against < regret[n]) | ((against == regret[n]) & (time[others] < time[n]))
        kept[n] = not better.any()
    return kept
