"""Problems that choose where the optimizer is: what a file lacks for it, and what its fronts are."""

from __future__ import annotations

import json
from itertools import product

import numpy as np
import pytest
from designs import design_file

from evo_libra import load_problem, search
from evo_libra.astra_sim.loops import groups_of
from evo_libra.errors import InputError
from evo_libra.explain.explain import explain
from evo_libra.front.archive import non_dominated
from evo_libra.problem.problem import Problem
from evo_libra.problem.sections.workload import PlanGenes
from evo_libra.ui.commands.explain import explanation
from evo_libra.ui.tables.addresses import addressed
from evo_libra.workload.plans.plans import NETWORK, PLACEMENTS

KEY = "workloads[0].training.optimizer"
HOST = {"source": "made up, 2026", "memory_GBps": 100, "GFLOPS": 100, "ssds": 2, "ssd_GBps": 1, "ssd_price_usd": 9}


def problem_of(*changes: str) -> Problem:
    found = load_problem("opt-175b-offload", list(changes))
    assert isinstance(found, Problem)
    return found


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("system={storage: {capacity_TB: 1}}", "the optimizer in nvme needs the key `system.host`"),
        (f"{KEY}={{placement: network}}", "the optimizer in network needs this key"),
        ("system.host=luwu-testbad", "did you mean 'luwu-testbed'"),
        ("system.host=luwu-worker", "`system.host` has no link_GBps, memory_GB, memory_GBps, GFLOPS, ssds, ssd_GBps"),
        (f"{KEY}.placement=disk", "network"),
        (f"{KEY}={{placement: io}}", "the optimizer in io needs this key, the I/O channels"),
        (f"{KEY}.server={{link_GBps: 12.5}}", "the optimizer in network needs this key, what each server is"),
        (f"{KEY}.server.host=luwu-sever", "did you mean 'luwu-server'"),
        (f"{KEY}.server.host=xeon-6730p", "its host has no ssds, ssd_GBps"),
        (f"{KEY}.server.host={json.dumps(HOST)}", "of the servers, and no source gives it"),
        ("objectives=[time, energy-per-token]", "power_W` of the hosts luwu-testbed"),
        ("time=astra", "timed under LIBRA's time"),
        ("workloads[0].training.zero=1", "the optimizer in nvme needs zero 3"),
        (f"{KEY}.placement=io", "server.host: I/O channels have no host; leave this key out"),
        (f"{KEY}.software.exposed=1.5", "a number of at most 1"),
        (f"{KEY}.software.ssd_update=parallel", "pipelined"),
        (f"{KEY}.software={{exposed: 0.5}}", "has no source with its year"),
        (f"{KEY}.software={{exposed: 0.5, source: somewhere}}", "has no source with its year"),
    ],
)  # fmt: skip
def test_what_a_file_lacks_is_a_sentence(change: str, words: str) -> None:
    more = [f"{KEY}.placement=nvme"] if "zero" in change else []
    with pytest.raises(InputError, match=words):
        problem_of(*more, change)


def test_an_optimizer_on_the_npus_needs_no_host() -> None:
    problem = problem_of(f"{KEY}={{placement: npu}}", "workloads[0].training.zero=3", "npus=128")
    assert {one.setups[0].offload for one in problem.time.tables} == {None}


