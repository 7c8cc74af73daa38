"""The useful share of designs that are built of parts, from failures looked up by kind of dimension and ports."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from evo_libra.arrays import FloatArray, IntArray, cases, columns
from evo_libra.network.bill import inner_npus
from evo_libra.network.blocks import Kit
from evo_libra.network.catalog.failures import Failures
from evo_libra.network.faults import Sparing, fault_figures, sparing
from evo_libra.problem.faults import Faults
from evo_libra.problem.pricing.parts import BillOfMaterials
from evo_libra.problem.pricing.pricing import Topologies

MAX_ENTRIES = 2_000_000
"""Kinds of dimensions times their ports, up to which they are kept in a table."""

_PART = 4096


@dataclass(frozen=True)
class FaultTable:
    """The faults of every combination of a space.

    Attributes
    ----------
    figures : (3, entry) of a kind of dimension with 0, 1, ... ports, kind by kind; see `summed`.
    start : (d, s) entry of each dimension of each combination with 0 ports.
    sparing : of each combination.
    """

    figures: FloatArray
    start: FloatArray
    sparing: Sparing

    def of(self, structure: IntArray, ports: FloatArray) -> FloatArray:
        """Return the (3, n) figures of (n,) combinations with (d, n) ports."""
        entry = columns(self.start, structure)
        entry += ports
        return np.asarray(columns(self.figures, entry.astype(np.intp)).sum(axis=1))


def summed(figures: FloatArray) -> FloatArray:
    """Return (3, ...) sums of `fault_figures` over items: stops, what spares can stand in for, what else is gone."""
    stops, spared, waits, slows = figures.sum(axis=1)
    return np.stack([stops, spared, waits + slows])


def tabulated_faults(
    kits: Sequence[Kit], npus: IntArray, technology: IntArray, max_ports: FloatArray, failures: Failures, host: int
) -> FaultTable | None:
    """Return the table of (d, s) sizes and kits with up to (d, s) ports; None where it would be too large.

    Ports are whole, and so are pieces.
    """
    depth, count = npus.shape
    used, place = np.where(npus > 1, technology, -1), np.arange(depth)[:, None]
    spared = sparing(kits, technology, npus, host)
    side = np.where(npus > 1, np.where(spared.level < 0, -1, place >= spared.level), 0)
    first, kind = cases(used.ravel(), npus.ravel(), inner_npus(npus).ravel(), side.ravel())
    dimension, structure = np.divmod(first, count)
    many = np.where(npus > 1, max_ports, 0.0)[dimension, structure].astype(np.int64) + 1
    if many.sum() > MAX_ENTRIES:
        return None
    start = np.cumsum(many) - many
    entry = np.repeat(np.arange(len(first)), many)
    ports = np.arange(len(entry)) - start[entry]
    found = np.empty((3, len(entry)))
    for some in (slice(low, low + _PART) for low in range(0, len(entry), _PART)):
        which, each = structure[entry[some]], np.arange(len(entry[some]))
        networks = np.broadcast_to(ports[some].astype(np.float64), (depth, len(each)))
        figures = fault_figures(kits, technology[:, which], npus[:, which], networks, failures, whole=True)
        found[:, some] = summed(figures)[:, dimension[entry[some]], each]
    return FaultTable(found, start[kind].reshape(depth, count).astype(np.float64), spared)


def select(found: Sparing, structure: IntArray) -> Sparing:
    """Return the sparing of (n,) combinations."""
    return replace(found, **{name: columns(array, structure) for name, array in vars(found).items()})


@dataclass(frozen=True)
class NetworkFaults:
    """Failures of networks, and of the NPUs, hosts and software on them."""

    pricing: BillOfMaterials
    faults: Faults

    def useful(self, topologies: Topologies, bandwidth: FloatArray, spares: IntArray | None) -> FloatArray:
        """Return the (n,) useful shares of networks with (d, n) B/s and (n,) spare NPUs; None for none."""
        known = self._table if (topologies.structure >= 0).all() else None
        ports = self.pricing.ports_of(topologies, bandwidth)
        if known is None:
            figures = summed(self._by_item(topologies, ports)).sum(axis=1)
        else:
            figures = known.of(topologies.structure, ports)
        figures[:2] += self._of_npus[:, None]
        if spares is None:
            return self.faults.useful(figures, 0.0)
        if known is None:
            where = self.where(topologies.npus, topologies.technology)
        else:
            where = select(known.sparing, topologies.structure)
        return self.faults.useful(figures, where.units(spares))

    def where(self, npus: IntArray, technology: IntArray) -> Sparing:
        """Return where spares of (d, n) sizes and kits are."""
        return sparing(self.pricing.parts, technology, npus, self.faults.host_npus)

    def by_item(self, topologies: Topologies, bandwidth: FloatArray) -> FloatArray:
        """Return (figure, item, d, n) what failures of networks do, as `evo_libra.network.faults.fault_figures`."""
        return self._by_item(topologies, self.pricing.ports_of(topologies, bandwidth))

    def _by_item(self, topologies: Topologies, ports: FloatArray) -> FloatArray:
        return fault_figures(
            self.pricing.parts, topologies.technology, topologies.npus, ports, self.faults.failures,
            whole=self.pricing.whole,
        )  # fmt: skip

    @cached_property
    def _of_npus(self) -> FloatArray:
        return np.asarray(sum(self.faults.of_npus(self.pricing.npus).values()))

    @cached_property
    def _table(self) -> FaultTable | None:
        table, pricing = self.pricing.space.table, self.pricing
        if table is None or not pricing.whole:
            return None
        most = pricing.hardware_of(table.npus, table.technology).max_ports
        return tabulated_faults(
            pricing.parts, table.npus, technology=table.technology, max_ports=most, failures=self.faults.failures,
            host=self.faults.host_npus,
        )  # fmt: skip
