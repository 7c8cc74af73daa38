"""The system around a network: everything besides network and accelerators, as rows of one bill.

Costs, power and scenarios of prices all read these rows; `evo_libra.explain.system_bill` has the bill as it is shown.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from evo_libra.arrays import BoolArray, FloatArray, IntArray, Population, columns
from evo_libra.network.blocks import Range


@dataclass(frozen=True)
class SystemRow(ABC):
    """Something that is bought for a whole system.

    Attributes
    ----------
    name, unit : what it is, and what a piece of it is.
    price : USD of a piece; None where no source gives it.
    watts : W of a piece under load; None where no source gives it.
    key : the key of the problem file that has its figures.
    source : where they come from.
    """

    name: str
    unit: str
    price: Range | None
    watts: float | None
    key: str
    source: str

    price_key: ClassVar[str] = "price_usd"
    """The key of its price next to `key`."""

    @abstractmethod
    def pieces(self, designs: Population) -> FloatArray:
        """Return (n,) how many pieces designs take, those for spare NPUs included."""

    def pinned(self, plan: Sequence[int]) -> SystemRow:  # noqa: ARG002 - others need it
        """Return the row where each workload that leaves plans open has one of them."""
        return self


@dataclass(frozen=True)
class Hosts(SystemRow):
    """The nodes around the NPUs: as many as hold all of them, `npus` each."""

    npus: int

    def pieces(self, designs: Population) -> FloatArray:
        """Return (n,) the hosts of all NPUs; the last one may be filled in part."""
        return np.ceil(bought_npus(designs) / self.npus)


@dataclass(frozen=True)
class Fixed(SystemRow):
    """As many pieces whatever the design."""

    count: float

    def pieces(self, designs: Population) -> FloatArray:
        """Return (n,) the count."""
        return np.full(len(designs), self.count)


@dataclass(frozen=True, eq=False)
class OfPlans(SystemRow):
    """Needs of some plans: SSDs of hosts, servers of parameters, and their NICs and SSDs.

    Attributes
    ----------
    count : pieces, or those of each host where `host_npus` NPUs share one.
    needed : (p,) whether the plans of a workload need them; of `table`, its place among those that leave plans open, or
        None where the workload has one plan.
    outermost : technologies of the outermost dimension that they are for; None for any.
    """

    count: float
    needed: BoolArray
    table: int | None
    host_npus: int | None = None
    outermost: tuple[int, ...] | None = None

    def pieces(self, designs: Population) -> FloatArray:
        """Return (n,) the count of designs under plans that need them, 0 of others."""
        needed = self.needed if self.table is None else columns(self.needed, designs.plans[self.table])
        if self.outermost is not None:
            needed = needed & np.isin(_outermost(designs), self.outermost)
        hosts = 1.0 if self.host_npus is None else np.ceil(bought_npus(designs) / self.host_npus)
        return np.asarray(np.where(needed, self.count * hosts, np.zeros(len(designs))))

    def pinned(self, plan: Sequence[int]) -> SystemRow:
        """Return the row where each workload that leaves plans open has one of them."""
        return self if self.table is None else replace(self, needed=self.needed[[plan[self.table]]], table=None)


@dataclass(frozen=True, eq=False)
class MemoryOfPlans(SystemRow):
    """Expansion memory of every NPU: as much as the plan takes that takes the most, as workloads share it.

    Attributes
    ----------
    each : (p,) GB of an NPU under the plans of each workload; of its place among those that leave plans open, or None
        where it has one plan.
    """

    each: tuple[tuple[FloatArray, int | None], ...]

    def pieces(self, designs: Population) -> FloatArray:
        """Return (n,) GB of all NPUs."""
        most = np.zeros(len(designs))
        for amount, table in self.each:
            most = np.maximum(most, amount if table is None else columns(amount, designs.plans[table]))
        return np.asarray(most * bought_npus(designs))

    def pinned(self, plan: Sequence[int]) -> SystemRow:
        """Return the row where each workload that leaves plans open has one of them."""
        each = tuple((amount if t is None else amount[[plan[t]]], None) for amount, t in self.each)
        return replace(self, each=each)


class SsdsOfPlans(OfPlans):
    """SSDs, whose power is in that of their host."""

    price_key = "ssd_price_usd"


def _outermost(designs: Population) -> IntArray:
    """Return (n,) the technology of the outermost dimension in use, where servers are."""
    last = len(designs.npus) - 1 - (designs.npus[::-1] > 1).argmax(axis=0)
    return np.asarray(np.take_along_axis(designs.technology, last[None], axis=0)[0])


def bought_npus(designs: Population) -> FloatArray:
    """Return (n,) NPUs with the spare ones."""
    npus = designs.npus.prod(axis=0)
    return np.asarray(npus if designs.spares is None else npus + designs.spares, dtype=np.float64)
