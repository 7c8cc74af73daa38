"""Objectives of a population, from its time, cost and power: one table says all that there is to know of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from evo_libra.arrays import FloatArray, IntArray
from evo_libra.network.blocks.registry import BLOCKS
from evo_libra.problem.protocol import COST, TIME, Objective

_HOURS_PER_YEAR = 8760.0
_KILO = 1e3
_TERA = 1e12


@dataclass(frozen=True)
class TotalCostOfOwnership:
    """What it costs to run a network.

    Attributes
    ----------
    years : that it runs, all the time.
    price : USD per kWh.
    pue : power of the whole site over that of what it is there for.
    """

    years: float
    price: float
    pue: float

    def cost(self, watts: FloatArray) -> FloatArray:
        """Return the USD of (n,) W."""
        return np.asarray(watts / _KILO * self.pue * self.price * _HOURS_PER_YEAR * self.years)


@dataclass(frozen=True)
class Worth:
    """What objectives are made of.

    Attributes
    ----------
    time : (n,) s of an iteration.
    cost : (n,) USD; `watts` : (n,) W.
    npus, block : (d, n); `bandwidth` : (d, n) B/s per NPU.
    tco : what it costs to run a network, where that is asked for.
    """

    time: FloatArray
    cost: FloatArray
    watts: FloatArray
    npus: IntArray
    block: IntArray
    bandwidth: FloatArray
    tco: TotalCostOfOwnership | None = None


def _owned(worth: Worth) -> FloatArray:
    assert worth.tco is not None, "the loader has looked"  # noqa: S101 - our mistake
    return worth.cost + worth.tco.cost(worth.watts)


def cuts(npus: IntArray, block: IntArray) -> FloatArray:
    """Return (d, n) what passes between two halves of a whole network along each dimension, in bandwidths of an NPU.

    What passes between two halves of a dimension its block says. It is infinite in unused dimensions.
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


@dataclass(frozen=True)
class Measure:
    """What can be minimised, and what constraints can limit.

    Attributes
    ----------
    objective : its name, column, scale and label.
    unit : what its units in constraints measure, as in `evo_libra.problem.constraints.UNITS`.
    value : (n,) in SI; what constraints limit.
    minimised : (n,) in SI, where that is not the value itself.
    power : whether it needs the power of a network, which only catalogues of parts know.
    timed : whether it needs the iteration time; it is more where an iteration is more work.
    """

    objective: Objective
    unit: str
    value: Callable[[Worth], FloatArray]
    minimised: Callable[[Worth], FloatArray] | None = None
    power: bool = False
    timed: bool = False


def _bisection(worth: Worth) -> FloatArray:
    return bisection(worth.npus, worth.block, worth.bandwidth)


_TABLE = (
    Measure(TIME, "time", lambda worth: worth.time, timed=True),
    Measure(COST, "cost", lambda worth: worth.cost),
    Measure(
        Objective("power", "power_kW", 1e3, "network power [kW]"), "power", lambda worth: worth.watts, power=True
    ),
    Measure(Objective("tco", "tco_usd", 1.0, "total cost of ownership [USD]"), "cost", _owned, power=True),
    Measure(
        Objective("energy", "energy_kJ", 1e3, "network energy of an iteration [kJ]"),
        "energy", lambda worth: worth.watts * worth.time, power=True, timed=True,
    ),
    Measure(
        Objective("time-cost", "time_cost_usd_s", 1.0, "iteration time x network cost [USD s]"),
        "time times cost", lambda worth: worth.time * worth.cost, timed=True,
    ),
    Measure(
        Objective("bisection", "bisection_s_per_TB", 1.0, "time of a TB over the bisection [s]"),
        "bandwidth", _bisection, lambda worth: _TERA / _bisection(worth),
    ),
)  # fmt: skip
MEASURES: Mapping[str, Measure] = {measure.objective.name: measure for measure in _TABLE}
"""Everything that can be minimised, by name."""


def unit_of(quantity: str) -> str:
    """Return what the units of a constraint on an objective, or on bandwidths, measure.

    >>> unit_of("tco"), unit_of("bandwidth")
    ('cost', 'bandwidth')
    """
    return MEASURES[quantity].unit if quantity in MEASURES else "bandwidth"


def values(objectives: Sequence[Objective], worth: Worth) -> FloatArray:
    """Return the (m, n) values of objectives in SI; all are minimised."""
    measures = [MEASURES[objective.name] for objective in objectives]
    return np.array([(measure.minimised or measure.value)(worth) for measure in measures])
