"""Problems whose fat trees are oversubscribed: the ratio is part of the search, and every bound still holds."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest
from designs import design_file
from hypothesis import given, settings
from hypothesis import strategies as st
from whole_networks import whole_networks

from evo_libra import certify, load_problem, search
from evo_libra.astra_sim.export import export_design
from evo_libra.bandwidth.solve import optimal_bandwidth
from evo_libra.errors import InputError
from evo_libra.front.archive import non_dominated
from evo_libra.network.blocks.registry import BLOCKS
from evo_libra.problem.allocate import program_for
from evo_libra.problem.problem import Problem

CATALOG = """
kind: parts
name: small
source: figures of this test
parts:
  cable: {kind: link, price_usd: 100, power_W: 0, source: here, year: 2024}
  optics: {kind: transceiver, price_usd: 600, power_W: 9, source: here, year: 2024}
  crossbar: {kind: switch, price_usd: 3000, power_W: 100, ports: 16, latency_ns: 100, source: here, year: 2024}
  router: {kind: switch, price_usd: 3600, power_W: 70, ports: 8, latency_ns: 300, source: here, year: 2024}
technologies:
  near: {port_GBps: 25, ports: 4, domain_size: 8, latency_ns: 50, blocks: [ring, switch], link: cable,
         switch: crossbar, source: here, year: 2024}
  far: {port_GBps: 50, ports: 3, latency_ns: 100, blocks: [switch, fat-tree], link: cable, transceiver: optics,
        switch: router, source: here, year: 2024}
  wide: {port_GBps: 50, ports: 2, latency_ns: 100, blocks: [dragonfly, hyperx], link: cable, transceiver: optics,
         switch: crossbar, source: here, year: 2024}
