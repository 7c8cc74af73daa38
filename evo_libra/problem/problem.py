"""A problem: its search space, and what its designs are worth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from evo_libra.arrays import GIGA, TILE, FloatArray, IntArray, Population, Schedule
from evo_libra.errors import InputError
from evo_libra.network.blocks.registry import BLOCK_NAMES
from evo_libra.network.catalog.technologies import Catalog
from evo_libra.network.cost import network_cost
from evo_libra.network.fabric import Fabric, fabrics_of
from evo_libra.problem.allocate import allocate, shrunk
from evo_libra.problem.constraints import BANDWIDTH, Constraint, linear_rows
from evo_libra.problem.designs import read_designs, unbuildable
from evo_libra.problem.evaluator import TimeModel
from evo_libra.problem.genome import Genome, genome_of
from evo_libra.problem.hardware import Hardware, port_rows, whole_ports, within_ports
from evo_libra.problem.objectives import MEASURES, TotalCostOfOwnership, Worth, values
from evo_libra.problem.protocol import Evaluation, Objective, SearchSettings
from evo_libra.problem.repair import project, violation
from evo_libra.problem.space import Space, Structures
from evo_libra.problem.space_size import CountedStructures
from evo_libra.problem.tables import DimensionChoice, Skeletons, Tables, tables_of

# How far the level gene reaches beyond what any design can use: with an uneven split, the corner where every dimension
# is at its cap is only reached by a level far above the caps' sum.
_OVERSHOOT = 100.0
# Without a least bandwidth networks may cost next to nothing; cheaper than this fraction of the dearest is of no use.
_DECADES = 1e4


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
    constraints : what designs must meet.
    settings : how a search runs unless it is told otherwise.
    spec : the validated problem file as plain data.
    counted : the structures as they grow, dimension by dimension.
    optimal : whether bandwidths are solved for instead of being genes.
    tco : what it costs to run a network, where that is an objective.
    bounding : LIBRA's time of the same workloads, which bounds that of other models; None where it is `time`.
    """

    name: str
    npus: int
    catalog: Catalog
    structures: Space
    choices: tuple[DimensionChoice, ...]
    time: TimeModel
    objectives: tuple[Objective, ...]
    constraints: tuple[Constraint, ...]
    settings: SearchSettings
    spec: Mapping[str, Any]
    counted: CountedStructures
    optimal: bool
    tco: TotalCostOfOwnership | None = None
    bounding: TimeModel | None = None

    def relaxed(self) -> Problem:
        """Return the problem that bounds this one from below: parts in any fraction, bandwidths solved for.

        Its time is LIBRA's. Chunks that take the dimensions in order cannot be faster, if each dimension runs one at a
        time and a message has at least 2 ns of latency or delay, which outweighs that ASTRA-sim rounds it down.

        Raises
        ------
        InputError : a scheduler may be faster than LIBRA's time.
        """
        fidelity = self.time.fidelity
        if fidelity is None and not self.tables.kits:
            return self
        if fidelity is not None and not fidelity.bounded:
            raise InputError(
                "proofs are of chunks that take the dimensions in order, one at a time in each, with an endpoint delay "
                f"of 2 ns or more; those of '{self.name}' may be faster than LIBRA's time, which bounds them"
            )
        kept = tuple(constraint for constraint in self.constraints if constraint.relaxed)
        return replace(self, time=self.bounding or self.time, constraints=kept, optimal=True)

    def identity(self) -> Mapping[str, Any]:
        """Return the validated problem file as plain data, without the settings of the search."""
        return {key: value for key, value in self.spec.items() if key != "search"}

    @cached_property
    def tables(self) -> Tables:
        """What the structures of the space have in common with their designs."""
        return tables_of(self.structures, self.choices, self.catalog, self.time, self.npus)

    @cached_property
    def genome(self) -> Genome:
        """The genes; see `evo_libra.problem.genome`."""
        most = [max(len(blocks) for blocks in choice.blocks) - 1 for choice in self.choices]
        schedule = [] if self.time.fidelity is None else self.time.fidelity.genes(len(most))
        if self.optimal:
            priced = any(objective.name == "cost" for objective in self.objectives)
            return genome_of(len(self.structures), most, self.budgets() if priced else None, None)
        low = min(float(choice.low[choice.high > 0].min()) for choice in self.choices)
        high = max(float(choice.high.max()) for choice in self.choices)
        level = low, high * len(most) * _OVERSHOOT
        return genome_of(len(self.structures), most, level, max(high / low, 1.0), schedule)

    @cached_property
    def _powered(self) -> bool:
        names = [o.name for o in self.objectives] + [c.quantity for c in self.constraints if c.quantity != BANDWIDTH]
        return any(MEASURES[name].power for name in names)

    def budgets(self) -> tuple[float, float]:
        """Return the least and the largest budget in USD that can make a difference, linear constraints aside."""
        tables = self.tables
        if not isinstance(self.structures, Structures):
            # No table: dimensions that cost and carry the most, and a single cheap one.
            most = tables.highest_cost()
            prices = tables.least_price if tables.kits else tables.prices
            cheap = prices[(prices > 0) & np.isfinite(prices)].min() * self.npus * tables.low.min()
            return max(float(cheap), most / _DECADES), most
        every = np.arange(len(self.structures))
        designs = tables.skeletons(every, tables.cheapest(self.structures.technology))
        # A technology of parts is of one block; its price depends on the dimension's size.
        dearest = np.take(tables.prices.max(axis=0), designs.technology) * designs.used * self.npus
        dearest = designs.price if tables.kits else dearest
        full = shrunk(tables.program_of(designs), designs.high)
        # A gene for a block that is dearer than the cheapest one reaches as far.
        most = float((dearest * full).sum(axis=0).max())
        return max(float((designs.price * designs.low).sum(axis=0).min()), most / _DECADES), most

    def _tile(self, genes: FloatArray) -> tuple[Skeletons, Population]:
        """Decode a tile: designs without and with their bandwidths (0 where unused)."""
        depth = len(self.choices)
        designs = self.tables.skeletons(genes[0].astype(np.int64), genes[1 : 1 + depth].astype(np.int64))
        if self.optimal:
            budget = np.exp(genes[1 + depth]) if len(genes) > 1 + depth else None
            bandwidth, schedule = allocate(self.tables, self.constraints, designs, budget), None
        else:
            share = np.exp(genes[-depth:]) * designs.used
            bandwidth = share * (np.exp(genes[-1 - depth]) / share.sum(axis=0))
            linear = self._linear(designs)
            if designs.hardware is None:
                bandwidth = project(bandwidth, designs.low, designs.high, linear)
            else:
                bandwidth = within_ports(designs.hardware, bandwidth)
                if linear:
                    rows = port_rows(designs.hardware.possible)
                    bandwidth = project(bandwidth, designs.low, designs.high, [*linear, *rows])
                bandwidth = whole_ports(designs.hardware, bandwidth, linear)
            schedule = self._schedule(genes[1 + depth : -1 - depth], designs.block)
        return designs, Population(designs.npus, designs.block, designs.technology, bandwidth, schedule)

    def _linear(self, designs: Skeletons) -> list[tuple[Constraint, FloatArray]]:
        """Return the constraints that are linear in bandwidth, but for those on ports, with their coefficients."""
        return linear_rows([constraint for constraint in self.constraints if not constraint.ports], designs)

    def _schedule(self, genes: FloatArray, block: IntArray) -> Schedule | None:
        fidelity = self.time.fidelity
        return None if fidelity is None else fidelity.schedule(genes.astype(np.int64), block)

    def decode(self, genes: FloatArray) -> Population:
        """Return the designs of (g, n) legal genes; every one has the problem's number of NPUs."""
        return self._tile(genes)[1]

    def encode(self, structure: IntArray, gene: IntArray, bandwidth: FloatArray, budget: FloatArray) -> FloatArray:
        """Return the (g, n) genes of designs.

        Parameters
        ----------
        structure : (n,) index of the structure; `gene` : (d, n) block genes.
        bandwidth : (d, n) B/s, within the box.
        budget : (n,) USD that the bandwidths are the best ones for; only used where bandwidths are solved for.

        How collectives run is not encoded: this is for problems under LIBRA's time.
        """
        head = [structure, *gene]
        if self.optimal:
            level = [np.log(budget)] if len(self.genome) > len(head) else []
            return self.genome.repair(np.array([*head, *level], dtype=np.float64))
        share = bandwidth / bandwidth.max(axis=0)
        with np.errstate(divide="ignore"):
            genes = np.array([*head, np.log(bandwidth.sum(axis=0)), *np.log(share)], dtype=np.float64)
        return self.genome.repair(genes)

    def evaluate_genes(self, genes: FloatArray) -> Evaluation:
        """Return the worth of (g, n) legal genes."""
        tiles = [self._evaluate_tile(genes[:, start : start + TILE]) for start in range(0, genes.shape[1], TILE)]
        return _joined(tiles)

    def _evaluate_tile(self, genes: FloatArray) -> Evaluation:
        skeletons, designs = self._tile(genes)
        # What is not of parts, and has not been solved for, has been clipped to its box.
        clipped = skeletons.hardware is None and not self.optimal
        traffic = self.tables.traffic_of(skeletons)
        worth = self._worth(designs, skeletons.price, traffic, skeletons.hardware, clipped=clipped)
        if isinstance(self.structures, Structures):
            return worth
        # Without a table, structures that cannot hold a process group are still among those that genes name.
        return replace(worth, violation=worth.violation + ~self.time.fits(designs.npus))

    def unit_prices(self, population: Population) -> FloatArray:
        """Return (d, n) USD per B/s of each dimension of whole networks; 0 in unused dimensions."""
        if self.tables.kits:
            return self.tables.hardware_of(population.npus, population.technology).relaxed_price
        used = population.npus > 1
        price = self.tables.prices[population.block, population.technology]
        return np.asarray(price * used * self.npus)

    def evaluate_prepared(
        self, designs: Population, price: FloatArray, traffic: FloatArray, hardware: Hardware | None = None
    ) -> Evaluation:
        """Return the worth of designs whose prices and traffic are known, in tiles.

        Parameters
        ----------
        designs : the networks.
        price : (d, n) from `unit_prices`.
        traffic : (c, d, n) from `TimeModel.traffic`.
        hardware : where dimensions are built of parts.
        """
        tiles = [
            self._worth(
                designs.select(tile),
                price[:, tile],
                traffic[..., tile],
                None if hardware is None else hardware.part(tile),
            )
            for tile in (slice(start, start + TILE) for start in range(0, len(designs), TILE))
        ]
        return _joined(tiles)

    def _worth(
        self, designs: Population, price: FloatArray, traffic: FloatArray, hardware: Hardware | None, *,
        clipped: bool = False,
    ) -> Evaluation:  # fmt: skip
        worth = self._ledger(designs, price, traffic, hardware, power=self._powered)
        return Evaluation(values(self.objectives, worth), self._broken_by(designs, worth, hardware, clipped=clipped))

    def _broken_by(
        self, designs: Population, worth: Worth, hardware: Hardware | None, *, clipped: bool = False
    ) -> FloatArray:
        broken = np.zeros(len(designs)) if clipped else self.tables.outside(designs)
        for constraint in self.constraints:
            if not constraint.ports:
                broken += self.broken(constraint, worth, designs)
        if hardware is not None:
            broken += hardware.excess(designs.bandwidth)
        return broken

    def violation(self, designs: Population) -> FloatArray:
        """Return (n,) the violation that `evaluate` returns; no times are computed unless a constraint needs them."""
        limited = [MEASURES[c.quantity] for c in self.constraints if c.quantity != BANDWIDTH]
        worth = self.measure(designs, timed=any(measure.timed for measure in limited))
        hardware = self.tables.hardware_of(designs.npus, designs.technology) if self.tables.kits else None
        return self._broken_by(designs, worth, hardware) + unbuildable(self, designs)

    def _ledger(
        self, designs: Population, price: FloatArray, traffic: FloatArray, hardware: Hardware | None, *, power: bool,
        timed: bool = True,
    ) -> Worth:  # fmt: skip
        bandwidth = designs.bandwidth
        time, watts = np.zeros(len(designs)), np.zeros(len(designs))
        if timed:
            time = self.time(designs, traffic)
        if hardware is None or self.optimal:
            cost = network_cost(1, price, bandwidth)
            if hardware is not None and power:
                watts = (hardware.relaxed_watts * bandwidth).sum(axis=0)
        else:
            cost, watts = hardware.totals(hardware.ports(bandwidth), power=power)
        return Worth(time, cost, watts, designs.npus, designs.block, bandwidth, self.tco)

    def measure(self, designs: Population, *, timed: bool = True) -> Worth:
        """Return cost, power and, unless it is left out, time of designs, from which all objectives follow."""
        traffic = self.time.traffic(designs.npus, designs.technology) if timed else np.empty(0)
        hardware = self.tables.hardware_of(designs.npus, designs.technology) if self.tables.kits else None
        return self._ledger(designs, self.unit_prices(designs), traffic, hardware, power=True, timed=timed)

    def broken(self, constraint: Constraint, worth: Worth, designs: Population) -> FloatArray:
        """Return (n,) the relative violation of a constraint by designs, whose `measure` is known."""
        if constraint.quantity != BANDWIDTH:
            return constraint.excess(worth)
        return violation(constraint, constraint.coefficients(designs.technology), designs.bandwidth)

    def evaluate(self, designs: Population | str | Sequence[str]) -> Evaluation:
        """Return the worth of any designs with the problem's number of NPUs.

        Parameters
        ----------
        designs : a population, or designs in the notation with technologies and bandwidths in GB/s.

        Returns
        -------
        Objectives in SI (seconds, USD), in the order of `objectives`, and the violation of the constraints, of the
        least and largest bandwidths, of ports, and of what technologies connect.

        Raises
        ------
        InputError : a design cannot be read, has another number of NPUs, or cannot hold a process group.

        >>> from evo_libra import load_problem
        >>> problem = load_problem("gpt3-4k")
        >>> worth = problem.evaluate("RI(4)@chiplet:250_FC(8)@package:125_RI(4)@node:60_SW(32)@pod:20")
        >>> [f"{value:.6g}" for value in worth.objectives[:, 0]]
        ['0.242113', '9.78129e+06']
        """
        population = designs if isinstance(designs, Population) else read_designs(self, designs)
        traffic = self.time.traffic(population.npus, population.technology)
        hardware = self.tables.hardware_of(population.npus, population.technology) if self.tables.kits else None
        worth = self.evaluate_prepared(population, self.unit_prices(population), traffic, hardware)
        return replace(worth, violation=worth.violation + unbuildable(self, population))

    def fabrics(self, population: Population) -> list[Fabric]:
        """Return networks as records, with what the problem leaves open of how collectives run on them."""
        fabrics, fidelity = fabrics_of(population, self.catalog.names), self.time.fidelity
        return fabrics if fidelity is None else fidelity.named(fabrics, population)

    def describe(self, genes: FloatArray) -> Mapping[str, list[Any]]:
        """Return the columns that tell what designs are: the notation, and each part of each dimension."""
        population = self.decode(genes)
        columns: dict[str, list[Any]] = {"design": list(map(str, self.fabrics(population)))}
        columns |= {} if self.time.fidelity is None else self.time.fidelity.columns(population)
        names = np.array([*self.catalog.names, ""])
        blocks = np.array([*BLOCK_NAMES, ""])
        for d in range(population.npus.shape[0]):
            used = population.npus[d] > 1
            columns[f"npus[{d}]"] = population.npus[d].tolist()
            columns[f"block[{d}]"] = blocks[np.where(used, population.block[d], -1)].tolist()
            columns[f"technology[{d}]"] = names[np.where(used, population.technology[d], -1)].tolist()
            columns[f"bandwidth[{d}]_GBps"] = (population.bandwidth[d] / GIGA).tolist()
        return columns


def _joined(tiles: Sequence[Evaluation]) -> Evaluation:
    return Evaluation(
        np.concatenate([tile.objectives for tile in tiles], axis=1),
        np.concatenate([tile.violation for tile in tiles]),
    )