@pytest.mark.slow
@pytest.mark.parametrize("objectives", ["time, cost", "time, system-cost", "time, system-cost, memory"])
def test_the_exact_front_is_that_of_every_design(objectives: str) -> None:
    problem = problem_of(f"objectives=[{objectives}]", "npus=128", "fabric.blocks=[switch, fat-tree]",
                         "workloads[0].training.global_batch=2048")  # fmt: skip
    (table,) = problem.time.tables
    assert {PLACEMENTS[place] for place in table.plans.optimizer} == set(PLACEMENTS) - {"io"}
    front = search(problem, engine="exhaustive")
    structures = problem.structures.table
    assert structures is not None
    genes = problem.genome.sample(np.random.default_rng(0), 4000)
    designs = problem.decode(genes)
    # One port and no choice beside topology and plan: sampled genes name each of them.
    every = np.unique(np.concatenate([designs.npus, designs.technology, designs.block, designs.plans]), axis=1)
    assert every.shape[1] <= len(structures) * len(table)
    found = problem.evaluate_genes(genes)
    feasible = found.objectives[:, found.violation <= 0]
    best = np.unique(feasible[:, non_dominated(feasible)].round(9), axis=1)
    exact = np.array([front.frame[o.column].to_numpy() * o.scale for o in problem.objectives])
    np.testing.assert_allclose(np.unique(exact.round(9), axis=1), best, rtol=1e-9)


@pytest.mark.slow
def test_figures_of_a_design_agree_whether_its_plan_was_open_or_not() -> None:
    problem = problem_of()
    for place, technology in product(("nvme", "network"), ("smart-100g", "ethernet-100g")):
        text = f"SW(8)@{technology}:12.5 | dp8 mb16 zero3 full opt-{place}"
        alone = problem_of(
            "workloads[0].training.micro_batch=16", "workloads[0].training.zero=3", f"{KEY}.placement={place}"
        )
        one = problem.evaluate(problem.read(text)).objectives
        two = alone.evaluate(alone.read(text.split(" | ", maxsplit=1)[0])).objectives
        np.testing.assert_allclose(one, two, rtol=1e-12)
        (workload,) = explain(problem, problem.read(text))["workloads"]
        streams = workload["training"]["optimizer_streams"]
        binding = {one["pass"]: one["time_ms"] for one in streams if one["binds"]}
        head = workload["training"]["split_ms"]["head"]
        waiting = workload["training"]["split_ms"].get("data", 0.0) if place == "nvme" else 0.0
        assert sum(binding.values()) + head + waiting >= workload["time_ms"] * (1 - 1e-9)
        assert set(binding) == ({"forward", "backward"} if place == "network" else {"forward", "backward", "update"})


@pytest.mark.slow
def test_software_of_a_file_slows_what_gpus_exchange_and_hosts_update() -> None:
    plan = "SW(8)@ethernet-100g:12.5 | dp8 mb16 zero3 full opt-"
    source = "made up, 2026"

    def seconds(place: str, **figures: object) -> float:
        problem = problem_of(f"{KEY}.software={json.dumps({**figures, 'source': source})}")
        return float(problem.time(problem.read(f"{plan}{place}"))[0])

    plain = {place: seconds(place, exposed=0.0) for place in ("nvme", "network")}
    for figures in (
        {"exposed": 0.65},
        {"exposed": 0.0, "processors": 0.1},
        {"exposed": 0.0, "adam_Gweights": 0.1},
        {"exposed": 0.0, "ssd_update": "serial", "ssd_gradient_bytes": 4},
    ):
        assert seconds("nvme", **figures) > 1.01 * plain["nvme"], figures
        assert seconds("network", **figures) == plain["network"], figures
    # What all 8 GPUs exchange takes 73.3 s at 12.5 GB/s: 3 x 350 GB x 7/8. Of this 65 % are exposed, 1/96 in any case.
    exchanged = 3 * 349.2e9 * 7 / 8 / 12.5e9
    assert seconds("nvme", exposed=0.65) - plain["nvme"] == pytest.approx((0.65 - 1 / 96) * exchanged, rel=0.01)


def test_a_switch_that_adds_nothing_up_passes_every_message() -> None:
    problem = problem_of()
    plan = "dp8 mb16 zero3 full opt-network"
    smart, plain = (problem.read(f"SW(8)@{name}:12.5 | {plan}") for name in ("smart-100g", "ethernet-100g"))
    streams = [
        {(row["pass"], row["stream"]): row["time_ms"] for row in one["training"]["optimizer_streams"]}
        for one in (explain(problem, design)["workloads"][0] for design in (smart, plain))
    ]
    assert streams[1]["forward", "data"] == pytest.approx(8.0 * streams[0]["forward", "data"])
    assert streams[1]["forward", "server SSD"] == pytest.approx(streams[0]["forward", "server SSD"])


