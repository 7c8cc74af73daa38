"""Designs as people write and read them: whether a network and its plans are those of a problem, and their columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from evo_libra.arrays import GIGA, IntArray, Population
from evo_libra.errors import InputError, counted, shortened, suggestion, unknown
from evo_libra.network.blocks.registry import BLOCK_NAMES, BLOCKS
from evo_libra.network.catalog.technologies import Catalog, Technology
from evo_libra.network.fabric import (
    NPU,
    OPTIONS,
    SPARES,
    Fabric,
    fabrics_of,
    networks_of,
    parse_fabric,
    population_of,
    written,
)
from evo_libra.network.orders.text import is_order
from evo_libra.network.transport import APPROXIMATION, TRANSPORTS
from evo_libra.problem.npu_choice import NpuChoice
from evo_libra.problem.pricing.catalog import with_own_technologies
from evo_libra.problem.time_models.time_model import TimeModel

if TYPE_CHECKING:
    from evo_libra.workload.plans.plan_table import PlanTable

NOTE = "transport_note"
"""Column of what to know of the times of designs with a transport."""


@dataclass(frozen=True)
class Notation:
    """The notation of the designs of a problem.

    Attributes
    ----------
    npus, depth : NPUs of every design, and the most dimensions.
    catalog : the technologies.
    time : which plans there are, and ways to run collectives.
    npu : the accelerators that designs may have.
    failing : whether the problem says what fails, so that designs may have spares.
    fewest : spare NPUs of a design that names none.
    """

    npus: int
    depth: int
    catalog: Catalog
    time: TimeModel
    npu: NpuChoice
    failing: bool
    fewest: int = 0

    def read(self, designs: str | Sequence[str]) -> Population:
        """Return the networks of (n,) designs, bandwidths in B/s.

        An `InputError` says which design cannot be read, has another number of NPUs, or cannot hold a process group.
        """
        texts = [designs] if isinstance(designs, str) else designs
        if orders := [text for text in texts if is_order(text)]:
            raise InputError(
                f"'{shortened(orders[0])}' is an order; the file asks for a design, such as RI(4)@node:100_SW(8)@pod:50"
            )
        fabrics = [parse_fabric(text) for text in texts]
        for fabric in fabrics:
            check_fabric(fabric, self.npus, self.depth, self.catalog.technologies)
        npus = npus_of(fabrics, self.npu)
        population = population_of(fabrics, self.catalog.names, self.depth)
        population = with_own_technologies(population, self.catalog, npus)
        population = replace(population, plan=plans_of(fabrics, self.time.tables, npus))
        population = replace(population, schedule=self.time.schedules.read(fabrics, population.block))
        left_out = [0 if f" {SPARES}=" in text else self.fewest for text in texts]
        named = [fabric.spares or fewest for fabric, fewest in zip(fabrics, left_out, strict=True)]
        population = replace(population, spares=spares_of(fabrics, named, known=self.failing))
        held = self.time.fits(population.npus, population.plan)
        inside = self.time.fits(population.npus, population.plan, population.technology)
        for fabric, fits, keeps in zip(fabrics, held, inside, strict=True):
            if not fits:
                degrees = (pair for loop in self.time.loops for pair in loop.degrees.items())
                groups = ", ".join(dict.fromkeys(f"{n} {group}" for group, n in degrees))
                raise InputError(f"the dimensions of the design '{fabric}' cannot hold the process groups {groups}")
            if not keeps:
                raise InputError(f"no scale-up domain of the design '{fabric}' {self.time.must_hold}")
        return population

    def fabrics(self, population: Population) -> list[Fabric]:
        """Return networks as records, with the options that the problem leaves open of how collectives run on them."""
        found = self.time.schedules.named(fabrics_of(population, self.catalog.names), population)
        if self.npu.several:
            names = self.npu.named(population.technology)
            found = [replace(fabric, npu=name) for fabric, name in zip(found, names, strict=True)]
        if population.spares is not None:
            spares = population.spares.tolist()
            found = [replace(fabric, spares=count) for fabric, count in zip(found, spares, strict=True)]
        if not self.time.tables:
            return found
        texts = zip(*plan_columns(population, self.time.tables).values(), strict=True)
        return [replace(fabric, plans=plans) for fabric, plans in zip(found, texts, strict=True)]

    def written(self, population: Population) -> list[str]:
        """Return designs in the notation: the texts of `fabrics`, without a record for each design."""
        if population.schedule is not None:
            return list(map(str, self.fabrics(population)))
        count, choice = len(population), self.npu
        npus = [None] * count if not choice.several else choice.named(population.technology)
        spares = [0] * count if population.spares is None else population.spares.tolist()
        texts = list(zip(*plan_columns(population, self.time.tables).values(), strict=True)) or [()] * count
        networks = networks_of(population, self.catalog.names)
        rows = zip(networks, texts, npus, spares, strict=True)
        return [written(network, (), plans, npu, spare) for network, plans, npu, spare in rows]

    def describe(self, population: Population) -> Mapping[str, list[Any]]:
        """Return the columns that describe designs: the notation, and each part of each dimension."""
        found: dict[str, list[Any]] = {"design": self.written(population)}
        if self.npu.several:
            found["npu"] = self.npu.named(population.technology)
        if population.spares is not None:
            found["spares"] = population.spares.tolist()
        found |= self.time.schedules.columns(population) | transport_columns(population, self.catalog)
        return found | plan_columns(population, self.time.tables) | dimension_columns(population, self.catalog.names)


def check_fabric(fabric: Fabric, npus: int, depth: int, technologies: Sequence[Technology]) -> None:
    """Refuse a network that has other NPUs, more dimensions or other blocks than the designs of a problem."""
    if fabric.npus != npus:
        raise InputError(f"the design '{fabric}' has {fabric.npus} NPUs; the problem has {npus}")
    if len(fabric.dimensions) > depth:
        raise InputError(f"the design '{fabric}' has {len(fabric.dimensions)} dimensions, more than {depth}")
    for dimension in fabric.dimensions:
        block, name = BLOCKS[dimension.block].name, dimension.technology
        allowed = [known for t in technologies if t.name == name for known in t.blocks]
        if allowed and block not in allowed:
            raise InputError(
                f"'{dimension}' in the design '{fabric}': a {block} cannot be built of {name}; "
                f"allowed: {', '.join(allowed)}"
            )


def npus_of(fabrics: Sequence[Fabric], choice: NpuChoice) -> list[str | None]:
    """Return the accelerator that each design names, None where there is nothing to choose.

    An `InputError` names one that is missing or unknown.
    """
    names = choice.names
    for fabric in fabrics:
        if fabric.npu is not None and fabric.npu not in names:
            known = unknown("NPU", fabric.npu, names) if names else f"the problem names no NPU, found {fabric.npu}"
            raise InputError(f"in the design '{fabric}': {known}")
        if fabric.npu is None and len(names) > 1:
            raise InputError(f"the design '{fabric}' has no NPU; write it like '... {NPU}={names[0]}'")
    return [fabric.npu if len(names) > 1 else None for fabric in fabrics]


def spares_of(fabrics: Sequence[Fabric], spares: Sequence[int], *, known: bool) -> IntArray | None:
    """Return (n,) the spare NPUs of designs; None where none has some.

    An `InputError` says that there are some although the failures are not `known`.
    """
    if not any(spares):
        return None
    if not known:
        first = next(fabric for fabric in fabrics if fabric.spares)
        raise InputError(
            f"the design '{first}' has {SPARES}={first.spares}, and the problem has no key 'faults', which says what "
            f"fails; leave {SPARES} out, or add the key"
        )
    return np.array(spares, dtype=np.int64)


def plans_of(
    fabrics: Sequence[Fabric], tables: Sequence[PlanTable], npus: Sequence[str | None], orders: Sequence[str] = ()
) -> IntArray | None:
    """Return (w, n) the places of the plans of designs on (n,) accelerators, or of orders that are written as given.

    An `InputError` names a plan that is missing or unknown.
    """
    written = [f"order '{order}'" for order in orders] or [f"design '{fabric}'" for fabric in fabrics]
    bare = orders or [str(replace(fabric, plans=())) for fabric in fabrics]
    for each, fabric, network in zip(written, fabrics, bare, strict=True):
        _refuse_options(each, fabric.plans, "" if orders else network)
    if not tables:
        wrong = next((text for text, fabric in zip(written, fabrics, strict=True) if fabric.plans), None)
        if wrong is not None:
            raise InputError(f"the {wrong} has a plan; the workloads of the problem leave none open")
        return None
    places = np.empty((len(tables), len(fabrics)), dtype=np.int64)
    for n, fabric in enumerate(fabrics):
        if len(fabric.plans) != len(tables):
            example = " | ".join(_example(table, npus[n]) for table in tables)
            needed = "a plan is needed" if len(tables) == 1 else f"{len(tables)} are needed"
            raise InputError(
                f"the {written[n]} has {counted(len(fabric.plans), 'plan') if fabric.plans else 'no plan'}, and "
                f"{needed}; write it like {bare[n]} | {example}"
            )
        for place, (table, text) in enumerate(zip(tables, fabric.plans, strict=True)):
            npu = _npu_of(table, npus[n])
            on = " on these systems" if orders else "" if npus[n] is None else f" on {npus[n]}"
            places[place, n] = table.find(text, npu)
            if places[place, n] < 0:
                mine = [table.text(place) for place in np.flatnonzero(table.npu == npu).tolist()]
                known = f"{len(mine):,} plans of {table.name}{on}, such as {_example(table, npus[n])}"
                raise InputError(
                    f"'{text}' in the {written[n]} is none of the {known}{suggestion(text, _begun(text, mine))}"
                )
    return places


def _refuse_options(written: str, plans: Sequence[str], network: str) -> None:
    """Refuse an option after the bar, where plans are, whether or not the workloads leave plans open."""
    option = next((word for plan in plans for word in plan.split() if "=" in word), "")
    if option:
        known = option.partition("=")[0] in (*OPTIONS, NPU, SPARES)
        like = f", like {network} {option}" if network and known else ""
        raise InputError(
            f"'{option}' in the {written} is after the bar, where only plans are; an option goes before the bar, after "
            f"the network{like}"
        )


def _begun(text: str, plans: Sequence[str]) -> Sequence[str]:
    """Return the plans that have all words of a text, which may lack some; all plans where none has."""
    words = set(text.split())
    return [plan for plan in plans if words <= set(plan.split())] or plans


def _npu_of(table: PlanTable, name: str | None) -> int:
    """Return the place of an accelerator in a table; the only one has no name."""
    return 0 if name is None else table.npus.index(name)


def _example(table: PlanTable, npu: str | None) -> str:
    """Return a plan of an accelerator, one that fits its memory where there is one."""
    mine = np.flatnonzero(table.npu == _npu_of(table, npu))
    fits = mine[table.memory[mine] <= table.capacity[mine]]
    return table.text(int((fits if len(fits) else mine)[0]))


def plan_columns(designs: Population, tables: Sequence[PlanTable]) -> dict[str, list[str]]:
    """Return the column of the plans that designs have of each table; none without tables."""
    names = [f"plan[{place}]" for place in range(len(tables))] if len(tables) > 1 else ["plan"][: len(tables)]
    return {name: table.texts_of(plan) for name, table, plan in zip(names, tables, designs.plans, strict=True)}


def transports_of(catalog: Catalog, designs: Population) -> IntArray:
    """Return (d, n) the place of the transport of each dimension in `TRANSPORTS`; -1 where it has none."""
    names = list(TRANSPORTS)
    place = [-1 if t.transport is None else names.index(t.transport) for t in catalog.technologies]
    return np.where(designs.npus > 1, np.array(place)[designs.technology], -1)


def transport_columns(designs: Population, catalog: Catalog) -> dict[str, list[str]]:
    """Return the transport of each dimension, and what to know of it; nothing of a catalogue without transports."""
    if not any(technology.transport for technology in catalog.technologies):
        return {}
    names, used = np.array([*TRANSPORTS, ""]), transports_of(catalog, designs)
    found = {f"transport[{d}]": names[row].tolist() for d, row in enumerate(used)}
    return found | {NOTE: np.where((used >= 0).any(axis=0), APPROXIMATION, "").tolist()}


def dimension_columns(designs: Population, names: Sequence[str]) -> dict[str, list[Any]]:
    """Return the columns of each dimension: NPUs, block, technology by its place in `names`, and bandwidth."""
    columns: dict[str, list[Any]] = {}
    technologies, blocks = np.array([*names, ""]), np.array([*BLOCK_NAMES, ""])
    for d, npus in enumerate(designs.npus):
        columns[f"npus[{d}]"] = npus.tolist()
        columns[f"block[{d}]"] = blocks[np.where(npus > 1, designs.block[d], -1)].tolist()
        columns[f"technology[{d}]"] = technologies[np.where(npus > 1, designs.technology[d], -1)].tolist()
        columns[f"bandwidth[{d}]_GBps"] = (designs.bandwidth[d] / GIGA).tolist()
    return columns
