"""What designs of a space have in common, looked up a population at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from evo_libra.arrays import FloatArray, IntArray, Population
from evo_libra.bandwidth.program import BandwidthProgram, merged
from evo_libra.network.bill import fits, relaxed_price
from evo_libra.network.blocks import Kit
from evo_libra.network.blocks.registry import BLOCKS
from evo_libra.network.catalog.technologies import Catalog
from evo_libra.network.cost import part_prices
from evo_libra.problem.constraints import TOLERANCE
from evo_libra.problem.design_parts import kits_of
from evo_libra.problem.evaluator import TimeModel
from evo_libra.problem.hardware import Hardware, HardwareTable, hardware_of, tabulated
from evo_libra.problem.objectives import cuts
from evo_libra.problem.space import Space, Structures, columns, divisors_of


@dataclass(frozen=True)
class DimensionChoice:
    """What is left to choose of one dimension.

    Attributes
    ----------
    blocks : for each technology, the indices of the blocks that can be built.
    low, high : (t,) bandwidth per NPU in B/s for each technology.
    """

    blocks: tuple[tuple[int, ...], ...]
    low: FloatArray
    high: FloatArray


@dataclass(frozen=True)
class Skeletons:
    """Designs without their bandwidths, design axis last.

    Attributes
    ----------
    structure : (n,) index into the structures of the space; -1 where it does not matter.
    npus, technology, block : (d, n).
    price : (d, n) USD per B/s of the whole network; 0 in unused dimensions.
    low, high : (d, n) the box of the bandwidths in B/s; both 0 in unused dimensions.
    used : (d, n) 1 where a dimension is in use.
    hardware : ports and parts; None where prices are per bandwidth.
    """

    structure: IntArray
    npus: IntArray
    technology: IntArray
    block: IntArray
    price: FloatArray
    low: FloatArray
    high: FloatArray
    used: FloatArray
    hardware: Hardware | None = None

    def select(self, designs: IntArray) -> Skeletons:
        """Return some of the designs."""
        hardware = None if self.hardware is None else self.hardware.select(designs)
        arrays = {name: array[..., designs] for name, array in vars(self).items() if name != "hardware"}
        return Skeletons(**arrays, hardware=hardware)

    @property
    def watts(self) -> FloatArray:
        """(d, n) W per B/s of the whole network; 0 in unused dimensions, and where prices are per bandwidth."""
        return np.zeros(self.price.shape) if self.hardware is None else self.hardware.relaxed_watts

    @property
    def cuts(self) -> FloatArray:
        """(d, n) what passes between two halves of the network along each dimension, in bandwidths of an NPU."""
        return cuts(self.npus, self.block)


@dataclass(frozen=True)
class Tables:
    """Tables of a space.

    Attributes
    ----------
    space : its structures.
    time : the time model.
    npus : of the network.
    low, high : (d, t) B/s of a dimension in each technology.
    blocks : (d, t, choice) the block that each gene stands for.
    prices : (block, technology) USD per NPU and B/s; zeros where dimensions are built of parts.
    kits : what technologies are built of; empty where they have prices per bandwidth.
    """

    space: Space
    time: TimeModel
    npus: int
    low: FloatArray
    high: FloatArray
    blocks: IntArray
    prices: FloatArray
    kits: tuple[Kit, ...] = ()

    def skeletons(self, structure: IntArray, gene: IntArray) -> Skeletons:
        """Return the designs of (n,) structures and (d, n) block genes."""
        return self.skeletons_of(*self.space.look_up(structure), gene, structure)

    def skeletons_of(
        self, npus: IntArray, technology: IntArray, gene: IntArray, structure: IntArray | None = None
    ) -> Skeletons:
        """Return the designs of (d, n) sizes, technologies and block genes."""
        if self.kits:
            return self._built(npus, technology, structure)
        depth, kinds, most = self.blocks.shape
        used = (npus > 1).astype(np.float64)
        row = np.arange(depth)[:, None] * kinds + technology
        low, high = np.take(self.low, row), np.take(self.high, row)
        if not used.all():
            low *= used
            high = np.where(used > 0, high, 0.0)
        block = np.take(self.blocks, row * most + gene)
        price = np.take(self.prices, block * kinds + technology) * (used * self.npus)
        index = np.full(npus.shape[1], -1) if structure is None else structure
        return Skeletons(index, npus, technology, block, price, low, high, used)

    def _built(self, npus: IntArray, technology: IntArray, structure: IntArray | None) -> Skeletons:
        """Return designs of kits; what their parts cost depends on the sizes, and so do the ports."""
        known = self._hardware if structure is not None and (structure >= 0).all() else None
        index = np.full(npus.shape[1], -1) if structure is None else structure
        hardware = self.hardware_of(npus, technology) if known is None else known.select(index)
        block = np.take(self._kit_blocks, technology)
        used = (npus > 1).astype(np.float64)
        price, low, high = hardware.relaxed_price, hardware.low, hardware.high
        return Skeletons(index, npus, technology, block, price, low, high, used, hardware)

    def hardware_of(self, npus: IntArray, technology: IntArray) -> Hardware:
        """Return the hardware of (d, n) sizes and kits, with no more ports than the problem allows."""
        return hardware_of(self.kits, npus, technology).within(*self.box(technology))

    def box(self, technology: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return the (d, n) least and largest B/s of dimensions in (d, n) technologies."""
        row = np.arange(len(technology))[:, None] * self.low.shape[1] + technology
        return np.take(self.low, row), np.take(self.high, row)

    def outside(self, designs: Population) -> FloatArray:
        """Return (n,) how far bandwidths are outside the box, relative to it; a dimension without any is 1 off."""
        bandwidth = designs.bandwidth
        low, high = self.box(designs.technology)
        inside = (bandwidth >= low * (1.0 - TOLERANCE)) & (bandwidth <= high * (1.0 + TOLERANCE)) & (bandwidth > 0)
        wrong = ~inside & (designs.npus > 1)
        if not wrong.any():
            return np.zeros(len(designs))
        with np.errstate(divide="ignore", invalid="ignore"):
            off = np.where(bandwidth > 0, np.maximum(1.0 - bandwidth / low, bandwidth / high - 1.0), 1.0)
        return np.asarray(np.where(wrong, off, 0.0).sum(axis=0))

    def traffic_of(self, designs: Skeletons) -> FloatArray:
        """Return the (c, d, n) traffic of designs."""
        if self._traffic is None or (designs.structure < 0).any():
            return self.time.traffic(designs.npus, designs.technology)
        return _planes(self._traffic, designs.structure)

    def program_of(self, designs: Skeletons) -> BandwidthProgram:
        """Return the program of the best bandwidths of some designs, without linear constraints."""
        if self._program is None or (designs.structure < 0).any():
            traffic = self.time.traffic(designs.npus, designs.technology)
            return self.time.program(traffic, designs.low, designs.high)
        empty = np.empty((0, *designs.low.shape))
        return replace(
            self._program, traffic=_planes(self._program.traffic, designs.structure), price=np.zeros(designs.low.shape),
            low=designs.low, high=designs.high, rows=empty, limit=np.empty((0, designs.low.shape[1])),
        )  # fmt: skip

    def cheapest(self, technology: IntArray) -> IntArray:
        """Return (d, n) the gene of the cheapest block of each dimension, from (d, n) technologies."""
        gene = self._block_prices.argmin(axis=2)
        return np.asarray(gene[np.arange(len(technology))[:, None], technology])

    @cached_property
    def least_price(self) -> FloatArray:
        """(d, t) USD per NPU and B/s of the cheapest block of each dimension in each technology."""
        if self.kits:
            return np.broadcast_to(self._kit_prices[0], self.low.shape)
        return np.asarray(self._block_prices.min(axis=2))

    @cached_property
    def _block_prices(self) -> FloatArray:
        return np.asarray(self.prices[self.blocks, np.arange(self.blocks.shape[1])[:, None]])

    def highest_cost(self) -> float:
        """Return USD that no design exceeds: every dimension as dear and as wide as it may be.

        Of dimensions that are built of parts, what parts would cost that come in any fraction.
        """
        if self.kits:
            return float((self._kit_prices[1] * self.high).max(axis=1).sum()) * self.npus
        return float((self.prices.max(axis=0) * self.high).max(axis=1).sum()) * self.npus

    @cached_property
    def _traffic(self) -> FloatArray | None:
        if not isinstance(self.space, Structures):
            return None
        return self.time.traffic(self.space.npus, self.space.technology)

    @cached_property
    def _hardware(self) -> HardwareTable | None:
        if not isinstance(self.space, Structures) or not len(self.space):
            return None
        return tabulated(self.kits, self.space.npus, self.space.technology, self.hardware_of)

    @cached_property
    def _kit_prices(self) -> FloatArray:
        """(2, t) least and highest USD per NPU and B/s of each kit, over all sizes of a dimension next to the NPUs."""
        found = np.zeros((2, len(self.kits)))
        sizes = np.array([size for size in divisors_of(self.npus) if size > 1], dtype=np.int64)
        for t, kit in enumerate(self.kits):
            mine = sizes[fits(kit, sizes, np.ones_like(sizes))]
            npus = np.stack([mine, self.npus // mine])
            prices = relaxed_price(self.kits, np.full(npus.shape, t), npus)[0] / self.npus
            found[:, t] = prices.min(initial=np.inf), prices.max(initial=0.0)
        return found

    @cached_property
    def _kit_blocks(self) -> IntArray:
        return np.array([kit.block for kit in self.kits])

    @cached_property
    def _program(self) -> BandwidthProgram | None:
        if not isinstance(self.space, Structures) or self._traffic is None:
            return None
        box = np.zeros(self.space.npus.shape)
        return merged(self.time.program(self._traffic, box, box))


def tables_of(space: Space, choices: Sequence[DimensionChoice], catalog: Catalog, time: TimeModel, npus: int) -> Tables:
    """Tabulate a space."""
    most = max(len(blocks) for choice in choices for blocks in choice.blocks)
    blocks = [[np.resize(np.array(blocks or (0,)), most) for blocks in choice.blocks] for choice in choices]
    low, high = np.array([choice.low for choice in choices]), np.array([choice.high for choice in choices])
    kits = kits_of(catalog)
    prices = np.zeros((len(BLOCKS), len(kits))) if kits else part_prices(catalog).sum(axis=0)
    return Tables(space, time, npus, low, high, np.array(blocks, dtype=np.int64), prices, kits)


def _planes(table: FloatArray, chosen: IntArray) -> FloatArray:
    planes, depth, structures = table.shape
    return columns(table.reshape(planes * depth, structures), chosen).reshape(planes, depth, len(chosen))
