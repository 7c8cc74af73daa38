"""Problems whose designs are bills of materials."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from designs import design_file
from hypothesis import given, settings
from hypothesis import strategies as st

from evo_libra import certify, load_problem, search
from evo_libra.bandwidth.solve import optimal_bandwidth
from evo_libra.errors import InputError
from evo_libra.explain.explain import explain
from evo_libra.network.blocks.registry import BLOCKS
from evo_libra.problem.allocate import program_for
from evo_libra.problem.designs import violations
from evo_libra.problem.problem import Problem
from evo_libra.timing.phase_dimensions import TIMED_BLOCKS

CATALOG = """
kind: parts
name: small
source: figures of this test
parts:
  cable: {kind: link, price_usd: 100, power_W: 0, source: here, year: 2024}
  fibre: {kind: link, price_usd: 80, power_W: 0, source: here, year: 2024}
  optics: {kind: transceiver, price_usd: 600, power_W: 9, source: here, year: 2024}
  crossbar: {kind: switch, price_usd: 3000, power_W: 100, ports: 64, latency_ns: 100, source: here, year: 2024}
  router: {kind: switch, price_usd: 36000, power_W: 747, ports: 64, latency_ns: 300, source: here, year: 2024}
  card: {kind: nic, price_usd: 1000, power_W: 20, ports: 2, source: here, year: 2024}
technologies:
  near: {port_GBps: 25, ports: 18, domain_size: 64, latency_ns: 50, energy_pJ_per_bit: 1.3,
         blocks: [ring, fully-connected, switch], link: cable, switch: crossbar, source: here, year: 2024}
  far: {port_GBps: 50, ports: 4, latency_ns: 100, blocks: [ring, switch], link: fibre,
        transceiver: optics, nic: card, switch: router, source: here, year: 2024}
