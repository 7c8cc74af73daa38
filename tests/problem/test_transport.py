"""Problems whose Ethernet runs under congestion control: a technology for each transport, and every bound holds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from whole_networks import whole_networks

from evo_libra import certify, load_problem, search
from evo_libra.astra_sim.export import export_design
from evo_libra.errors import InputError
from evo_libra.explain.explain import explain
from evo_libra.front.archive import non_dominated
from evo_libra.network.transport import APPROXIMATION, TRANSPORTS
from evo_libra.problem.designs import warnings_of
from evo_libra.problem.problem import Problem

ORDER = ("pfc", "dcqcn", "dctcp", "timely", "hpcc-pint", "hpcc")
CATALOG = """
kind: parts
name: small
source: figures of this test
parts:
  cable: {kind: link, price_usd: 100, power_W: 0, source: here, year: 2024}
  router: {kind: switch, price_usd: 3600, power_W: 70, ports: 8, latency_ns: 300, source: here, year: 2024}
technologies:
  near: {port_GBps: 25, ports: 4, domain_size: 8, latency_ns: 50, blocks: [ring], link: cable, source: here, year: 2024}
  wire: {link_layer: ethernet, port_GBps: 50, ports: 2, latency_ns: 100, blocks: [switch, fat-tree], link: cable,
         switch: router, source: here, year: 2024}
  band: {link_layer: infiniband, port_GBps: 50, ports: 2, latency_ns: 100, blocks: [switch], link: cable,
         switch: router, source: here, year: 2024}
"""
ASTRA = "time={model: astra, chunks: 4}"
EVERY = f"fabric.transport={{wire: [{', '.join(ORDER)}]}}"
SEEDS = st.integers(0, 2**32 - 1)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("transports")
    (folder / "small.yaml").write_text(CATALOG)
    (folder / "problem.yaml").write_text(
        "name: small\nnpus: 64\nfabric: {catalog: small.yaml, technologies: [near, wire], max_dimensions: 2}\n"
        "workloads: [{model: gpt-3-libra, parallelism: {tp: 4}, compute_TFLOPS: 234}]\nbandwidth: ports\n"
    )
    return folder / "problem.yaml"


def problem_of(path: Path, *assignments: str) -> Problem:
    found = load_problem(str(path), assignments)
    assert isinstance(found, Problem)
    return found


def designs(*names: str) -> list[str]:
    return [f"RI(4)@near:100_CL(16)@wire.{name}:50" for name in names]


@pytest.mark.parametrize(
    "time", ["time=libra", ASTRA, pytest.param("time={model: themis, chunks: 4}", marks=pytest.mark.slow)]
)
def test_order_of_times(path: Path, time: str) -> None:
    times = problem_of(path, EVERY, time).evaluate(designs(*ORDER)).objectives[0]
    assert (np.diff(times) >= 0).all()
    assert times[1] == times[2] == times[3]
    assert times[-1] <= times[0] / TRANSPORTS["hpcc"].factor * 1.05
    assert times[-1] > times[-2] > times[0]


def test_factors_come_on_top_of_efficiency(path: Path) -> None:
    """Half of the bandwidth under HPCC is half of HPCC's."""
    time = "time={model: libra, efficiency: {wire: %r}}"
    both = problem_of(path, EVERY, time % 0.5).evaluate(designs("hpcc")).objectives[0]
    alone = problem_of(path, time % (0.5 * TRANSPORTS["hpcc"].factor))
    np.testing.assert_allclose(both, alone.evaluate("RI(4)@near:100_CL(16)@wire:50").objectives[0], rtol=1e-12)


def test_pfc_is_as_fast_as_no_transport(path: Path) -> None:
    for time in ("time=libra", ASTRA):
        with_pfc = problem_of(path, "fabric.transport={wire: pfc}", time).evaluate(designs("pfc"))
        without = problem_of(path, time).evaluate("RI(4)@near:100_CL(16)@wire:50")
        np.testing.assert_array_equal(with_pfc.objectives, without.objectives)


def test_only_lossless_switches_cost_more(path: Path) -> None:
    cost = problem_of(path, EVERY, "fabric.lossless_usd_per_port=50").evaluate(designs(*ORDER)).objectives[1]
    plain = problem_of(path, EVERY).evaluate(designs(*ORDER)).objectives[1]
    lossless = np.array([TRANSPORTS[name].lossless for name in ORDER])
    assert ((cost > plain) == lossless).all()
    problem = problem_of(path, EVERY, "fabric.lossless_usd_per_port=50")
    (row,) = (row for row in problem.pricing.bill(problem.read(designs("pfc"))) if row["item"] == "switch")
    assert (row["part"], row["unit_usd"]) == ("router.lossless", 3600 + 8 * 50)