"""
MOE = (
    "generator: {kind: moe, hidden: 512, expert_hidden: 1024, experts: 16, top_k: 2, layers: 2, sequence: 128, "
    "batch: 4}, parallelism: {tp: 2, ep: 8, dp: 8}, compute_TFLOPS: 234"
)
GPT = "model: gpt-3-libra, parallelism: {tp: 4}, compute_TFLOPS: 234"
SEEDS = st.integers(0, 2**32 - 1)
RATIOS = "fabric.oversubscription=[2, 4, 8, [1, 2], [2, 2]]"


def write(folder: Path, workload: str = MOE) -> str:
    (folder / "small.yaml").write_text(CATALOG)
    path = folder / "problem.yaml"
    path.write_text(
        "name: small\nnpus: 128\nfabric: {catalog: small.yaml, max_dimensions: 2}\n"
        f"workloads: [{{{workload}}}]\nbandwidth: ports\n"
    )
    return str(path)


@cache
def problem_of(folder: Path, time: str, workload: str = MOE, *more: str) -> Problem:
    found = load_problem(write(folder, workload), [f"time={time}", RATIOS, *more])
    assert isinstance(found, Problem)
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fat-trees")


def test_ratios_are_offered_beside_one_to_one(folder: Path) -> None:
    problem = problem_of(folder, "libra")
    found = {(kit.technology, BLOCKS[kit.block].code) for kit in problem.pricing.kits}
    codes = ["", "2", "4", "8", "12", "22"]
    assert {code for name, code in found if name == "far"} == {
        f"{base}{code}" for base in ("SW", "CL") for code in codes
    }
    assert {("near", "SW2"), ("near", "RI")} <= found


@pytest.mark.slow
@pytest.mark.parametrize(
    "time", ["libra", pytest.param("{model: astra, chunks: 4, latency_ns: 100}", marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("workload", [MOE, GPT])
def test_exact_fronts_are_those_of_every_design(folder: Path, workload: str, time: str) -> None:
    problem = problem_of(folder, time, workload)
    every = whole_networks(problem)
    best = every[:, non_dominated(every)]
    found = search(problem, engine="exhaustive").frame.sort("cost_usd", "time_ms")
    order = np.lexsort(best)
    np.testing.assert_allclose(np.unique(found["cost_usd"]), np.unique(best[1, order]), rtol=1e-9)
    np.testing.assert_allclose(np.unique(found["time_ms"] * 1e-3), np.unique(best[0]), rtol=1e-9)
    if workload == GPT:
        assert any(f"SW{ratio}(" in design for design in found["design"] for ratio in (2, 4, 8))


@pytest.mark.slow
def test_bounds_hold_with_solved_bandwidths(folder: Path) -> None:
    problem = problem_of(folder, "libra", MOE, "bandwidth=optimal")
    front = search(problem, evaluations=3000, population=100, seed=0)
    proof = certify(problem, front)
    assert (proof.factor >= 1.0 - 1e-9).all()
    assert proof.waiting == 0


@pytest.mark.slow
@given(SEEDS)
@settings(max_examples=10)
def test_bound_is_at_most_the_optimum_and_that_at_most_any_design(folder: Path, seed: int) -> None:
    whole = problem_of(folder, "libra")
    designs = whole.decode(whole.genome.sample(np.random.default_rng(seed), 100))
    topologies = whole.pricing.built(designs)
    solved = optimal_bandwidth(program_for(whole.traffic, whole.constraints, topologies, None))
    assert (solved.bound <= solved.objective * (1 + 1e-9)).all()
    assert (solved.objective <= whole.time(designs) * (1 + 1e-9)).all()


@pytest.mark.slow
@given(SEEDS, st.sampled_from(["astra", "themis"]))
@settings(max_examples=15)
def test_no_fat_tree_is_faster_than_libras_time(folder: Path, seed: int, model: str) -> None:
    problem = problem_of(folder, f"{{model: {model}, chunks: 2, latency_ns: 100, algorithms: search}}")
    designs = problem.decode(problem.genome.sample(np.random.default_rng(seed), 40))
    time, libra = problem.time(designs), problem_of(folder, "libra").time(designs)
    assert np.isfinite(time).all()
    if model == "astra":
        assert (libra <= time * (1 + 1e-12)).all()
    np.testing.assert_array_equal(problem.time(designs.select([7])), time[7:8])


@pytest.mark.parametrize(
    "time",
    [
        "libra",
        "{model: astra, chunks: 4, latency_ns: 100}",
        "{model: astra, chunks: 4, latency_ns: 100, algorithms: {switch: ring, switch-2: ring, switch-4: ring}}",
    ],
)
def test_higher_ratios_are_slower_and_cheaper(folder: Path, time: str) -> None:
    problem = problem_of(folder, time)
    for inner in ("RI(4)@near:100", "SW(2)@near:100"):
        npus = 128 // int(inner[3])
        designs = [f"{inner}_{code}({npus})@far:50" for code in ("SW", "SW2", "SW4")]
        found = problem.evaluate(designs)
        assert (np.diff(found.objectives[0]) >= 0).all()
        assert (np.diff(found.objectives[1]) < 0).all()
        assert (found.violation == 0).all()
    assert np.diff(found.objectives[0]).max() > 0


def test_routers_are_designs_as_any_other(folder: Path) -> None:
    problem = problem_of(folder, "{model: astra, chunks: 4, latency_ns: 100}")
    designs = ["SW(8)@near:100_DF(16)@wide:100", "SW(8)@near:100_HX(16)@wide:100", "SW(8)@near:100_CL(16)@far:100"]
    found = problem.evaluate(designs)
    assert (found.violation == 0).all()
    assert (found.objectives[0, :2] > found.objectives[0, 2]).all()
    libra = problem_of(folder, "libra").evaluate(designs).objectives[0]
    assert (libra <= found.objectives[0]).all()
    with pytest.raises(InputError, match="dimension 1 is a dragonfly; ASTRA-sim's network files have rings"):
        export_design(problem, designs[0], folder / "files")


@pytest.mark.slow
def test_the_scheduler_of_themis_paper_knows_fat_trees(folder: Path) -> None:
    problem = problem_of(folder, "{model: themis, scheduler: themis-paper, chunks: 4, latency_ns: 100}")
    time = problem.evaluate(["RI(4)@near:100_SW(32)@far:50", "RI(4)@near:100_SW4(32)@far:50"]).objectives[0]
    assert time[1] > time[0]


def test_what_ratios_cannot_be_is_told(folder: Path, tmp_path: Path) -> None:
    path = write(tmp_path)
    with pytest.raises(
        InputError, match=r"found \[2, 3\]; with a ratio of pods, that of leaves is 1, but for \[2, 2\]"
    ):
        load_problem(path, ["fabric.oversubscription=[[2, 3]]"])
    with pytest.raises(InputError, match=r"oversubscription.*9"):
        load_problem(path, ["fabric.oversubscription=[9]"])
    with pytest.raises(InputError, match="a catalogue of prices has no switches to be counted"):
        load_problem("gpt3-4k", ["fabric.oversubscription=[2]"])
    with pytest.raises(InputError, match="128 NPUs cannot be built"):
        load_problem(path, ["fabric.oversubscription=[2]", "fabric.shape=SW(2)@near_SW2(8)@far_SW(8)@far"])
    problem = problem_of(folder, "{model: astra, chunks: 4, latency_ns: 100}")
    with pytest.raises(InputError, match="dimension 1 is a switch-4; ASTRA-sim's network files have rings"):
        export_design(problem, "RI(4)@near:100_SW4(32)@far:50", tmp_path / "files")


def test_blocks_that_are_asked_for_come_with_their_ratios(tmp_path: Path) -> None:
    path = write(tmp_path)

    def codes(*changes: str) -> set[str]:
        found = load_problem(path, changes)
        assert isinstance(found, Problem)
        return {BLOCKS[kit.block].code for kit in found.pricing.kits}

    assert codes("fabric.blocks=[switch]", "fabric.oversubscription=[2]") == {"SW", "SW2"}
    assert codes("fabric.blocks=[ring, fat-tree]", "fabric.oversubscription=[2, [1, 2]]") == {"RI", "CL", "CL2", "CL12"}
    assert codes("fabric.blocks=[switch-2, fat-tree]", "fabric.oversubscription=[2]") == {"SW2", "CL", "CL2"}
    with pytest.raises(InputError, match=r"fabric\.blocks\[0\]: no technology that is chosen can build switch-2"):
        load_problem(path, ["fabric.blocks=[switch-2, ring]"])
    with pytest.raises(
        InputError, match=r"fabric\.oversubscription: found blocks ring; only switch and fat-tree have tiers"
    ):
        load_problem(path, ["fabric.blocks=[ring]", "fabric.oversubscription=[2]"])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["llama3-405b-16k", "roce-128"])
def test_shipped_problems_search_the_trees_that_their_files_ask_for(name: str) -> None:
    problem = load_problem(design_file(name))
    assert isinstance(problem, Problem)
    built = {BLOCKS[kit.block].code for kit in problem.pricing.kits}
    ratios = {"llama3-405b-16k": {"2", "4", "17"}, "roce-128": {"2"}}[name]
    assert {f"{base}{ratio}" for base in ("SW", "CL") for ratio in ratios} <= built


@pytest.mark.slow
def test_no_design_of_the_first_page_beats_its_exact_front() -> None:
    # Costs and times that the file's own words allow, and that an earlier front of 30 designs lacked.
    problem = load_problem(design_file("llama3-405b-16k"))
    assert isinstance(problem, Problem)
    better = "SW(8)@nvlink4:250_SW4(2048)@optics-400g:50 | tp4 cp4 pp16x8 dp64 mb1 zero2 overlap-tp order-tp-cp-pp-dp"
    found = problem.evaluate(better)
    assert found.violation[0] == 0
    assert f"{found.objectives[1, 0] / 1e6:.1f}" == "112.0"
    front = search(problem, engine="exhaustive").frame
    assert len(front) == 37
    # Tensor parallel groups of 16 no longer leave their servers, and software of today leaves gradients exposed: the
    # fastest plan on the network took 5306 ms, with tp16 cp2 dp32 mb2; it now is tp4 cp4 dp64 mb1 zero1.
    beside = front.filter(front["cost_usd"] <= found.objectives[1, 0])
    assert float(beside["time_ms"].min()) * 1e-3 <= found.objectives[0, 0]
    assert f"{float(beside['time_ms'].min()):.0f}" == "5468"


def test_trees_that_only_the_catalogue_names_are_asked_for_by_name(tmp_path: Path) -> None:
    path = write(tmp_path)
    named = CATALOG.replace("blocks: [switch, fat-tree]", "blocks: [switch, switch-2, fat-tree]")
    (tmp_path / "small.yaml").write_text(named)
    for blocks, codes in (("[switch]", {"SW"}), ("[switch-2]", {"SW2"}), ("[switch, switch-2]", {"SW", "SW2"})):
        found = load_problem(path, [f"fabric.blocks={blocks}"])
        assert isinstance(found, Problem)
        assert {BLOCKS[kit.block].code for kit in found.pricing.kits if kit.technology == "far"} == codes