def test_servers_of_the_network_have_all_of_its_bandwidth_whatever_collectives_reach() -> None:
    slow, fast = problem_of("time.efficiency=0.2"), problem_of("time.efficiency=1.0")
    plan = "SW(8)@smart-100g:12.5 | dp8 mb16 zero3 full opt-"
    assert slow.time(slow.read(f"{plan}network"))[0] == fast.time(fast.read(f"{plan}network"))[0]
    assert slow.time(slow.read(f"{plan}nvme"))[0] > fast.time(fast.read(f"{plan}nvme"))[0]


def test_a_system_costs_what_its_bill_adds_up_to() -> None:
    problem = problem_of()
    for place, machines in (("network", 84_800 + 17_000 + 1_600 + 12 * 310), ("nvme", 84_800 + 16 * 310)):
        design = problem.read(f"SW(8)@smart-100g:12.5 | dp8 mb16 zero3 full opt-{place}")
        found = explain(problem, design)
        network = sum(row["cost_usd"] for row in found["bill"])
        assert network == 8 * 1_600 + 10_000
        assert sum(row["cost_usd"] for row in found["system"]) == network + machines + 8 * 8_000
        assert problem.evaluate(design).objectives[1, 0] == network + machines + 8 * 8_000
        assert all(row["source"] for row in found["system"][1:])


def test_an_explanation_says_which_stream_binds() -> None:
    design = "SW(8)@smart-100g:12.5 | dp8 mb16 zero3 full opt-"
    (streams,) = explanation(addressed(f"opt-175b-offload#{design}network").record(), "design")[
        "optimizer_streams"
    ].values()
    binding = {(one["pass"], one["stream"]) for one in streams if one["binds"]}
    assert binding == {("forward", "data"), ("forward", "server link"), ("backward", "server SSD")}
    assert "optimizer_streams" not in explanation(
        addressed(f"{design_file('gpt3-175b-1536')}#SW(8)@nvlink3:300_CL(192)@optics-200g:25").record(), "design"
    )


def test_an_optimizer_elsewhere_is_not_exported() -> None:
    problem = problem_of()
    one = problem.pinned(problem.read("SW(8)@smart-100g:12.5 | dp8 mb16 zero3 full opt-network"))
    with pytest.raises(InputError, match="may be in network"):
        groups_of(one.time.loops[0])


def test_hosts_that_a_file_names_are_part_of_what_a_problem_is() -> None:
    assert set(problem_of().identity()["hosts"]) == {"luwu-testbed", "luwu-server"}
    assert "hosts" not in problem_of(f"{KEY}={{placement: npu}}", "npus=128").identity()


def test_ways_of_plans_are_of_one_place_each() -> None:
    (table,) = problem_of().time.tables
    kind, place = table.placements[2], np.broadcast_to(table.plans.optimizer, len(table))
    assert all(len(np.unique(place[kind == one])) == 1 for one in np.unique(kind))
    assert (place == NETWORK).any()


def test_a_front_without_other_places_is_what_it_was() -> None:
    changes = [f"{KEY}={{placement: npu}}", "npus=128", "fabric.blocks=[switch, fat-tree]"]
    problem = problem_of(*changes)
    (table,) = problem.time.tables
    assert "optimizer" not in PlanGenes(table, 0).axes
    assert not any("opt" in text for text in table.texts)
    assert table.setups[0].offload is None
    genes = problem.genome.sample(np.random.default_rng(0), 200)
    silent = problem_of(*changes[1:], f"{KEY}={{}}")
    np.testing.assert_array_equal(problem.evaluate_genes(genes).objectives, silent.evaluate_genes(genes).objectives)