@pytest.mark.slow
@pytest.mark.parametrize("time", ["time=libra", pytest.param(ASTRA, marks=pytest.mark.slow)])
def test_exact_fronts_are_those_of_every_design(path: Path, time: str) -> None:
    problem = problem_of(path, EVERY, time, "fabric.lossless_usd_per_port=50")
    every = whole_networks(problem)
    best = every[:, non_dominated(every)]
    found = search(problem, engine="exhaustive").frame
    np.testing.assert_allclose(np.unique(found["cost_usd"]), np.unique(best[1]), rtol=1e-9)
    np.testing.assert_allclose(np.unique(found["time_ms"] * 1e-3), np.unique(best[0]), rtol=1e-9)
    again = problem.evaluate(found["design"].to_list())
    np.testing.assert_allclose(again.objectives[0] * 1e3, found["time_ms"], rtol=1e-12)
    assert (again.violation == 0).all()


@pytest.mark.slow
def test_bounds_hold_with_solved_bandwidths(path: Path) -> None:
    problem = problem_of(path, EVERY, "bandwidth=optimal")
    proof = certify(problem, search(problem, evaluations=2000, population=100, seed=0))
    assert (proof.factor >= 1.0 - 1e-9).all()
    assert proof.waiting == 0


@pytest.mark.slow
@given(SEEDS)
@settings(max_examples=10, deadline=None)
def test_libras_time_stays_a_bound_and_designs_read_back(path: Path, seed: int) -> None:
    problem = problem_of(path, EVERY, ASTRA)
    found = problem.decode(problem.genome.sample(np.random.default_rng(seed), 30))
    libra = problem_of(path, EVERY).time(found)
    assert (libra <= problem.time(found) * (1 + 1e-12)).all()
    again = problem.read([str(fabric) for fabric in problem.fabrics(found)])
    np.testing.assert_array_equal(problem.time(again), problem.time(found))


def test_transports_share_the_ports_of_their_technology(path: Path) -> None:
    problem = problem_of(path, EVERY)
    mixed = problem.evaluate("SW(4)@wire.pfc:100_SW(16)@wire.hpcc:50")
    assert mixed.violation[0] > 0


def test_every_output_says_that_it_is_an_approximation(path: Path) -> None:
    problem = problem_of(path, EVERY)
    population = problem.read(designs("hpcc"))
    (warned,) = warnings_of(problem, population)
    assert APPROXIMATION in str(warned)
    (dimension,) = (one for one in explain(problem, population)["dimensions"] if "transport" in one)
    assert (dimension["transport"], dimension["transport_note"]) == ("hpcc", APPROXIMATION)
    frame = search(problem, evaluations=200, population=20, seed=0).frame
    used = [any(row[f"transport[{d}]"] for d in range(2)) for row in frame.to_dicts()]
    assert [note == APPROXIMATION for note in frame["transport_note"]] == used
    assert any(used)


@pytest.mark.parametrize(("assignments", "message"), [
    (["fabric.technologies=[near, band]", "fabric.transport={band: pfc}"], "band is InfiniBand"),
    (["fabric.transport={near: pfc}"], "no link_layer of near"),
    (["fabric.transport={wir: pfc}"], "did you mean 'wire'"),
    (["fabric.transport={wire: tcp}"], "fabric.transport"),
    (["fabric.transport={wire: [pfc, pfc]}"], "a transport is named twice"),
    (["fabric.lossless_usd_per_port=50"], "only technologies with a `transport` pause links"),
])  # fmt: skip
def test_what_cannot_be_is_refused(path: Path, assignments: list[str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        load_problem(str(path), assignments)


def test_exported_links_have_what_a_transport_fills(path: Path, tmp_path: Path) -> None:
    # 50 GB/s times 0.95 x 1062 / 1110, in GB of 2^30 bytes: 42.32.
    export_design(problem_of(path, EVERY, ASTRA), "RI(4)@near:100_SW(16)@wire.hpcc:50", tmp_path / "out")
    assert ", 42.3248" in (tmp_path / "out" / "network.yml").read_text()


def test_chunks_that_choose_their_order_have_what_a_transport_fills(path: Path) -> None:
    time = "time={model: themis, scheduler: [themis-paper, ideal]}"
    asked = [f"{design} scheduler=ideal" for design in designs("pfc", "dctcp", "hpcc")]
    pfc, dctcp, hpcc = problem_of(path, EVERY, time).evaluate(asked).objectives[0]
    assert pfc == dctcp < hpcc < pfc / TRANSPORTS["hpcc"].factor
