"""All 444 cases of LIBRA against our optimum: never above the certified value, never below its lower bound."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evo_libra.model.allocation.product import least_product
from evo_libra.model.allocation.program import Program, merged
from evo_libra.model.allocation.solve import optimal_bandwidth, violation
from evo_libra.model.catalog import Catalog, Technology
from evo_libra.model.collective import Collective, unit_traffic
from evo_libra.model.cost import part_prices
from evo_libra.model.training import iteration_time
from evo_libra.model.workload import Layer, Phase, Workload

GOLDEN = json.loads((Path(__file__).parent.parent / "golden" / "libra_model.json").read_text())
COLLECTIVES = {c.name.replace("_", ""): c for c in Collective}
BLOCKS = {"Ring": 0, "FullyConnected": 1, "Switch": 2}
TIERS = ("InterChiplet", "InterPackage", "InterNode", "InterPod")
PHASES = ("Forward", "InputGrad", "WeightGrad")
LIBRA_SCALE = 1e-1 
"""LIBRA's objective of perf-per-cost is ns * USD / 1e10."""


def unit_price(case: dict[str, Any]) -> np.ndarray[Any, np.dtype[np.float64]]:
    network, table = case["network"], GOLDEN["cost_tables"][case["cost_table"]]

    def price(tier: str, part: str) -> float:
        return table.get(tier, {}).get(part, 0.0) / 1e9

    blocks = ("ring", "fully-connected", "switch")
    catalog = Catalog("", "", tuple(
        Technology(t, price(t, "Link"), price(t, "Switch"), price(t, "Nic"), None, None, blocks) for t in TIERS
    ))  # fmt: skip
    kinds = [BLOCKS[block] for block in network["topology"]]
    tiers = [TIERS.index(tier) for tier in network["cost_dims"]]
    return part_prices(catalog).sum(axis=0)[kinds, tiers] * np.prod(network["npus"])


def program_of(case: dict[str, Any]) -> Program:
    traffic, size, base = [], [], 0.0
    for entry in case["workloads"]:
        extents = {phase: np.maximum(np.array(entry["communicator"][phase]), 1)[:, None] for phase in PHASES}
        workload = Workload("w", tuple(
            Layer("l", *(
                Phase(row[i] * 1e-9, COLLECTIVES.get(row[i + 1]), float(row[i + 2]), group)
                for i, group in zip((0, 3, 6), PHASES, strict=True)
            )) for row in GOLDEN["workload_tables"][entry["workload"]]
        ))  # fmt: skip
        loop = iteration_time(workload, {phase: int(e.prod()) for phase, e in extents.items()}, "none")
        traffic += [unit_traffic(pattern, extents[group]) for group, pattern in loop.streams]
        size += (entry["weight"] * loop.size).tolist()
        base += entry["weight"] * loop.compute
    depth = len(case["network"]["npus"])
    signs = np.array([-1.0 if c["op"] == ">=" else 1.0 for c in case["constraints"]])
    rows = np.array([c["coeffs"] for c in case["constraints"]]) * signs[:, None]
    limit = np.array([c["rhs"] for c in case["constraints"]]) * signs * 1e9
    program = Program(
        base, np.array(size), np.array(traffic), np.zeros((depth, 1)), np.zeros((depth, 1)),
        np.full((depth, 1), np.inf), rows[..., None], limit[:, None],
        np.array([c["op"] == "==" for c in case["constraints"]]),
    )  # fmt: skip
    return merged(program)


@pytest.mark.parametrize("case", GOLDEN["cases"], ids=lambda case: case["id"])
def test_case(case: dict[str, Any]) -> None:
    program = program_of(case)
    if case["objective"] == "PerfOpt":
        found = optimal_bandwidth(program)
        value, gap = found.objective[0] * 1e9, found.gap()[0]
    else:
        product = least_product(program, unit_price(case)[:, None])
        found, value, gap = product, product.time[0] * product.cost[0] * LIBRA_SCALE, product.gap()[0]
    if "certified" not in case:
        assert value == np.inf
        return
    assert violation(program, found.bandwidth)[0] <= 1e-9
    certified = case["certified"]
    assert value <= certified["objective"] * (1 + 1e-8)
    assert value >= certified["lower_bound"] * (1 - 1e-11)
    assert value <= case["libra"]["objective"] * (1 + 2e-8)
    assert gap <= 1e-8
