"""Parts of the dimensions of designs where a catalogue lists parts: ports, prices and watts, looked up by kit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from evo_libra.arrays import BoolArray, FloatArray, IntArray, cases, columns
from evo_libra.network.bill import counting, inner_npus, part_figures
from evo_libra.network.blocks import Counts, Kit
from evo_libra.network.blocks.registry import BLOCKS
from evo_libra.problem.constraints import TOLERANCE

_ROUNDING = 1e-9


@dataclass(frozen=True)
class Hardware:
    """Ports of the dimensions of some designs, with their parts; 0 in unused dimensions.

    Attributes
    ----------
    rate : (d, n) B/s of a port; `whole` : of `quantum` ports, 1 in unused dimensions, to divide by.
    quantum, min_ports, max_ports : (d, n) ports of an NPU come in multiples of `quantum`, between these two.
    per_port : (2, d, n) USD and W of the whole network for a port of each NPU, of parts that are bought by the port.
    per_step : (2, item, d, n) USD and W of each further ``ceil(ports * slope)`` of the other parts.
    slope : (item, d, n).
    relaxed_price : (d, n) USD per B/s that no whole number of parts undercuts.
    shared : (g, d, n) part of a technology's ports that a B/s takes, where several dimensions share them: a row for
        each such technology of a design, and zeros.
    """

    rate: FloatArray
    whole: FloatArray
    quantum: FloatArray
    min_ports: FloatArray
    max_ports: FloatArray
    per_port: FloatArray
    per_step: FloatArray
    slope: FloatArray
    relaxed_price: FloatArray
    shared: FloatArray

    def select(self, designs: IntArray) -> Hardware:
        """Return the hardware of some designs."""
        return Hardware(*(columns(array, designs) for array in vars(self).values()))

    def part(self, designs: slice) -> Hardware:
        """Return the hardware of adjacent designs, without a copy."""
        return Hardware(*(array[..., designs] for array in vars(self).values()))

    def times(self, factor: FloatArray) -> Hardware:
        """Return the same ports at (n,) times their prices and watts."""
        figures = {name: getattr(self, name) * factor for name in ("per_port", "per_step", "relaxed_price")}
        return replace(self, **figures)

    @property
    def relaxed_watts(self) -> FloatArray:
        """(d, n) W per B/s that no whole number of parts undercuts."""
        watts = self.per_port[1] + (self.per_step[1] * self.slope).sum(axis=0)
        return np.asarray(np.divide(watts, self.rate, out=np.zeros_like(watts), where=self.rate > 0))

    @property
    def low(self) -> FloatArray:
        """(d, n) B/s of the fewest ports."""
        return np.asarray(self.min_ports * self.rate)

    @property
    def high(self) -> FloatArray:
        """(d, n) B/s of the most ports."""
        return np.asarray(self.max_ports * self.rate)

    @property
    def possible(self) -> FloatArray:
        """`shared`, with zeros where even the fewest ports are too many, so that nothing that is moved would help."""
        taken = np.einsum("gdn,dn->gn", self.shared, self.low)
        return np.asarray(self.shared * (taken <= 1.0)[:, None])

    def ports(self, bandwidth: FloatArray, rounding: np.ufunc = np.rint) -> FloatArray:
        """Return the (d, n) numbers of ports of (d, n) B/s: the nearest, no more (`floor`) or no fewer (`ceil`)."""
        # In an unused dimension bandwidth, rate and quantum are 0, and so are the ports.
        count = bandwidth / self.whole
        if rounding is not np.rint:
            count *= 1.0 + (_ROUNDING if rounding is np.floor else -_ROUNDING)
        rounding(count, out=count)
        count *= self.quantum
        np.maximum(count, self.min_ports, out=count)
        return np.asarray(np.minimum(count, self.max_ports, out=count))

    def within(self, low: FloatArray, high: FloatArray) -> Hardware:
        """Return the hardware with ports within (d, n) B/s, but for at least the fewest that can be built."""
        whole = np.where(self.rate > 0, self.rate * self.quantum, 1.0)
        min_ports = np.ceil(low / whole * (1.0 - _ROUNDING)) * self.quantum
        max_ports = np.floor(high / whole * (1.0 + _ROUNDING)) * np.maximum(self.quantum, 1.0)
        max_ports = np.clip(np.minimum(max_ports, self.max_ports), self.min_ports, self.max_ports)
        return replace(self, min_ports=np.clip(min_ports, self.min_ports, max_ports), max_ports=max_ports)

    def totals(self, ports: FloatArray, *, power: bool = True) -> tuple[FloatArray, FloatArray]:
        """Return (n,) USD and (n,) W of (d, n) ports; 0 W unless power is asked for."""
        steps = ports * self.slope
        steps -= _ROUNDING
        np.ceil(steps, out=steps)
        found = np.zeros((2, ports.shape[1]))
        for figure in range(1 + power):
            np.einsum("dn,dn->n", self.per_port[figure], ports, out=found[figure])
            found[figure] += np.einsum("idn,idn->n", self.per_step[figure], steps)
        return found[0], found[1]

    def excess(self, bandwidth: FloatArray) -> FloatArray:
        """Return (n,) the relative violation of the ports that dimensions of one technology share."""
        over = np.einsum("gdn,dn->gn", self.shared, bandwidth) - 1.0
        if not over.size or over.max() <= TOLERANCE:
            return np.zeros(bandwidth.shape[1])
        return np.asarray(np.where(over > TOLERANCE, over, 0.0).sum(axis=0))


@dataclass(frozen=True)
class HardwareTable:
    """The hardware of every combination of a space, by the few kinds of dimension that they have.

    Attributes
    ----------
    kinds : hardware whose arrays end in an axis (k,) of kinds and not in (d, n).
    kind : (d, s) kind of each dimension of each combination.
    shared : (g, d, s) as of `Hardware`: that of all dimensions of a combination together.
    counts : (item, k) items of each kind.
    """

    kinds: Hardware
    kind: IntArray
    shared: FloatArray
    counts: Counts

    def counts_of(self, structure: IntArray) -> Counts:
        """Return the (item, d, n) counts of (n,) combinations."""
        kind = columns(self.kind, structure)
        return Counts(*(columns(array, kind) for array in vars(self.counts).values()))

    def select(self, structure: IntArray) -> Hardware:
        """Return the hardware of (n,) combinations."""
        kind = columns(self.kind, structure)
        # A table of kinds stays in the cache, one of combinations does not.
        found = {
            name: columns(array, kind) for name, array in vars(self.kinds).items() if name not in ("shared", "whole")
        }
        # Two passes are quicker than to look up one more row.
        whole = found["rate"] * found["quantum"]
        return Hardware(**found, whole=np.maximum(whole, 1.0, out=whole), shared=columns(self.shared, structure))


def tabulated(
    kits: Sequence[Kit], npus: IntArray, technology: IntArray, build: Callable[[IntArray, IntArray], Hardware]
) -> HardwareTable:
    """Return the table of (d, s) sizes and kits; `build` gives the hardware of some of them."""
    depth, count = npus.shape
    used = np.where(npus > 1, technology, -1)
    place = np.repeat(np.arange(depth), count)
    first, kind = cases(place, used.ravel(), npus.ravel(), inner_npus(npus).ravel())
    dimension, structure = np.divmod(first, count)
    some = build(npus[:, structure], technology[:, structure])
    each = np.arange(len(first))
    arrays = {name: np.ascontiguousarray(array[..., dimension, each]) for name, array in vars(some).items()}
    counts = vars(counting(kits, technology[:, structure], npus[:, structure])).values()
    found = Counts(*(np.ascontiguousarray(array[:, dimension, each]) for array in counts))
    return HardwareTable(Hardware(**arrays), kind.reshape(depth, count), _shared(kits, used), found)


def hardware_of(kits: Sequence[Kit], npus: IntArray, technology: IntArray) -> Hardware:
    """Return the hardware of (d, n) sizes and kits."""
    used = npus > 1
    found = counting(kits, technology, npus)
    figures = np.stack([part_figures(kit) for kit in kits], axis=2)[:, :, technology] * used
    rate = np.array([kit.port_rate for kit in kits])[technology] * used
    quantum, max_ports = np.zeros(npus.shape), np.zeros(npus.shape)
    for k in np.unique(technology[used]).tolist():
        mine = used & (technology == k)
        quantum[mine] = BLOCKS[kits[k].block].quantum(npus[mine], kits[k])
        max_ports[mine] = kits[k].ports // quantum[mine] * quantum[mine]
    stepped = np.flatnonzero(found.step.any(axis=(1, 2)))
    per_port, per_step = (figures * found.linear).sum(axis=1), (figures * found.step)[:, stepped]
    slope = found.slope[stepped]
    price = per_port[0] + (per_step[0] * slope).sum(axis=0)
    price = np.divide(price, rate, out=np.zeros_like(price), where=rate > 0)
    shared = _shared(kits, np.where(used, technology, -1))
    whole, min_ports = np.maximum(rate * quantum, 1.0), quantum.copy()
    arrays = (rate, whole, quantum, min_ports, max_ports, per_port, per_step, slope, price, shared)
    # Look-ups are by row: rows that are not in one piece would all be copied each time.
    return Hardware(*map(np.ascontiguousarray, arrays))


def buildable(kits: Sequence[Kit], npus: IntArray, technology: IntArray) -> BoolArray:
    """Return (n,) whether technologies have ports for the fewest that (d, n) sizes and kits can be built with."""
    table = tabulated(kits, npus, technology, lambda sizes, chosen: hardware_of(kits, sizes, chosen))
    low = table.kinds.low[table.kind]
    return np.asarray(((table.shared * low).sum(axis=1) <= 1.0 + _ROUNDING).all(axis=0))


def _shared(kits: Sequence[Kit], technology: IntArray) -> FloatArray:
    """Return `Hardware.shared` of (d, n) kits, -1 where a dimension is not used."""
    depth, count = technology.shape
    names = list(dict.fromkeys(kit.technology for kit in kits))
    name = np.array([*(names.index(kit.technology) for kit in kits), -1])[technology]
    taken = np.array([*(1.0 / (kit.ports * kit.port_rate) for kit in kits), 0.0])[technology]
    found, rows = np.zeros((depth // 2, depth, count)), np.zeros(count, dtype=np.int64)
    for d in range(depth - 1):
        alike = (name[d:] == name[d]) & (name[d] >= 0)
        first = np.flatnonzero((alike.sum(axis=0) > 1) & ~(name[:d] == name[d]).any(axis=0))
        for e in range(d, depth):
            found[rows[first], e, first] = np.where(alike[e - d, first], taken[e, first], 0.0)
        rows[first] += 1
    return found[: rows.max(initial=0)]
