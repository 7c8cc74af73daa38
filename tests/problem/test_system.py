"""The system around a network: its bill, its objectives, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from designs import design_file
from effort import costly
from hypothesis import given, settings
from hypothesis import strategies as st

from evo_libra import load_problem, search
from evo_libra.errors import InputError
from evo_libra.explain.difference import system_rows
from evo_libra.explain.explain import explain
from evo_libra.explain.reason_sheet import system_table
from evo_libra.explain.system_bill import sum_of, system_bill
from evo_libra.network.catalog.hosts import load_hosts
from evo_libra.problem.problem import Problem

TCO = "tco={years: 4, usd_per_kWh: 0.1, pue: 1.2}"
NPU = 'npu={base: h100-80gb, price_usd: 27000, source: "quote 2026-05"}'
PAID = ("system-cost", "system-tco", "usd-per-Mtoken", "usd-per-trillion-tokens", "energy-per-token")
HOURS = 4 * 8760


def system(*changes: str, objectives: str = "[time, system-cost]", npu: str = NPU) -> Problem:
    found = load_problem(design_file("mixtral-8x7b-256"), [npu, TCO, f"objectives={objectives}", *changes])
    assert isinstance(found, Problem)
    return found


def host(price: object = 40_000, power: object = 2000, npus: int = 8) -> str:
    return f'system.host={{npus: {npus}, price_usd: {price}, power_W: {power}, source: "quote 2026-05"}}'


def values(problem: Problem, seed: int = 0, count: int = 40) -> Any:
    return problem.evaluate(problem.decode(problem.genome.sample(np.random.default_rng(seed), count))).objectives


@pytest.mark.slow
@costly(15)
@given(
    price=st.floats(0, 1e6), power=st.floats(0, 1e4), npus=st.integers(1, 300), storage=st.floats(1, 1e5),
    seed=st.integers(0, 100),
)  # fmt: skip
def test_a_row_adds_its_pieces_to_price_and_power(
    price: float, power: float, npus: int, storage: float, seed: int
) -> None:
    objectives = f"[time, {', '.join(PAID)}]"
    more = f'system.storage={{capacity_TB: {storage}, price_usd: 7, power_W: 2, source: "quote 2026"}}'
    plain, around = system(objectives=objectives), system(host(price, power, npus), more, objectives=objectives)
    before, after = values(plain, seed), values(around, seed)
    usd, watts = -(-256 // npus) * price + 7 * storage, -(-256 // npus) * power + 2 * storage
    energy = watts / 1e3 * 1.2 * 0.1 * HOURS
    np.testing.assert_allclose(after[1], before[1] + usd, rtol=1e-12)
    np.testing.assert_allclose(after[2], before[2] + usd + energy, rtol=1e-12)
    np.testing.assert_allclose(after[3], before[3] * after[2] / before[2], rtol=1e-12)
    np.testing.assert_allclose(after[4], 1e6 * after[3], rtol=1e-12)
    assert (after >= before * (1 - 1e-12)).all()


@pytest.mark.slow
def test_the_bill_is_the_objective_and_names_its_sources() -> None:
    problem = system(host("[30000, 50000]"), "system.storage={capacity_TB: 50, price_usd: 100, source: 'quote 2026'}")
    population = problem.decode(problem.genome.sample(np.random.default_rng(1), 1))
    rows = explain(problem, population)["system"]
    assert sum(row["cost_usd"] for row in rows) == pytest.approx(
        problem.evaluate(population).objectives[1, 0], rel=1e-12
    )
    assert [(row["item"], row["pieces"], row["unit_usd"]) for row in rows[1:]] == [
        ("npu", 256, 27_000), ("hosts", 32, 40_000), ("storage", 50, 100)
    ]  # fmt: skip
    assert [row["source"] for row in rows[1:]] == ["quote 2026-05", "quote 2026-05", "quote 2026"]
    assert rows[3]["power_kW"] is None
    assert "system" not in explain(load_problem(design_file("mixtral-8x7b-256")), population)  # type: ignore[arg-type]


def test_hosts_of_the_catalogue_and_of_a_base() -> None:
    named = system("system.host=luwu-worker")
    assert (named.sources.system.rows[0].price, named.sources.system.rows[0].watts) != (None, None)
    own = system("system.host={base: luwu-worker, power_W: 900, source: 'measured, 2026'}", objectives="[system-tco]")
    row = own.sources.system.rows[0]
    assert row.price is not None
    assert (row.price.value, row.watts) == (10_600, 900)
    assert row.source == "LuWu, table IX, 2024; measured, 2026"
    assert set(load_hosts()) >= {"luwu-worker", "dgx-a100", "dgx-h100"}


def test_spare_npus_need_hosts() -> None:
    faults = "faults={checkpoint_s: 60, restart_s: 300, spares: 9}"
    many = system(host(), faults)
    population = many.decode(many.genome.sample(np.random.default_rng(1), 3))
    assert many.sources.system.pieces(population).tolist() == [[34.0, 34.0, 34.0]]


@pytest.mark.slow
@settings(max_examples=8)
@given(spares=st.integers(0, 40), seed=st.integers(0, 100))
def test_the_bill_has_price_and_power_of_the_objective_with_idle_spares(spares: int, seed: int) -> None:
    tco = TCO.replace("0.1", "0.08")
    faults = f"faults={{checkpoint_s: 60, restart_s: 300, spares: {spares}}}"
    problem = system(host(), faults, tco, objectives="[system-cost, system-tco]")
    population = problem.decode(problem.genome.sample(np.random.default_rng(seed), 1))
    cost, tco_usd = problem.evaluate(population).objectives[:, 0]
    rows = system_bill(problem, population)
    power = sum_of(rows, "power_kW")
    assert power is not None
    assert sum_of(rows, "cost_usd") == pytest.approx(cost, rel=1e-12)
    assert cost + power * 1.2 * 0.08 * HOURS == pytest.approx(tco_usd, rel=1e-12)
    shown = [row for row in system_table(rows).rows if row is not None]
    assert shown[-1][-2:] == (f"{cost:,.2f}", f"{power:,.2f}")
    assert [row[0] for row in shown[-3:]] == ["npu", "hosts", "all"]


def test_bills_of_two_systems_are_side_by_side() -> None:
    problem = system(host())
    one, two = (problem.decode(problem.genome.sample(np.random.default_rng(seed), 1)) for seed in (1, 2))
    bills = [system_bill(problem, each) for each in (one, two)]
    rows = system_rows(*bills)
    for key, bill in zip(("first_usd", "second_usd"), bills, strict=True):
        assert sum(getattr(row, key) for row in rows) == pytest.approx(sum_of(bill, "cost_usd"), rel=1e-12)
    twice = system_rows([*bills[0], bills[0][-1]], bills[1])
    assert sum(row.change_usd for row in twice) < sum(row.change_usd for row in rows)
    assert not system_rows([replace(bills[0][0], cost_usd=None)], bills[1])
    assert not system_rows([], bills[1])


@pytest.mark.slow
def test_prices_are_drawn_with_all_others() -> None:
    wide = values(system(host("[10000, 90000]"), objectives="[system-cost, system-cost.worst, system-cost.p95]"))
    sure = values(system(host(50_000), objectives="[system-cost, system-cost.worst, system-cost.p95]"))
    np.testing.assert_allclose(wide[0], sure[0], rtol=1e-12)
    np.testing.assert_allclose(wide[1], sure[1] + 32 * 40_000, rtol=1e-12)
    assert wide[2].sum() > sure[2].sum()


@pytest.mark.slow
@pytest.mark.parametrize("objective", ["system-cost", "system-tco", "usd-per-trillion-tokens"])
def test_a_search_finds_the_front_of_all_designs(objective: str) -> None:
    problem = system(host(), objectives=f"[time, {objective}]")
    front = search(problem, engine="exhaustive")
    assert len(front)
    again = problem.evaluate(front.frame["design"].to_list()).objectives
    scales = [[one.scale] for one in problem.objectives]
    np.testing.assert_allclose(front.frame.select(front.objectives).to_numpy().T * scales, again, rtol=1e-12)
    some = problem.evaluate_genes(problem.genome.sample(np.random.default_rng(5), 4000))
    good = some.objectives[:, some.violation <= 0]
    best = np.minimum.accumulate(again[1][np.argsort(again[0])])
    place = np.searchsorted(np.sort(again[0]), good[0] * (1 + 1e-12), side="right") - 1
    assert (place >= 0).all()
    assert (good[1] >= best[place] * (1 - 1e-12)).all()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("system={}", "system: it is empty; it takes a host, storage, or both"),
        ("system.host=dgx-h20", "system.host: unknown host 'dgx-h20'; allowed: luwu-worker, dgx-a100, dgx-h100"),
        ("system.host=dgx-h100", r"system-cost needs `system.host.price_usd` of the hosts dgx-h100, and no source"),
        ("system.host={npus: 8, price_usd: 5}", "system.host.price_usd: has no source with its year"),
        ("system.host={npus: 8, price_usd: 5, source: mine}", "system.host.price_usd: has no source with its year"),
        ("system.host={price_usd: 5, source: 'q 2026'}", "how many accelerators a host has is missing"),
        ("system.host={npus: 8, price_usd: [5, 4], source: 'q 2026'}", "found 5 above 4; the lowest is first"),
        ("system.storage={capacity_TB: 8}", "system-cost needs `system.storage.price_usd` of the storage"),
    ],
)
def test_what_has_no_price_is_refused_and_not_guessed(change: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        system(change)


@pytest.mark.slow
def test_an_npu_without_a_price_is_refused_and_one_of_ones_own_taken() -> None:
    with pytest.raises(InputError, match="system-cost needs the price of an NPU"):
        load_problem(
            design_file("mixtral-8x7b-256"),
            ["npu=gb200", "fabric.technologies=[nvlink5, optics-400g]", "objectives=[time, system-cost]"],
        )
    with pytest.raises(InputError, match="price_usd: has no source"):
        system(npu="npu={base: h100-80gb, price_usd: 27000}")
    cheap, expensive = (system(npu=NPU.replace("27000", price)) for price in ("20000", "[20000, 40000]"))
    np.testing.assert_allclose(values(expensive)[1] - values(cheap)[1], 256 * 10_000)
