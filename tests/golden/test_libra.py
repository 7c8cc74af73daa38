"""LIBRA's own figures, to 1e-12: traffic, cost, time and cost of all feasible cases; and the optimum of every case."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evo_libra.arrays import FloatArray
from evo_libra.bandwidth.product import least_product
from evo_libra.bandwidth.program import BandwidthProgram
from evo_libra.bandwidth.solve import merged, optimal_bandwidth, violation
from evo_libra.collective import Collective, Pattern, traffic, unit_traffic
from evo_libra.network.catalog.technologies import cost_by_part, network_cost, part_prices
from evo_libra.validation.libra import (
    COLLECTIVES,
    PHASES,
    case_cost,
    case_time,
    catalog_of,
    population_of,
    time_ns,
    workload_of,
)
from evo_libra.workload.layers.generators import MODELS_FILE, dlrm, load_models, transformer
from evo_libra.workload.layers.iteration_time import iteration_time
from evo_libra.workload.layers.text_file import parse_astra_sim_text
from evo_libra.workload.layers.workload import Workload
from evo_libra.workload.parallelism import lay_groups

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "libra_model.json").read_text())
EXACT = 1e-12
FEASIBLE = [case for case in GOLDEN["cases"] if "certified" in case]
PRODUCT_SCALE = 0.1
"""LIBRA's perf-per-cost objective is ns * USD / 1e10; ours is s * USD."""


def rows_of(workload: Workload) -> list[list[Any]]:
    return [
        [
            x
            for phase in layer.phases
            for x in (
                round(phase.compute * 1e9),
                phase.collective.name.replace("_", "") if phase.collective else "NONE",
                phase.size,
            )
        ]
        for layer in workload.layers
    ]


@pytest.mark.parametrize("case", GOLDEN["unit_traffic"], ids=str)
def test_traffic(case: dict[str, Any]) -> None:
    extent = np.maximum(np.array(case["communicator"]), 1)[:, None]
    found = traffic(COLLECTIVES[case["collective"]], case["bytes"], extent)[:, 0]
    np.testing.assert_allclose(found, case["bytes_per_dim"], rtol=EXACT, atol=0)


@pytest.mark.parametrize("case", GOLDEN["unit_cost"], ids=lambda case: str(case["network"]["npus"]))
def test_unit_cost(case: dict[str, Any]) -> None:
    prices = part_prices(catalog_of(GOLDEN["cost_tables"][case["cost_table"]]))
    population = population_of(case["network"], [1.0] * len(case["network"]["npus"]))
    found = cost_by_part(population, prices).sum(axis=0)[:, 0]
    np.testing.assert_allclose(found, case["cost_per_GBps"], rtol=EXACT, atol=0)


@pytest.mark.parametrize("case", GOLDEN["unit_evaluate"], ids=lambda case: case["workload"])
def test_unit_evaluate(case: dict[str, Any]) -> None:
    rows = GOLDEN["workload_tables"][case["workload"]]
    assert time_ns(rows, case["communicator"], case["bw"]) == pytest.approx(case["e2e_ns_exact"], rel=EXACT, abs=0)
    prices = part_prices(catalog_of(GOLDEN["cost_tables"][case["cost_table"]]))
    population = population_of(case["network"], case["bw"])
    unit = prices.sum(axis=0)[population.block, population.technology]
    cost = network_cost(int(population.npus.prod()), unit, population.bandwidth)[0]
    assert cost == pytest.approx(case["cost_exact"], rel=EXACT, abs=0)


def test_there_are_444_cases_and_443_are_feasible() -> None:
    assert (len(GOLDEN["cases"]), len(FEASIBLE)) == (444, 443)


@pytest.mark.slow
@pytest.mark.parametrize("case", FEASIBLE, ids=lambda case: case["id"])
def test_time_and_cost_of_case(case: dict[str, Any]) -> None:
    for who in ("libra", "certified"):
        recorded = case[who]
        bandwidth = recorded["bw_GBps"]
        assert case_time(GOLDEN, case, bandwidth) == pytest.approx(recorded["e2e_ns"], rel=EXACT, abs=0)
        assert case_cost(GOLDEN, case, bandwidth) == pytest.approx(recorded["cost"], rel=EXACT, abs=0)


def unit_price(case: dict[str, Any]) -> FloatArray:
    prices = part_prices(catalog_of(GOLDEN["cost_tables"][case["cost_table"]])).sum(axis=0)
    population = population_of(case["network"], [1.0] * len(case["network"]["npus"]))
    return prices[population.block, population.technology] * np.prod(population.npus)


