"""Objectives of a population, from its time, cost and power."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from evo_libra.model.arrays import FloatArray, IntArray
from evo_libra.model.blocks import PHYSICS
from evo_libra.problem.protocol import Objective

_HOURS_PER_YEAR = 8760.0
_KILO = 1e3
_TERA = 1e12


@dataclass(frozen=True)
class Ownership:
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
    ownership : what it costs to run a network, where that is asked for.
    """

    time: FloatArray
    cost: FloatArray
    watts: FloatArray
    npus: IntArray
    block: IntArray
    bandwidth: FloatArray
    ownership: Ownership | None = None


def _owned(worth: Worth) -> FloatArray:
    assert worth.ownership is not None, "the loader has looked"  # noqa: S101 - our mistake
    return worth.cost + worth.ownership.cost(worth.watts)


def bisection(npus: IntArray, block: IntArray, bandwidth: FloatArray) -> FloatArray:
    """Return (n,) B/s over the narrowest cut that halves a network along one of its dimensions.

    What passes between two halves of a dimension its block says.
    """
    world = npus.prod(axis=0)
    cut = np.full(npus.shape, np.inf)
    for index in np.unique(block[npus > 1]).tolist():
        mine = (block == index) & (npus > 1)
        halves = PHYSICS[index].cut(npus[mine])
        cut[mine] = halves * bandwidth[mine] * np.broadcast_to(world, npus.shape)[mine] / npus[mine]
    return np.asarray(cut.min(axis=0))


_VALUES: Mapping[str, Callable[[Worth], FloatArray]] = {
    "time": lambda worth: worth.time,
    "cost": lambda worth: worth.cost,
    "power": lambda worth: worth.watts,
    "ownership": _owned,
    "energy": lambda worth: worth.watts * worth.time,
    "time-cost": lambda worth: worth.time * worth.cost,
    "bisection": lambda worth: _TERA / bisection(worth.npus, worth.block, worth.bandwidth),
}


def values(objectives: Sequence[Objective], worth: Worth) -> FloatArray:
    """Return the (m, n) values of objectives in SI; all are minimised."""
    return np.array([_VALUES[objective.name](worth) for objective in objectives])
