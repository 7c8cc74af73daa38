from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command import call_json

from evo_libra import load_problem, search
from evo_libra.errors import InputError
from evo_libra.network.fabrics.named import parse_named
from evo_libra.network.fabrics.paths import path_lengths
from evo_libra.problem.switch_fabrics.problem import FabricProblem
from evo_libra.problem.switch_fabrics.seeds import named_fabrics


def problem_of(*assignments: str, name: str = "fabric-256") -> FabricProblem:
    problem = load_problem(name, assignments)
    assert isinstance(problem, FabricProblem)
    return problem


PROBLEM = problem_of()


def figures(problem: FabricProblem, designs: Sequence[str]) -> tuple[list[float], list[float], list[float]]:
    found = problem.evaluate(designs)
    return found.objectives[0].tolist(), found.objectives[1].tolist(), found.violation.tolist()


def test_one_port_is_half_of_two() -> None:
    """Striped, ZCube(16, 2) is as fast as HPN, whose two ports go to like switches; on shortest paths it is slower.

    Messages of eight stages and of four replicas stay on one of its two ports then, at 25 instead of 50 GB/s.
    """
    designs = ["zcube(16, 2)", "hpn(256, 32)"]
    zcube, hpn = figures(PROBLEM, designs)[0]
    assert zcube == pytest.approx(hpn, rel=1e-12)
    one_port, again = figures(problem_of("routing.paths=shortest"), designs)[0]
    assert again == pytest.approx(hpn, rel=1e-12)
    assert one_port > hpn


def test_compute_is_below_every_time() -> None:
    """Time falls with the rates of links, to that of infinitely fast ones at most."""
    designs = [f"256, 16 | 0-1 H1/1 E1 {rate}G" for rate in (200, 400)]
    slow, fast = figures(PROBLEM, designs)[0]
    free = PROBLEM.times[0](np.zeros((len(PROBLEM.times[0].traffic), 1)))[0]
    assert slow > fast > free > 0.0


@pytest.mark.parametrize(("design", "violation"), [
    ("zcube(16, 2)", 0.0),
    ("bcube(16, 2)", 1.0),  # NPUs of third servers would have to forward
    ("256, 8 | 0-1 H8/8 E1 200G", 1.0),  # eight islands
    ("256, 16 | 0-1 H1/1 E16 200G", 8.0 + 1.0 + 1.0),  # 256 ports of 200 Gb/s; 16 NIC ports; 3.2 Tb/s out of an NPU
])  # fmt: skip
def test_violations(design: str, violation: float) -> None:
    """Of the last one, 51.2 Tb/s are 7 times more than 6.4 Tb/s too much, of 16 ports 8, of 3.2 Tb/s 1.6."""
    expected = 7.0 + 1.0 + 1.0 if violation > 1.0 else violation
    assert figures(PROBLEM, [design])[2] == pytest.approx([expected])


def test_objectives_are_as_asked() -> None:
    problem = problem_of("objectives=[hops, switches, cost]")
    assert problem.evaluate(["zcube(16, 2)"]).objectives[:2, 0].tolist() == pytest.approx(
        [path_lengths(parse_named("zcube(16, 2)"), "server").mean, 32.0]
    )


def test_references_are_the_named_fabrics_within_the_limits() -> None:
    names = [one.name for one in PROBLEM.references()]
    assert names == ["hpn(256, 32)", "rail-only(256, 8)", "rail-only(256, 16)", "roft(256, 16)", "zcube(16, 2)"]
    assert set(names) < set(named_fabrics(256, 8))


def test_equal_fabrics_are_one_design() -> None:
    genes = PROBLEM.genes_of(["zcube(16, 2)"])
    changed = genes.copy()
    changed[PROBLEM.genome.names.index("rate03")] = 3.0  # layer 3 is joined to nothing
    assert np.array_equal(PROBLEM.design_rows(genes), PROBLEM.design_rows(changed))


def test_designs_describe_themselves() -> None:
    rows = PROBLEM.describe(PROBLEM.genes_of(["zcube(16, 2)", "256, 16 | 0-1 H1/1 E2 200G"]))
    assert rows["fabric"] == ["zcube(16, 2)", "256, 16 | 0-1 H1/1 E2 200G"]
    assert rows["switch_count"] == [32, 16]
    assert (rows["nic_ports"], rows["diameter"], rows["copper_cables"]) == ([2, 2], [3.0, 3.0], [256, 0])
    assert rows["data_8_4_GBps"] == pytest.approx([50.0, 50.0])


