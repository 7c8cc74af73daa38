"""The useful share of the designs of a problem that are built of parts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from evo_libra.arrays import FloatArray, IntArray
from evo_libra.network.faults import Sparing, fault_figures, sparing
from evo_libra.problem.fault_table import FaultTable, select, summed, tabulated_faults
from evo_libra.problem.faults import Faults
from evo_libra.problem.pricing.parts import BillOfMaterials
from evo_libra.problem.pricing.pricing import Topologies


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