def program_of(case: dict[str, Any]) -> BandwidthProgram:
    traffic, size, base = [], [], 0.0
    for entry in case["workloads"]:
        extents = {phase: np.maximum(np.array(entry["communicator"][phase]), 1)[:, None] for phase in PHASES}
        workload = workload_of(GOLDEN["workload_tables"][entry["workload"]])
        loop = iteration_time(workload, {phase: int(e.prod()) for phase, e in extents.items()}, "none")
        traffic += [unit_traffic(pattern, extents[group]) for group, pattern in loop.streams]
        size += (entry["weight"] * loop.size).tolist()
        base += entry["weight"] * loop.compute
    depth = len(case["network"]["npus"])
    signs = np.array([-1.0 if c["op"] == ">=" else 1.0 for c in case["constraints"]])
    rows = np.array([c["coeffs"] for c in case["constraints"]]) * signs[:, None]
    limit = np.array([c["rhs"] for c in case["constraints"]]) * signs * 1e9
    program = BandwidthProgram(
        np.array([base]), np.array(size)[:, None], np.array(traffic), np.zeros((depth, 1)), np.zeros((depth, 1)),
        np.full((depth, 1), np.inf), rows[..., None], limit[:, None],
        np.array([c["op"] == "==" for c in case["constraints"]]),
    )  # fmt: skip
    return merged(program)


@pytest.mark.parametrize("case", [
    pytest.param(case, id=case["id"], marks=[pytest.mark.slow] if number % 5 else [])
    for number, case in enumerate(GOLDEN["cases"])
])  # fmt: skip
def test_optimum_of_case(case: dict[str, Any]) -> None:
    program, price = program_of(case), unit_price(case)
    if case["objective"] == "PerfOpt":
        found = optimal_bandwidth(program)
        value, gap = found.objective[0] * 1e9, found.gap()[0]
    else:
        product = least_product(program, price)
        found, value, gap = product, product.time[0] * product.cost[0] * PRODUCT_SCALE, product.gap()[0]
    if "certified" not in case:
        assert value == np.inf
        return
    assert violation(program, found.bandwidth)[0] <= 1e-9
    certified = case["certified"]
    assert value <= certified["objective"] * (1 + 1e-8)
    assert value >= certified["lower_bound"] * (1 - 1e-11)
    assert value <= case["libra"]["objective"] * (1 + 2e-8)
    assert gap <= 1e-8


@pytest.mark.parametrize(("workload", "degree"), [("GPT_3", 16), ("MSFT_1T", 128), ("Turing_NLG", 1)])
def test_process_groups_lie_as_libras_communicators(workload: str, degree: int) -> None:
    seen = 0
    for case in GOLDEN["cases"]:
        for entry in case["workloads"]:
            if entry["workload"] == workload:
                npus = np.array(case["network"]["npus"])[:, None]
                extent, fits = lay_groups(npus, np.array([degree, npus.prod() // degree]))
                assert fits.all()
                for g, phase in ((0, "Forward"), (0, "InputGrad"), (1, "WeightGrad")):
                    assert extent[g, :, 0].tolist() == [max(n, 1) for n in entry["communicator"][phase]]
                seen += 1
    assert seen > 50


@pytest.mark.parametrize(("name", "table", "degree"), [
    ("gpt-3-libra", "GPT_3", 16), ("msft-1t-libra", "MSFT_1T", 128), ("turing-nlg-libra", "Turing_NLG", 1),
])  # fmt: skip
def test_transformers_equal_the_layer_tables(name: str, table: str, degree: int) -> None:
    fields = load_models()[name].model_dump(exclude={"kind", "source"})
    made = transformer(name, tensor_parallel=degree, rate=60 * 2**40, **fields)
    assert rows_of(made) == GOLDEN["workload_tables"][table]


def test_dlrm_equals_the_layer_table() -> None:
    fields = load_models()["dlrm-libra"].model_dump(exclude={"kind", "source"})
    assert rows_of(dlrm("dlrm", rate=60e12, **fields)) == GOLDEN["workload_tables"]["DLRM"]


def test_resnet_table_equals_the_layer_table() -> None:
    text = (MODELS_FILE.parent / "resnet-50.txt").read_text()
    assert rows_of(parse_astra_sim_text(text, "resnet-50.txt", "r")) == GOLDEN["workload_tables"]["ResNet_50"]


def test_all_gather_is_the_shrinking_pattern_of_the_gathered_message() -> None:
    extent = np.array([[4], [3], [2]])
    gathered = unit_traffic(Pattern.SHRINKING, extent) * 1000 * 24
    np.testing.assert_allclose(traffic(Collective.ALL_GATHER, 1000, extent), gathered, rtol=EXACT)
