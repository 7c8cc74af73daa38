"""What every structure of a space has in common with its designs, looked up a population at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from evo_libra.model.allocation.program import Program, merged
from evo_libra.model.arrays import FloatArray, IntArray
from evo_libra.model.catalog import Catalog
from evo_libra.model.cost import part_prices
from evo_libra.problem.evaluator import TimeModel
from evo_libra.problem.space import Structures

T = TypeVar("T", bound=np.generic)


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
    structure : (n,) index into the structures of the space.
    technology, block : (d, n).
    price : (d, n) USD per B/s of the whole network; 0 in unused dimensions.
    low, high : (d, n) the box of the bandwidths in B/s; both 0 in unused dimensions.
    used : (d, n) 1 where a dimension is in use.
    """

    structure: IntArray
    technology: IntArray
    block: IntArray
    price: FloatArray
    low: FloatArray
    high: FloatArray
    used: FloatArray


@dataclass(frozen=True)
class Tables:
    """Tables of a space: a column a structure, s of them.

    Attributes
    ----------
    structures : sizes and technologies.
    npus : of the network.
    low, high, used : (d, s) as in `Skeletons`.
    traffic : (c, d, s) bytes per NPU and dimension, per byte of each channel of the time model.
    blocks : (d, t, choice) the block that each gene stands for.
    prices : (block, technology) USD per NPU and B/s.
    program : the convex program of every structure's best bandwidths, without linear constraints.
    """

    structures: Structures
    npus: int
    low: FloatArray
    high: FloatArray
    used: FloatArray
    traffic: FloatArray
    blocks: IntArray
    prices: FloatArray
    program: Program

    def skeletons(self, structure: IntArray, gene: IntArray) -> Skeletons:
        """Return the designs of (n,) structures and (d, n) block genes."""
        technology = columns(self.structures.technology, structure)
        low, high, used = (columns(table, structure) for table in (self.low, self.high, self.used))
        kinds, most = self.blocks.shape[1:]
        block = np.take(self.blocks, (np.arange(len(gene))[:, None] * kinds + technology) * most + gene)
        price = np.take(self.prices, block * kinds + technology) * (used * self.npus)
        return Skeletons(structure, technology, block, price, low, high, used)

    def traffic_of(self, structure: IntArray) -> FloatArray:
        """Return the (c, d, n) traffic of structures."""
        channels, depth, structures = self.traffic.shape
        flat = self.traffic.reshape(channels * depth, structures)
        return columns(flat, structure).reshape(channels, depth, len(structure))

    def program_of(self, designs: Skeletons) -> Program:
        """Return the program of the best bandwidths of some designs, without linear constraints."""
        patterns, depth, structures = self.program.traffic.shape
        traffic = columns(self.program.traffic.reshape(patterns * depth, structures), designs.structure)
        return replace(
            self.program,
            traffic=traffic.reshape(patterns, depth, -1),
            price=np.zeros(designs.low.shape),
            low=designs.low,
            high=designs.high,
            rows=np.empty((0, *designs.low.shape)),
            limit=np.empty((0, designs.low.shape[1])),
        )

    def cheapest(self) -> IntArray:
        """Return (d, s) the gene of the cheapest block of each dimension of each structure."""
        rows = np.arange(len(self.blocks))[:, None]
        gene = self.prices[self.blocks, np.arange(self.blocks.shape[1])[:, None]].argmin(axis=2)
        return np.asarray(gene[rows, self.structures.technology])


def tables_of(
    structures: Structures, choices: Sequence[DimensionChoice], catalog: Catalog, time: TimeModel, npus: int
) -> Tables:
    """Tabulate a space."""
    rows = np.arange(len(choices))[:, None]
    used = (structures.npus > 1).astype(np.float64)
    low = np.array([choice.low for choice in choices])[rows, structures.technology]
    high = np.array([choice.high for choice in choices])[rows, structures.technology]
    low, high = np.ascontiguousarray(low * used), np.ascontiguousarray(high * used)
    most = max(len(blocks) for choice in choices for blocks in choice.blocks)
    blocks = [[np.resize(np.array(blocks or (0,)), most) for blocks in choice.blocks] for choice in choices]
    traffic = time.traffic(structures.npus)
    program = merged(time.program(traffic, low, high))
    prices = part_prices(catalog).sum(axis=0)
    return Tables(structures, npus, low, high, used, traffic, np.array(blocks, dtype=np.int64), prices, program)


def columns(table: NDArray[T], chosen: IntArray) -> NDArray[T]:
    """Return (d, n) the chosen columns of a (d, s) table; a take a row is twice as fast as one over the columns."""
    found = np.empty((len(table), len(chosen)), dtype=table.dtype)
    for row, source in zip(found, table, strict=True):
        np.take(source, chosen, out=row, mode="clip")
    return found
