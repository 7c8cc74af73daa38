"""A problem: its search space, and what its designs are worth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from evo_libra.errors import InputError
from evo_libra.model.arrays import GIGA, TILE, FloatArray, IntArray, Population
from evo_libra.model.catalog import Catalog
from evo_libra.model.cost import network_cost, part_prices
from evo_libra.model.fabric import BLOCK_NAMES, BLOCKS, Fabric, fabrics_of, parse_fabric, population_of
from evo_libra.problem.constraints import Constraint, excess
from evo_libra.problem.evaluator import TimeModel
from evo_libra.problem.genome import Genome
from evo_libra.problem.protocol import Evaluation, Objective, SearchSettings
from evo_libra.problem.repair import project, violation
from evo_libra.problem.space import Structures

T = TypeVar("T", bound=np.generic)

# How far the level gene reaches beyond what any design can use: with an uneven split, the corner where every dimension
# is at its cap is only reached by a level far above the caps' sum.
_OVERSHOOT = 100.0


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
class Problem:
    """A search space with an evaluator.

    Attributes
    ----------
    name : of the problem.
    npus : NPUs of every design.
    catalog : the technologies of the space, innermost first.
    structures : sizes and technologies of the dimensions, every structure of the space.
    choices : what is left to choose of each dimension.
    time : iteration time.
    objectives : what is minimised.
    constraints : linear constraints.
    settings : how a search runs unless it is told otherwise.
    spec : the validated problem file as plain data.
    """

    name: str
    npus: int
    catalog: Catalog
    structures: Structures
    choices: tuple[DimensionChoice, ...]
    time: TimeModel
    objectives: tuple[Objective, ...]
    constraints: tuple[Constraint, ...]
    settings: SearchSettings
    spec: Mapping[str, Any]

    def identity(self) -> Mapping[str, Any]:
        """Return the validated problem file as plain data, without the settings of the search."""
        return {key: value for key, value in self.spec.items() if key != "search"}

    @cached_property
    def genome(self) -> Genome:
        """The genes: structure, blocks of the dimensions, logarithms of bandwidth level and of the shares of it."""
        depth = len(self.choices)
        most = [max(len(blocks) for blocks in choice.blocks) - 1 for choice in self.choices]
        low = min(float(choice.low[choice.high > 0].min()) for choice in self.choices)
        high = max(float(choice.high.max()) for choice in self.choices)
        dimensions = [str(d) for d in range(depth)]
        names = ["structure", *("block" + d for d in dimensions), "level", *("share" + d for d in dimensions)]
        reach = np.log(max(high / low, 1.0))
        lower = [0.0, *[0.0] * depth, np.log(low), *[-reach] * depth]
        upper = [len(self.structures) - 1.0, *map(float, most), np.log(high * depth * _OVERSHOOT), *[0.0] * depth]
        return Genome(tuple(names), np.array(lower), np.array(upper), np.arange(len(names)) <= depth)

    @cached_property
    def _traffic(self) -> FloatArray:
        return self.time.traffic(self.structures.npus)

    @cached_property
    def _prices(self) -> FloatArray:
        return part_prices(self.catalog)

    @cached_property
    def _blocks(self) -> IntArray:
        """Block by dimension, technology and gene: (d, t, choice)."""
        most = max(len(blocks) for choice in self.choices for blocks in choice.blocks)
        return np.array(
            [[np.resize(np.array(blocks or (0,)), most) for blocks in choice.blocks] for choice in self.choices],
            dtype=np.int64,
        )

    @cached_property
    def _structure_tables(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Lowest and highest bandwidth of the dimensions of each structure, whether they are in use: (d, s) each."""
        rows = np.arange(len(self.choices))[:, None]
        used = (self.structures.npus > 1).astype(np.float64)
        low = np.array([choice.low for choice in self.choices])[rows, self.structures.technology]
        high = np.array([choice.high for choice in self.choices])[rows, self.structures.technology]
        return np.ascontiguousarray(low * used), np.ascontiguousarray(high * used), used

    def _tile(self, genes: FloatArray) -> tuple[IntArray, IntArray, IntArray, FloatArray, FloatArray]:
        """Decode a tile: structure, technology, block, USD per B/s of the network, bandwidth (0 where unused)."""
        depth = len(self.choices)
        structure = genes[0].astype(np.int64)
        low, high, used = (_columns(table, structure) for table in self._structure_tables)
        technology = _columns(self.structures.technology, structure)
        gene = genes[1 : 1 + depth].astype(np.int64)
        kinds, most = self._blocks.shape[1:]
        block = np.take(self._blocks, (np.arange(depth)[:, None] * kinds + technology) * most + gene)
        price = np.take(self._prices.sum(axis=0), block * kinds + technology) * (used * self.npus)
        share = np.exp(genes[2 + depth :]) * used
        bandwidth = share * (np.exp(genes[1 + depth]) / share.sum(axis=0))
        linear = [(c, c.coefficients(technology, price) * used) for c in self.constraints if c.quantity != "time"]
        return structure, technology, block, price, project(bandwidth, low, high, linear)

    def decode(self, genes: FloatArray) -> Population:
        """Return the designs of (g, n) legal genes; every one has the problem's number of NPUs."""
        structure, technology, block, _, bandwidth = self._tile(genes)
        return Population(self.structures.npus[:, structure], block, technology, bandwidth)

    def evaluate_genes(self, genes: FloatArray) -> Evaluation:
        """Return the worth of (g, n) legal genes."""
        tiles = [self._evaluate_tile(genes[:, start : start + TILE]) for start in range(0, genes.shape[1], TILE)]
        return _joined(tiles)

    def _evaluate_tile(self, genes: FloatArray) -> Evaluation:
        structure, technology, _, price, bandwidth = self._tile(genes)
        return self._worth(self._traffic_of(structure), technology, price, bandwidth)

    def _traffic_of(self, structure: IntArray) -> FloatArray:
        channels, depth, structures = self._traffic.shape
        flat = self._traffic.reshape(channels * depth, structures)
        return _columns(flat, structure).reshape(channels, depth, len(structure))

    def unit_prices(self, population: Population) -> FloatArray:
        """Return (d, n) USD per B/s of each dimension of whole networks; 0 in unused dimensions."""
        used = population.npus > 1
        price = self._prices.sum(axis=0)[population.block, population.technology]
        return np.asarray(price * used * self.npus)

    def evaluate_prepared(
        self, traffic: FloatArray, technology: IntArray, price: FloatArray, bandwidth: FloatArray
    ) -> Evaluation:
        """Return the worth of designs whose traffic and prices are known, in tiles.

        Parameters
        ----------
        traffic : (c, d, n) from `TimeModel.traffic`.
        technology : (d, n).
        price : (d, n) from `unit_prices`.
        bandwidth : (d, n) B/s, 0 in unused dimensions.
        """
        tiles = [
            self._worth(traffic[..., tile], technology[:, tile], price[:, tile], bandwidth[:, tile])
            for tile in (slice(start, start + TILE) for start in range(0, bandwidth.shape[1], TILE))
        ]
        return _joined(tiles)

    def _worth(self, traffic: FloatArray, technology: IntArray, price: FloatArray, bandwidth: FloatArray) -> Evaluation:
        # An unused dimension has no traffic, so any bandwidth above 0 gives it no time.
        values = {
            "time": self.time(traffic, np.where(bandwidth > 0, bandwidth, 1.0)),
            "cost": network_cost(1, price, bandwidth),
        }
        broken = np.zeros(bandwidth.shape[1])
        for constraint in self.constraints:
            if constraint.quantity == "time":
                broken += excess(constraint, constraint.objective * values["time"], 0.0)
            else:
                broken += violation(constraint, constraint.coefficients(technology, price), bandwidth)
        return Evaluation(np.array([values[objective.name] for objective in self.objectives]), broken)

    def evaluate(self, designs: Population | str | Sequence[str]) -> Evaluation:
        """Return the worth of any designs with the problem's number of NPUs.

        Parameters
        ----------
        designs : a population, or designs in the notation with technologies and bandwidths in GB/s.

        Returns
        -------
        Objectives in SI (seconds, USD), in the order of `objectives`, and the violation of the constraints.

        Raises
        ------
        InputError : a design cannot be read, has another number of NPUs, or cannot hold a process group.

        >>> from evo_libra import load_problem
        >>> problem = load_problem("gpt3-4k")
        >>> worth = problem.evaluate("RI(4)@chiplet:250_FC(8)@package:125_RI(4)@node:60_SW(32)@pod:20")
        >>> [f"{value:.6g}" for value in worth.objectives[:, 0]]
        ['0.242113', '9.78129e+06']
        """
        population = designs if isinstance(designs, Population) else self.read_designs(designs)
        return self.evaluate_prepared(
            self.time.traffic(population.npus),
            population.technology,
            self.unit_prices(population),
            population.bandwidth,
        )

    def read_designs(self, designs: str | Sequence[str]) -> Population:
        """Read designs of this problem from the notation; see `evaluate` for the errors."""
        texts = [designs] if isinstance(designs, str) else list(designs)
        fabrics = [parse_fabric(text) for text in texts]
        for fabric in fabrics:
            self._check(fabric)
        population = population_of(fabrics, self.catalog.names)
        for fabric, fits in zip(fabrics, self.time.fits(population.npus), strict=True):
            if not fits:
                groups = ", ".join(
                    dict.fromkeys(f"{n} {g}" for loop in self.time.loops for n, g in loop.degrees.items())
                )
                raise InputError(f"the dimensions of the design '{fabric}' cannot hold the process groups {groups}")
        return population

    def _check(self, fabric: Fabric) -> None:
        if fabric.npus != self.npus:
            raise InputError(f"the design '{fabric}' has {fabric.npus} NPUs; the problem has {self.npus}")
        if len(fabric.dimensions) > len(self.choices):
            raise InputError(
                f"the design '{fabric}' has {len(fabric.dimensions)} dimensions, more than {len(self.choices)}"
            )
        for dimension in fabric.dimensions:
            for technology in self.catalog.technologies:
                block = BLOCKS[dimension.block].name
                if technology.name == dimension.technology and block not in technology.blocks:
                    raise InputError(
                        f"'{dimension}' in the design '{fabric}': a {block} cannot be built of {technology.name}; "
                        f"allowed: {', '.join(technology.blocks)}"
                    )

    def violations(self, population: Population) -> list[str]:
        """Return what the first design of a population breaks, one sentence each."""
        found = []
        for d in range(population.npus.shape[0]):
            npus, bandwidth = int(population.npus[d, 0]), float(population.bandwidth[d, 0])
            technology = self.catalog.technologies[int(population.technology[d, 0])]
            if npus > (technology.largest_dimension or npus):
                found.append(f"dimension {d} has {npus} NPUs; {technology.name} reaches {technology.largest_dimension}")
            if technology.bandwidth_cap and npus > 1 and bandwidth > technology.bandwidth_cap:
                cap = technology.bandwidth_cap / GIGA
                found.append(f"dimension {d} has {bandwidth / GIGA:g} GB/s; {technology.name} carries at most {cap:g}")
        price = self.unit_prices(population)
        worth = self.time(
            self.time.traffic(population.npus), np.where(population.bandwidth > 0, population.bandwidth, 1.0)
        )
        for constraint in self.constraints:
            if constraint.quantity == "time":
                broken = excess(constraint, constraint.objective * worth, 0.0)
            else:
                coefficients = constraint.coefficients(population.technology, price)
                broken = violation(constraint, coefficients, population.bandwidth)
            if broken[0] > 0:
                found.append(f"the constraint '{constraint.text}' is broken by {100 * broken[0]:.3g} %")
        return found

    def describe(self, genes: FloatArray) -> Mapping[str, list[Any]]:
        """Return the columns that tell what designs are: the notation, and each part of each dimension."""
        population = self.decode(genes)
        columns: dict[str, list[Any]] = {"design": list(map(str, fabrics_of(population, self.catalog.names)))}
        names = np.array([*self.catalog.names, ""])
        blocks = np.array([*BLOCK_NAMES, ""])
        for d in range(population.npus.shape[0]):
            used = population.npus[d] > 1
            columns[f"npus[{d}]"] = population.npus[d].tolist()
            columns[f"block[{d}]"] = blocks[np.where(used, population.block[d], -1)].tolist()
            columns[f"technology[{d}]"] = names[np.where(used, population.technology[d], -1)].tolist()
            columns[f"bandwidth[{d}]_GBps"] = (population.bandwidth[d] / GIGA).tolist()
        return columns


def _columns(table: NDArray[T], chosen: IntArray) -> NDArray[T]:
    """Return (d, n) the chosen columns of a (d, s) table; a take a row is twice as fast as one over the columns."""
    found = np.empty((len(table), len(chosen)), dtype=table.dtype)
    for row, source in zip(found, table, strict=True):
        np.take(source, chosen, out=row, mode="clip")
    return found


def _joined(tiles: Sequence[Evaluation]) -> Evaluation:
    return Evaluation(
        np.concatenate([tile.objectives for tile in tiles], axis=1),
        np.concatenate([tile.violation for tile in tiles]),
    )
