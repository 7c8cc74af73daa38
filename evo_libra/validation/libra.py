"""LIBRA's own figures: times and costs of networks that the authors' program chose."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from evo_libra.arrays import Population
from evo_libra.collective import Collective, Pattern, time_per_byte, unit_traffic
from evo_libra.network.blocks.registry import BLOCK_NAMES
from evo_libra.network.blocks.registry import LIBRA as PRICED_BLOCKS
from evo_libra.network.catalog.technologies import Catalog, Technology, cost_by_part, part_prices
from evo_libra.timing.input_files.network_file import TOPOLOGIES
from evo_libra.validation.source import Basis, PublishedRow, PublishedSource, published
from evo_libra.workload.layers.iteration_time import iteration_time
from evo_libra.workload.layers.workload import Layer, Phase, Workload

PHASES = ("Forward", "InputGrad", "WeightGrad")
TIERS = ("InterChiplet", "InterPackage", "InterNode", "InterPod")
COLLECTIVES = {collective.name.replace("_", ""): collective for collective in Collective}


def workload_of(rows: Sequence[Sequence[Any]]) -> Workload:
    """Return the workload of a table: compute ns, collective and bytes of three phases, one layer a row."""
    layers = (
        Layer(
            "layer",
            *(
                Phase(row[i] * 1e-9, COLLECTIVES.get(row[i + 1]), float(row[i + 2]), group)
                for i, group in zip((0, 3, 6), PHASES, strict=True)
            ),
        )
        for row in rows
    )
    return Workload("workload", tuple(layers))


def time_ns(
    rows: Sequence[Sequence[Any]], communicator: Mapping[str, Sequence[int]], bandwidth: Sequence[float]
) -> float:
    """Return the ns of an iteration of a table, with GB/s of each dimension."""
    extents = {phase: np.maximum(np.array(communicator[phase]), 1)[:, None] for phase in PHASES}
    loop = iteration_time(workload_of(rows), {phase: int(e.prod()) for phase, e in extents.items()}, "none")
    rate = np.array(bandwidth)[:, None] * 1e9
    # LIBRA's streams are all patterns.
    streams = [(group, pattern) for group, pattern in loop.streams if isinstance(pattern, Pattern)]
    per_byte = [time_per_byte(unit_traffic(pattern, extents[group]), rate) for group, pattern in streams]
    return float(np.broadcast_to(loop(per_byte), 1)[0]) * 1e9


def catalog_of(table: Mapping[str, Mapping[str, float]]) -> Catalog:
    """Return the technologies of a table of USD per GB/s."""

    def price(tier: str, part: str) -> float:
        return table.get(tier, {}).get(part, 0.0) / 1e9

    technologies = (
        Technology(
            name=tier,
            link=price(tier, "Link"),
            switch=price(tier, "Switch"),
            nic=price(tier, "Nic"),
            largest_dimension=None,
            bandwidth_cap=None,
            blocks=PRICED_BLOCKS,
        )
        for tier in TIERS
    )
    return Catalog("", "", tuple(technologies))


def population_of(network: Mapping[str, Any], bandwidth: Sequence[float]) -> Population:
    """Return one design: a network with GB/s of each dimension."""
    blocks = [BLOCK_NAMES.index(TOPOLOGIES[block]) for block in network["topology"]]
    tiers = [TIERS.index(tier) for tier in network["cost_dims"]]
    npus, block, technology = (np.array(column)[:, None] for column in (network["npus"], blocks, tiers))
    return Population(npus, block, technology, np.array(bandwidth)[:, None] * 1e9)


def case_time(golden: Mapping[str, Any], case: Mapping[str, Any], bandwidth: Sequence[float]) -> float:
    """Return the weighted ns of a case's workloads."""
    tables, found = golden["workload_tables"], 0.0
    for one in case["workloads"]:
        found += one["weight"] * time_ns(tables[one["workload"]], one["communicator"], bandwidth)
    return found


def case_cost(golden: Mapping[str, Any], case: Mapping[str, Any], bandwidth: Sequence[float]) -> float:
    """Return the USD of a case's network."""
    prices = part_prices(catalog_of(golden["cost_tables"][case["cost_table"]]))
    return float(cost_by_part(population_of(case["network"], bandwidth), prices).sum())


def _times() -> Iterator[PublishedRow]:
    golden = published("libra_sample.json")
    for case in golden["cases"]:
        theirs = case["libra"]
        yield PublishedRow(case["id"], theirs["e2e_ns"], case_time(golden, case, theirs["bw_GBps"]), "ns")


def _costs() -> Iterator[PublishedRow]:
    golden = published("libra_sample.json")
    for case in golden["cases"]:
        theirs = case["libra"]
        yield PublishedRow(case["id"], theirs["cost"], case_cost(golden, case, theirs["bw_GBps"]), "USD")


_EXACT = "exact by construction"
_PAPER = "LIBRA (Won et al. 2024), the authors' program"

LIBRA = (
    PublishedSource(
        name="libra-time", group="networks", title=f"{_PAPER}: time of an iteration", rows=_times, anchor=_EXACT,
        note="at the bandwidths that LIBRA chose", basis=Basis.EQUATIONS,
    ),
    PublishedSource(
        name="libra-cost", group="networks", title=f"{_PAPER}: cost of the network", rows=_costs, anchor=_EXACT,
        note="at the bandwidths that LIBRA chose", basis=Basis.EQUATIONS,
    ),
)  # fmt: skip