"""
SEEDS = st.integers(0, 2**32 - 1)
SETTINGS = settings(max_examples=15)


def load(folder: Path, *assignments: str) -> Problem:
    (folder / "small.yaml").write_text(CATALOG)
    (folder / "problem.yaml").write_text(
        "name: small\nnpus: 512\nfabric: {catalog: small.yaml, max_dimensions: 3}\n"
        "workloads: [{model: gpt-3-libra, parallelism: {tp: 8}, compute_TFLOPS: 400}]\nbandwidth: ports\n"
    )
    found = load_problem(str(folder / "problem.yaml"), assignments)
    assert isinstance(found, Problem)
    return found


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Problem:
    return load(tmp_path_factory.mktemp("parts"), "objectives=[time, cost, power]")


@pytest.mark.slow
@given(SEEDS)
@SETTINGS
def test_designs_are_of_whole_ports_and_cost_what_their_bills_say(small: Problem, seed: int) -> None:
    genes = small.genome.sample(np.random.default_rng(seed), 30)
    designs, worth = small.decode(genes), small.evaluate_genes(genes)
    kits = small.pricing.kits
    used = designs.npus > 1
    rate = np.array([kit.port_rate for kit in kits])[designs.technology]
    ports = designs.bandwidth / rate
    np.testing.assert_allclose(ports[used], np.rint(ports[used]), atol=1e-9)
    assert (ports[used] >= 1).all()
    for n in range(len(designs)):
        rows = small.pricing.bill(designs.select([n]))
        assert sum(row["cost_usd"] for row in rows) == pytest.approx(worth.objectives[1, n], abs=0.005)
        assert sum(row["power_W"] for row in rows) == pytest.approx(worth.objectives[2, n], rel=1e-9)
        assert all(row["pieces"] == int(row["pieces"]) for row in rows)
    again = small.evaluate(small.describe(genes)["design"])
    np.testing.assert_allclose(again.objectives, worth.objectives, rtol=1e-12)
    np.testing.assert_allclose(again.violation, worth.violation, atol=1e-9)


@pytest.mark.slow
@given(SEEDS)
@SETTINGS
def test_parts_in_any_fraction_and_solved_bandwidths_bound_every_design(small: Problem, seed: int) -> None:
    genes = small.genome.sample(np.random.default_rng(seed), 30)
    designs, worth = small.decode(genes), small.evaluate_genes(genes)
    relaxed = small.relaxed()
    price = relaxed.pricing.built(designs).price
    assert ((price * designs.bandwidth).sum(axis=0) <= worth.objectives[1] * (1 + 1e-12)).all()
    feasible = np.flatnonzero(worth.violation <= 0)
    some = designs.select(feasible)
    topologies = relaxed.pricing.topologies_of(some.npus, some.technology, np.zeros_like(some.npus))
    program = program_for(relaxed.traffic, relaxed.constraints, topologies, worth.objectives[1, feasible])
    assert (optimal_bandwidth(program).bound <= worth.objectives[0, feasible] * (1 + 1e-9)).all()


def test_lanes_of_one_technology_are_shared_by_its_dimensions(small: Problem) -> None:
    both = small.evaluate("FC(8)@near:350_SW(8)@near:100_SW(8)@far:50").violation[0]
    assert both == 0.0
    assert small.evaluate("FC(8)@near:350_SW(8)@near:125_SW(8)@far:50").violation[0] > 0.0


def test_a_group_that_has_a_part_of_a_dimension_gets_a_part_of_its_links(small: Problem) -> None:
    whole, part = small.evaluate(["FC(8)@near:350_SW(64)@far:50", "FC(16)@near:375_SW(32)@far:50"]).objectives[0]
    assert part > whole
    designs = small.read("FC(16)@near:375_SW(32)@far:50")
    traffic = small.time.traffic(designs.npus, designs.technology)
    group = next(i for i, (_, name, _) in enumerate(small.time.channels) if name == "tp")
    # 8 of 16 fully connected NPUs have 7 of 15 links: 7/8 of the bytes over 7/15 of the bandwidth.
    assert traffic[group, 0, 0] == pytest.approx((7 / 8) / (7 / 15))


def test_what_parts_cannot_be_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="come in ports"):
        load(tmp_path, "bandwidth=search")
    with pytest.raises(InputError, match="but no ports"):
        load_problem("gpt3-4k", ["bandwidth=ports"])
    with pytest.raises(InputError, match="needs a catalogue of parts"):
        load_problem("gpt3-4k", ["objectives=[time, power]"])
    with pytest.raises(InputError, match="needs the key 'tco'"):
        load(tmp_path, "objectives=[time, tco]")
    with pytest.raises(InputError, match="allowed: ring, switch"):
        load(tmp_path).evaluate("FC(8)@far:350_SW(64)@far:50")
    with pytest.raises(InputError, match="did you mean 'near'"):
        load(tmp_path, "fabric.technologies=[nearr]")
    with pytest.MonkeyPatch.context() as patched:
        patched.delitem(TIMED_BLOCKS, "RI")  # such as a block of a user's own
        with pytest.raises(InputError, match="no phases are known on ring"):
            load_problem(str(tmp_path / "problem.yaml"), ["time={model: astra}"])
    (tmp_path / "small.yaml").write_text(CATALOG.replace("blocks: [ring, switch]", "blocks: [fred-b, switch]"))
    with pytest.raises(InputError, match=r"themis-paper is of rings, lines, fully connected .* not of fred-b"):
        load_problem(str(tmp_path / "problem.yaml"), ["time={model: themis, scheduler: themis-paper}"])
    with pytest.raises(InputError, match="found ring; a fred-b reduces in its switches"):
        load_problem(str(tmp_path / "problem.yaml"), ["time={model: astra, algorithms: {fred-b: ring}}"])


@pytest.mark.slow
@pytest.mark.parametrize("time", ["libra", "{model: astra, chunks: 16}"])
def test_fronts_of_parts_are_certified(tmp_path: Path, time: str) -> None:
    problem = load(tmp_path, f"time={time}", "npus=128")
    front = search(problem, evaluations=4000, population=100, seed=0)
    proof = certify(problem, front)
    assert (proof.factor >= 1.0).all()
    # Whole switches weigh much in so small a cluster: the bound buys fractions of them.
    assert proof.missed_hypervolume < 0.3 * proof.max_hypervolume
    assert proof.waiting == 0


def test_every_objective_has_a_value(tmp_path: Path) -> None:
    names = "[time, cost, power, tco, energy, time-cost, bisection]"
    owned = "tco={years: 4, usd_per_kWh: 0.1, pue: 1.3}"
    problem = load(tmp_path, f"objectives={names}", owned)
    design = "FC(8)@near:175_SW(64)@far:100"
    time, cost, watts, tco, energy, product, moved = problem.evaluate(design).objectives[:, 0]
    assert tco == pytest.approx(cost + watts / 1000 * 1.3 * 0.1 * 8760 * 4)
    assert (energy, product) == pytest.approx((watts * time, time * cost))
    # Half of 64 rails' NPUs send 100 GB/s over each of 8 rails; within a domain 16 of 28 links cross the middle.
    assert moved == pytest.approx(1e12 / min(32 * 100e9 * 8, 16 * 25e9 * 64))
    front = search(problem, evaluations=300, population=40, seed=0)
    assert {"power_kW", "tco_usd", "energy_kJ", "time_cost_usd_s", "bisection_s_per_TB"} <= set(front.objectives)


def test_the_bill_is_explained(small: Problem) -> None:
    designs = small.read("FC(8)@near:175_SW(64)@far:100")
    found: Any = explain(small, designs)
    near, far = found["dimensions"]
    assert (near["ports"], far["ports"]) == (7, 2)
    pieces = {(row["dimension"], row["item"]): row["pieces"] for row in found["bill"]}
    # 28 links in each of 64 domains; 64 NPUs of 2 ports in each of 8 rails: one switch a port, one card of 2 ports.
    assert pieces[0, "link"] == 28 * 64
    assert pieces[1, "switch"] == 2 * 8
    assert pieces[1, "nic"] == 512
    assert pieces[1, "transceiver"] == 2 * 2 * 512
    assert BLOCKS[int(designs.block[0, 0])].code == "FC"


@pytest.mark.slow
@pytest.mark.parametrize("time", ["libra", "{model: astra, latency_ns: 100, chunks: 4}"])
def test_times_of_collectives_are_those_of_the_shares_that_groups_get(tmp_path: Path, time: str) -> None:
    problem = load(tmp_path, f"time={time}")
    designs = problem.decode(problem.genome.sample(np.random.default_rng(3), 40))
    worth = problem.evaluate(designs)
    for n in range(len(designs)):
        (loop,) = explain(problem, designs.select([n]))["workloads"]
        collectives = sum(entry["time_ms"] for entry in loop["collectives"])
        assert worth.objectives[0, n] * 1e3 == pytest.approx(loop["compute_ms"] + collectives, rel=1e-6)


OWNED = "tco={years: 4, usd_per_kWh: 0.1, pue: 1.3}"


@pytest.mark.slow
@given(st.sampled_from(["dense-1k", "dense-4k", "dense-32k", "moe-4k", "dlrm-1k-parts", "wafer-20"]), SEEDS)
@settings(max_examples=20)
def test_bills_of_shipped_problems_sum_to_their_objectives_to_the_cent(name: str, seed: int) -> None:
    problem = shipped(name)
    designs = problem.decode(problem.genome.sample(np.random.default_rng(seed), 5))
    worth = problem.evaluate(designs)
    for n in range(len(designs)):
        bill = problem.pricing.bill(designs.select([n]))
        cost, power = (sum(row[key] for row in bill) for key in ("cost_usd", "power_W"))
        for row in bill:
            assert row["cost_usd"] == pytest.approx(row["pieces"] * row["unit_usd"], abs=0.005)
        assert cost == pytest.approx(worth.objectives[1, n], abs=0.005)
        assert power == pytest.approx(worth.objectives[2, n], rel=1e-9)
        assert worth.objectives[3, n] == pytest.approx(cost + power / 1e3 * 1.3 * 0.1 * 8760 * 4, abs=0.005)


@cache
def shipped(name: str) -> Problem:
    found = load_problem(design_file(name), ["objectives=[time, cost, power, tco]", OWNED])
    assert isinstance(found, Problem)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["nsga2", "nsga3"])
def test_fronts_of_many_objectives_are_the_archives(tmp_path: Path, engine: str) -> None:
    names = "[tco, bisection, energy, time-cost]"
    problem = load(tmp_path, f"objectives={names}", OWNED)
    front = search(problem, engine=engine, evaluations=1500, population=40, seed=1)
    assert len(front) > 40
    values = front.frame.select(front.objectives).to_numpy()
    better = (values[None] <= values[:, None]).all(axis=2) & (values[None] < values[:, None]).any(axis=2)
    assert not better.any()
    assert len(front.objectives) == 4


def test_bandwidths_that_are_no_whole_ports_are_told(small: Problem) -> None:
    broken = violations(small, small.read("SW(32)@near:151_SW(16)@far:50"))
    assert broken == ["dimension 0 has 151 GB/s; the nearest it can be built with is 150"]
    assert violations(small, small.read("SW(32)@near:150_SW(16)@far:50")) == []
    broken = violations(small, small.read("FC(32)@near:150_SW(16)@far:50"))
    assert broken == ["dimension 0 has 32 NPUs; a fully-connected of near cannot be built so large"]
    with pytest.raises(InputError, match="allowed: near, far;"):
        small.read("SW(32)@nea:150_SW(16)@far:50")


def test_budgets_of_parts_reach_from_the_least_to_the_fullest_network() -> None:
    pinned = "fabric.shape=FC(4)@nvlink4_TO(4)@ici-v5e_SW(4)@copper-400g_SW(16)@optics-400g"
    wired = "npu={base: h100-80gb, ports: {nvlink4: 18, ici-v5e: 4}, sources: {ports: 'drawn, 2026'}}"
    blocks = "fabric.blocks=[fully-connected, switch, torus-2d]"
    problem = load_problem(
        design_file("dlrm-1k-parts"), ["bandwidth=optimal", pinned, wired, "fabric.domains=any", blocks]
    )
    assert isinstance(problem, Problem)
    low, most = problem.budgets()
    front = search(problem, evaluations=600, population=50)
    assert len(front) > 100
    assert low * (1 - 1e-9) <= front.frame["cost_usd"].min() < 0.7 * most
    assert front.frame["cost_usd"].max() == pytest.approx(most, rel=1e-6)
