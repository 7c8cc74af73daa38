"""Objectives: one table says all that there is to know of each of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from evo_libra.arrays import FloatArray, IntArray
from evo_libra.network.blocks.registry import BLOCKS
from evo_libra.problem.figures import (
    Figures,
    TotalCostOfOwnership,
    energy_per_token,
    known,
    memory,
    system_cost,
    system_tco,
    system_watts,
    tokens_one_out,
    tokens_per_second,
    usd_per_token,
    users,
)
from evo_libra.problem.needs import FAULTS, NPU_PRICE, NPU_WATTS, ORDER, TCO, TOKENS, TRAINING, USERS, WATTS
from evo_libra.problem.statistics import STATISTICS, Statistic

_MEGA = 1e6
_TERA = 1e12


@dataclass(frozen=True)
class Objective:
    """A quantity to minimise.

    Attributes
    ----------
    name : such as ``time``.
    column : its name in tables, with the unit.
    scale : the size in SI of the column's unit.
    label : the label of its axis.
    """

    name: str
    column: str
    scale: float
    label: str


class Coefficients(Protocol):
    """Figures of n designs per B/s of their dimensions, for limits that are linear in the bandwidths."""

    @property
    def used(self) -> FloatArray:
        """(d, n) 1 where a dimension is in use."""

    @property
    def technology(self) -> IntArray:
        """(d, n) index of the technology."""

    @property
    def price(self) -> FloatArray:
        """(d, n) USD per B/s."""

    @property
    def watts(self) -> FloatArray:
        """(d, n) W per B/s."""

    @property
    def cuts(self) -> FloatArray:
        """(d, n) from `cuts`."""


def cuts(npus: IntArray, block: IntArray) -> FloatArray:
    """Return (d, n) the capacity between two halves of a network along each dimension, in bandwidths of an NPU.

    The capacity between two halves of a dimension depends on its block. It is infinite in unused dimensions.
    """
    world = npus.prod(axis=0)
    cut = np.full(npus.shape, np.inf)
    for index in np.unique(block[npus > 1]).tolist():
        mine = (block == index) & (npus > 1)
        cut[mine] = BLOCKS[index].cut(npus[mine]) * np.broadcast_to(world, npus.shape)[mine] / npus[mine]
    return cut


def bisection(npus: IntArray, block: IntArray, bandwidth: FloatArray) -> FloatArray:
    """Return (n,) B/s over the narrowest cut that halves a network along one of its dimensions."""
    return np.asarray((cuts(npus, block) * np.where(npus > 1, bandwidth, 1.0)).min(axis=0))


def _bisection(figures: Figures) -> FloatArray:
    return bisection(figures.npus, figures.block, figures.bandwidth)


def _cut_rows(designs: Coefficients) -> list[FloatArray]:
    """Return the capacity of the cut along each dimension; the innermost one stands for those without a cut."""
    each = np.arange(len(designs.used))[:, None]
    place = [np.where(used > 0, d, 0) for d, used in enumerate(designs.used)]
    return [np.where(each == d, designs.cuts, 0.0) for d in place]


def _useful(figures: Figures) -> FloatArray:
    assert figures.useful is not None, "the loader has looked"  # noqa: S101 - internal error
    return figures.useful


def _tco_per_bandwidth(designs: Coefficients, tco: TotalCostOfOwnership | None) -> FloatArray:
    return np.asarray(designs.price + float(known(tco).cost(np.ones(1))[0]) * designs.watts)


@dataclass(frozen=True)
class Measure:
    """The formula of an objective, which constraints can limit, too.

    Attributes
    ----------
    objective : its name, column, scale and label.
    meaning : one line for the reference.
    unit : the kind of its units in constraints, as in `UNITS`.
    value : (n,) in SI; the quantity that constraints limit.
    inverse : of this much of the value, over the value, is what is minimised; None where the value itself is.
    needs : what a problem has to know, by the names of `evo_libra.problem.needs`.
    timed : whether it depends on the iteration time, so that it is larger where an iteration is more work.
    paid : whether it depends on the prices of parts.
    statistic : over which scenarios it is taken; None of the figure at stated prices and weights.
    summed : (d, n) coefficients whose product with the bandwidths sums to the value, where parts come in any fraction.
        The value then depends on cost and power alone.
    smallest : a list of (d, n) coefficients; the value is the smallest of their sums, whatever the time and the prices.
    """

    objective: Objective
    meaning: str
    unit: str
    value: Callable[[Figures], FloatArray]
    inverse: float | None = None
    needs: frozenset[str] = frozenset()
    timed: bool = False
    paid: bool = False
    statistic: Statistic | None = None
    summed: Callable[[Coefficients, TotalCostOfOwnership | None], FloatArray] | None = None
    smallest: Callable[[Coefficients], list[FloatArray]] | None = None

    def minimised(self, figures: Figures) -> FloatArray:
        """Return (n,) in SI what is minimised."""
        value = self.value(figures)
        return value if self.inverse is None else np.asarray(self.inverse / value)

    @property
    def of_times(self) -> bool:
        """Whether it depends on times."""
        return self.timed or USERS in self.needs

    @property
    def of_rent(self) -> bool:
        """Whether rented systems have it: it is of no price or power, or of all costs over the years of operation."""
        return {TCO, NPU_PRICE} <= self.needs or not (self.paid or WATTS in self.needs)

    @property
    def uncertain(self) -> bool:
        """Whether prices or weights have a part in it, which may be ranges."""
        return self.timed or self.paid or NPU_PRICE in self.needs

    def over(self, statistic: Statistic) -> Measure:
        """Return a statistic of the minimised figure over scenarios; a design has the figures of each."""
        plain, label = self.objective, self.objective.label.replace(" [", f", {statistic.name} [")
        objective = Objective(f"{plain.name}.{statistic.name}", f"{statistic.name}_{plain.column}", plain.scale, label)

        def value(figures: Figures) -> FloatArray:
            assert figures.scenarios is not None, "the loader has looked"  # noqa: S101 - internal error
            found = statistic.of(self.minimised(figures.scenarios))
            return found if self.inverse is None else np.asarray(self.inverse / found)

        meaning = f"{self.meaning}: {statistic.meaning}"
        return replace(self, objective=objective, meaning=meaning, value=value, statistic=statistic, summed=None)


TIME = Objective("time", "time_ms", 1e-3, "iteration time [ms]")
COST = Objective("cost", "cost_usd", 1.0, "network cost [USD]")

_TABLE = (
    Measure(TIME, "weighted iteration time of the workloads", "time", lambda figures: figures.time, timed=True),
    Measure(
        COST, "price of the network", "cost", lambda figures: figures.cost, paid=True,
        summed=lambda designs, _: designs.price,
    ),
    Measure(
        Objective("power", "power_kW", 1e3, "network power [kW]"),
        "of all parts of the network, and of all links busy in both directions; parts only",
        "power", lambda figures: figures.watts,
        summed=lambda designs, _: designs.watts, needs=frozenset({WATTS}),
    ),
    Measure(
        Objective("system-power", "system_power_kW", 1e3, "system power [kW]"),
        "of NPUs under load, network, and hosts and storage where the file has `system`; of an order, of all of it; "
        "parts, and NPUs with a power only",
        "power", system_watts, needs=frozenset({WATTS, NPU_WATTS}),
    ),
    Measure(
        Objective("system-cost", "system_cost_usd", 1.0, "system cost [USD]"),
        "price of network and NPUs, and of hosts and storage where the file has `system`, at the middle of price "
        "ranges",
        "cost", system_cost, paid=True, needs=frozenset({NPU_PRICE}),
    ),
    Measure(
        Objective("order-cost", "order_cost_usd", 1.0, "order cost [USD]"),
        "price of a whole order: systems, network, racks, spares, licences, all lines of its bill; orders only",
        "cost", system_cost, paid=True, needs=frozenset({NPU_PRICE, ORDER}),
    ),
    Measure(
        Objective("network-cost", "network_cost_usd", 1.0, "network cost [USD]"),
        "price of the scale-out network of an order: switches, cables, modules and NICs; orders only",
        "cost", lambda figures: figures.cost, paid=True, needs=frozenset({ORDER}),
    ),
    Measure(
        Objective("tco", "tco_usd", 1.0, "total cost of ownership [USD]"),
        "cost, and the energy of `tco.years` at `usd_per_kWh` and `pue`; parts only",
        "cost", lambda figures: figures.cost + known(figures.tco).cost(figures.watts),
        paid=True, summed=_tco_per_bandwidth, needs=frozenset({WATTS, TCO}),
    ),
    Measure(
        Objective("energy", "energy_kJ", 1e3, "network energy of an iteration [kJ]"),
        "power times iteration time; parts only",
        "energy", lambda figures: figures.watts * figures.time, timed=True, needs=frozenset({WATTS}),
    ),
    Measure(
        Objective("time-cost", "time_cost_usd_s", 1.0, "iteration time x network cost [USD s]"),
        "iteration time times cost, the inverse of performance per cost",
        "time times cost", lambda figures: figures.time * figures.cost, timed=True, paid=True,
    ),
    Measure(
        Objective("bisection", "bisection_s_per_TB", 1.0, "time of a TB over the bisection [s]"),
        "time of a TB over the narrowest cut that halves the network along a dimension",
        "bandwidth", _bisection, inverse=_TERA, smallest=_cut_rows,
    ),
    Measure(
        Objective("tokens-per-s", "s_per_Mtoken", 1.0, "time of a million tokens [s]"),
        "time of a million tokens of training or answers, the inverse of the tokens per second that constraints limit",
        "throughput", tokens_per_second, inverse=_MEGA, timed=True, needs=frozenset({TRAINING, TOKENS}),
    ),
    Measure(
        Objective("tokens-per-s-one-out", "s_per_Mtoken_one_out", 1.0, "time of a million tokens with one out [s]"),
        "tokens-per-s while a server, or a tray of a rack, is out with the replicas on it, unless spare NPUs take its "
        "place; served orders only",
        "throughput", tokens_one_out, inverse=_MEGA, timed=True, needs=frozenset({TRAINING, TOKENS, USERS, ORDER}),
    ),
    Measure(
        Objective("memory", "memory_GB", 1e9, "memory of an NPU [GB]"),
        "memory that training or serving needs of an NPU",
        "memory", memory, needs=frozenset({TRAINING}),
    ),
    Measure(
        Objective("energy-per-token", "energy_per_token_J", 1.0, "energy of a token [J]"),
        "energy of NPUs under load and network, and of hosts and storage where the file has `system`, over the tokens "
        "of training or of answers; parts and NPUs with a power only",
        "energy", energy_per_token, timed=True, needs=frozenset({WATTS, TRAINING, TOKENS, NPU_WATTS}),
    ),
    Measure(
        Objective("system-tco", "system_tco_usd", 1.0, "total cost of the system [USD]"),
        "system-cost, and the energy of all of it over `tco.years` at `usd_per_kWh` and `pue`; parts, and NPUs with "
        "price and power only",
        "cost", system_tco, paid=True, needs=frozenset({WATTS, TCO, NPU_WATTS, NPU_PRICE}),
    ),
    Measure(
        Objective("usd-per-Mtoken", "cost_per_Mtoken_usd", 1.0, "cost of a million tokens [USD]"),
        "system-tco for the time of a million tokens, over `tco.years`; parts, and NPUs with price and power only",
        "cost of tokens", lambda figures: _MEGA * usd_per_token(figures), timed=True, paid=True,
        needs=frozenset({WATTS, TCO, TRAINING, TOKENS, NPU_WATTS, NPU_PRICE}),
    ),
    Measure(
        Objective("usd-per-trillion-tokens", "cost_per_Ttoken_usd", 1.0, "cost of a trillion tokens [USD]"),
        "system-tco for the time of a trillion tokens, over `tco.years`; parts, and NPUs with price and power only",
        "cost of trillions of tokens", lambda figures: _TERA * usd_per_token(figures), timed=True, paid=True,
        needs=frozenset({WATTS, TCO, TRAINING, TOKENS, NPU_WATTS, NPU_PRICE}),
    ),
    Measure(
        Objective("ttft", "ttft_ms", 1e-3, "time to the first token [ms]"),
        "time to the first token of an answer: exact for one user, for several the upper end of a range; of the "
        "workload where it is the longest",
        "time", lambda figures: users(figures).first, needs=frozenset({USERS}),
    ),
    Measure(
        Objective("tpot", "tpot_ms", 1e-3, "time per output token [ms]"),
        "time of each further token of an answer, of the workload where it is the longest",
        "time", lambda figures: users(figures).token, needs=frozenset({USERS}),
    ),
    Measure(
        Objective("goodput", "useful_iteration_ms", 1e-3, "time of a useful iteration [ms]"),
        "time of an iteration with all that failures cost, the inverse of the useful iterations per second that "
        "constraints limit; parts only",
        "rate", lambda figures: _useful(figures) / figures.time, inverse=1.0, timed=True, needs=frozenset({FAULTS}),
    ),
    Measure(
        Objective("useful-share", "time_per_useful_time", 1.0, "time per useful time"),
        "time over what of it is useful, the inverse of the share of useful time that constraints limit; parts only",
        "share", _useful, inverse=1.0, needs=frozenset({FAULTS}),
    ),
)  # fmt: skip
PLAIN: Mapping[str, Measure] = {measure.objective.name: measure for measure in _TABLE}
"""Everything that can be minimised at stated prices and weights, by name."""

_ROBUST = [measure.over(statistic) for measure in _TABLE if measure.uncertain for statistic in STATISTICS.values()]
MEASURES: Mapping[str, Measure] = {**PLAIN, **{measure.objective.name: measure for measure in _ROBUST}}
"""Everything that can be minimised, by name: `PLAIN`, and statistics over scenarios such as ``cost.p95``."""


def unit_of(quantity: str) -> str:
    """Return the kind of units of a constraint on an objective, or on bandwidths.

    >>> unit_of("tco"), unit_of("bandwidth")
    ('cost', 'bandwidth')
    """
    return MEASURES[quantity].unit if quantity in MEASURES else "bandwidth"


def values(objectives: Sequence[Objective], figures: Figures) -> FloatArray:
    """Return the (m, n) values of objectives in SI; all are minimised."""
    return np.array([MEASURES[objective.name].minimised(figures) for objective in objectives])
