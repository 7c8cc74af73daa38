"""Problems that state the routing of fat trees: hashed flows take longer, as long as the closed form says."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from evo_libra import load_problem, search
from evo_libra.astra_sim.export import export_design
from evo_libra.collective import Collective
from evo_libra.errors import InputError
from evo_libra.network.routing import ROUTINGS, slowdown
from evo_libra.problem.designs import warnings_of
from evo_libra.problem.problem import Problem

CATALOG = """
kind: parts
name: small
source: figures of this test
parts:
  cable: {kind: link, price_usd: 100, power_W: 0, source: here, year: 2024}
  router: {kind: switch, price_usd: 3600, power_W: 70, ports: 64, latency_ns: 0, source: here, year: 2024}
technologies:
  near: {port_GBps: 25, ports: 4, domain_size: 8, latency_ns: 0, blocks: [ring], link: cable, source: here, year: 2024}
  wire: {link_layer: ethernet, port_GBps: 50, ports: 1, latency_ns: 0, blocks: [switch, fat-tree], link: cable,
         switch: router, source: here, year: 2024}
  band: {link_layer: infiniband, port_GBps: 50, ports: 1, latency_ns: 0, blocks: [switch], link: cable,
         switch: router, source: here, year: 2024}
"""
RING = "time={model: astra, chunks: 1, endpoint_delay_ns: 0, algorithms: {switch: ring, fat-tree: ring}}"
DIRECT = "time={model: astra, chunks: 1, endpoint_delay_ns: 0, algorithms: {switch: direct, fat-tree: direct}}"
HALVING = "time={model: astra, chunks: 1, endpoint_delay_ns: 0}"
RATIOS = "fabric.oversubscription=[2, 4]"


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("routings")
    (folder / "small.yaml").write_text(CATALOG)
    (folder / "problem.yaml").write_text(
        "name: small\nnpus: 256\nfabric: {catalog: small.yaml, technologies: [near, wire, band], max_dimensions: 2}\n"
        "workloads: [{model: gpt-3-libra, parallelism: {tp: 32}, compute_TFLOPS: 234}]\nbandwidth: ports\n"
    )
    return folder / "problem.yaml"


def problem_of(path: Path, *assignments: str) -> Problem:
    found = load_problem(str(path), assignments)
    assert isinstance(found, Problem)
    return found


def seconds(problem: Problem, design: str, collective: Collective, extent: int, stride: int) -> float:
    """Return the time of a collective of 1 GiB of groups on one dimension."""
    population = problem.read(design)
    fidelity = problem.time.fidelity_of(problem.name)
    extents, strides = np.array([[extent], [1]]), np.array([[stride], [1]])
    return float(fidelity.seconds(collective, 2**30, extents, population, stride=strides)[0])


@pytest.mark.parametrize(
    ("time", "collective", "flows", "sets", "sent"),
    [
        (RING, Collective.ALL_REDUCE, 32, 8, 1.0),
        (HALVING, Collective.REDUCE_SCATTER, 32, 8, 1.0),
        (DIRECT, Collective.ALL_TO_ALL, 32 * 7, 16, 1 / 7),
    ],
)
@pytest.mark.parametrize("ratio", [1, 2, 4])
def test_groups_of_one_member_under_each_leaf(
    path: Path, time: str, collective: Collective, flows: int, sets: int, sent: float, ratio: int
) -> None:
    """256 NPUs under 8 leaves of 32, and 32 groups of 8: 4.6, 3.2 and 2.3 times as long as rings, for example."""
    design = f"CL{ratio if ratio > 1 else ''}(256)@wire:50"
    even, hashed = (
        seconds(problem_of(path, time, RATIOS, *more), design, collective, extent=8, stride=32)
        for more in ((), ("fabric.routing={wire: ecmp}",))
    )
    said = slowdown(flows=flows, links=32 // ratio, sets=sets, sent=sent, capacity=1.0).expected
    assert hashed / even == pytest.approx(said, rel=1e-6)


@pytest.mark.parametrize("routing", [name for name, one in ROUTINGS.items() if not one.hashed])
def test_even_routings_take_the_time_of_none(path: Path, routing: str) -> None:
    times = [
        problem_of(path, RING, *more).evaluate(["CL(256)@wire:50", "RI(8)@near:100_SW(32)@wire:50"]).objectives[0]
        for more in ((), (f"fabric.routing={{wire: {routing}}}",))
    ]
    assert times[0].tolist() == times[1].tolist()


def test_what_stays_under_a_leaf_does_not_collide(path: Path) -> None:
    hashed = problem_of(path, RING, "fabric.routing={wire: ecmp}")
    even = problem_of(path, RING)
    near = [seconds(one, "CL(256)@wire:50", Collective.ALL_REDUCE, extent=32, stride=1) for one in (even, hashed)]
    assert near[0] == near[1]


def test_more_flows_take_less_time(path: Path) -> None:
    times = [
        problem_of(path, RING, "fabric.routing={wire: ecmp}", f"fabric.flows_per_pair={flows}")
        .evaluate(["CL(256)@wire:50"])
        .objectives[0][0]
        for flows in (1, 4, 64)
    ]
    assert times == sorted(times, reverse=True)
    assert times[0] > times[2]


def test_by_link_layer_infiniband_is_adaptive_and_ethernet_hashes(path: Path) -> None:
    """The same network of both layers: RoCE with a flow for each pair takes longer than InfiniBand."""
    found = problem_of(path, RING, "fabric.routing=by-link-layer").evaluate(["SW(256)@wire:50", "SW(256)@band:50"])
    stated = problem_of(path, RING, "fabric.routing={wire: ecmp, band: adaptive}").evaluate(["SW(256)@wire:50"])
    assert found.objectives[0][0] > 1.05 * found.objectives[0][1]
    assert found.objectives[0][0] == stated.objectives[0][0]


def test_a_search_chooses_a_routing(path: Path) -> None:
    problem = problem_of(path, HALVING, "fabric.routing={wire: [ecmp, spraying]}", "fabric.technologies=[wire]")
    assert set(problem.catalog.names) == {"wire.ecmp", "wire.spraying"}
    both = problem.evaluate(["CL(256)@wire.ecmp:50", "CL(256)@wire.spraying:50"]).objectives[0]
    assert both[0] > both[1]
    designs = search(problem, engine="exhaustive", seed=1).frame["design"].to_list()
    assert designs
    assert all(".spraying" in design for design in designs)


def test_evaluations_say_the_routing_with_a_band(path: Path) -> None:
    problem = problem_of(path, RING, "fabric.routing=by-link-layer")
    (wire,) = notes(problem, "CL(256)@wire:50")
    assert wire == (
        "Dimension 0, wire: ecmp hashes 1 flow of each message (RFC 2992). Rings with one member under each leaf take "
        "4.64 times (4.00 to 6.00) as long as with even links (10th to 90th percentile), all-to-alls of all take 1.06 "
        "times (1.03 to 1.09) and halving-doubling of one under each leaf take 4.64 times (4.00 to 6.00)."
    )
    (band,) = notes(problem, "SW(256)@band:50")
    assert band.startswith("Dimension 0, band: adaptive fills links between switches evenly (NVIDIA,")
    (single,) = notes(problem, "RI(8)@near:100_SW(32)@wire:50")
    assert "through a single switch" in single
    assert not notes(problem_of(path, RING), "SW(256)@band:50")


@pytest.mark.slow
def test_astra_sims_files_cannot_say_that_flows_collide(path: Path, tmp_path: Path) -> None:
    problem = problem_of(path, RING, "fabric.routing=by-link-layer")
    with pytest.raises(
        InputError, match="dimension 0 hashes flows \\(ecmp\\); messages of ASTRA-sim never share a link"
    ):
        export_design(problem, "SW(256)@wire:50", tmp_path / "out")
    export_design(problem, "SW(256)@band:50", tmp_path / "other")


def notes(problem: Problem, design: str) -> list[str]:
    return [note.quirk.sentence for note in warnings_of(problem, [design]) if note.quirk.name == "routing"]


@pytest.mark.parametrize(
    ("assignments", "message"),
    [
        (
            ["fabric.routing={wire: ecmp}", "time=libra"],
            "time.model is libra; astra and themis have collisions of flows",
        ),
        (["fabric.routing={wired: ecmp}", RING], "unknown technology 'wired'"),
        (["fabric.routing={near: ecmp}", RING], "near has no switches of a catalogue of parts"),
        (["fabric.routing={wire: [ecmp, ecmp]}", RING], "a routing is named twice"),
        (["fabric.flows_per_pair=4", RING], "flows are of a `routing`, which is not stated"),
        (["fabric.routing={wire: emcp}", RING], "ecmp"),
    ],
)
def test_mistakes(path: Path, assignments: list[str], message: str) -> None:
    with pytest.raises(InputError, match=message.replace("(", r"\(")):
        problem_of(path, *assignments)