@pytest.mark.parametrize(("design", "said"), [
    ("zcube(32, 2)", "has 1,024 NPUs in servers of 8; 'fabric-256' has 256"),
    ("256, 16 | 0-1 H1/1 E1 100G", "1 parallel links of 100 Gb/s; allowed: 1, 2, 4, 8 or 16 links of 200"),
    ("dragonfly(2)", "links within a layer|NPUs in servers of"),
])  # fmt: skip
def test_designs_of_no_genes_are_named(design: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        PROBLEM.evaluate([design])


@pytest.mark.slow
def test_a_small_search_dominates_zcube() -> None:
    """At 256 NPUs a single layer of switches is as fast as ZCube and cheaper."""
    front = search(PROBLEM, evaluations=1500, population=100, seed=0)
    zcube = next(one for one in PROBLEM.references() if one.name == "zcube(16, 2)")
    rows = front.rows()
    time, cost = zcube.objectives
    assert any(row["time_ms"] <= 1e3 * time * (1 + 1e-12) and row["cost_usd"] < 0.8 * cost for row in rows)
    assert len(rows) > 5


@pytest.mark.slow
def test_the_command_keeps_a_front_that_can_be_read(tmp_path: Path) -> None:
    words = ("search", "fabric-256", "--evaluations", "600", "--population", "60", "--out", tmp_path)
    found: Any = call_json(*words)
    fabrics = [row["fabric"] for row in found["front"]]
    again = PROBLEM.evaluate(fabrics)
    assert again.objectives[1] == pytest.approx([row["cost_usd"] for row in found["front"]])
    assert {one["name"] for one in found["references"]} == {one.name for one in PROBLEM.references()}


@pytest.mark.slow
def test_open_plans_are_genes() -> None:
    """A fabric's step is as long as under each plan alone; the text of a design ends with its plan."""
    problem = problem_of("workloads[0].parallelism={tp: 8, pp: [2, 4, 8], vp: any}")
    plans = [one.plan for one in problem.times]
    assert len(plans) > 2
    designs = [f"zcube(16, 2); {plan}" for plan in plans]
    times = problem.evaluate(designs).objectives[0]
    alone = [one for one in plans if one.startswith("tp8 pp8x3 ")]
    assert times[plans.index(alone[0])] == pytest.approx(PROBLEM.evaluate(["zcube(16, 2)"]).objectives[0, 0])
    assert problem.describe(problem.genes_of(designs))["fabric"] == designs
    assert {one.objectives[0] for one in problem.references() if one.name == "zcube(16, 2)"} == {times.min()}
    with pytest.raises(InputError, match="unknown plan 'tp8 pp8x5'"):
        problem.evaluate(["zcube(16, 2); tp8 pp8x5"])


@pytest.mark.slow
def test_a_search_is_nowhere_worse_than_all_fabrics_of_one_layer() -> None:
    """At 64 NPUs there are 658 of them at 200 and 400 Gb/s, each evaluated here."""
    problem = problem_of("npus=64", "workloads[0].parallelism={tp: 8, pp: 4, vp: 3}")
    designs = sorted({
        f"64, {2**layer} | 0-1 H{2**lower}/{2**upper} E{2**links} {rate}G"
        for layer in range(1, 7)
        for lower in range(7)
        for upper in range(min(lower, layer) + 1)
        for links in range(max(layer - upper - (6 - lower), 0), layer - upper + 1)
        for rate in (200, 400)
    })  # fmt: skip
    found = problem.evaluate(designs)
    every = found.objectives[:, found.violation <= 0.0]
    front = search(problem, evaluations=2000, population=100, seed=0)
    mine = front.frame.select(front.objectives).to_numpy() / [1e3, 1.0]
    assert len(designs) == 658
    for time, cost in every.T:
        assert ((mine[:, 0] <= time * (1 + 1e-9)) & (mine[:, 1] <= cost * (1 + 1e-9))).any()
