"""Steps away from a design, its slack, its shadow prices, and where it stands."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from designs import design_file

from evo_libra import load_problem, search
from evo_libra.explain.candidates import candidates_of
from evo_libra.explain.design_record import beaten_by, position_on_front
from evo_libra.explain.neighbours import neighbours, shadow_price, slack
from evo_libra.explain.plan_alternatives import plan_alternatives
from evo_libra.front.front import Front
from evo_libra.problem.problem import Problem

CASES = {
    "gpt3-4k": "FC(4)@chiplet:250_FC(8)@package:125_RI(4)@node:60_SW(32)@pod:20",
    "dense-1k": "SW(8)@nvlink4:300_SW(128)@optics-400g:50",
    "mixtral-8x7b-256": "SW(8)@nvlink4:450_CL(32)@optics-400g:50 | pp8x4 ep8 dp32 mb1 zero2 order-tp-cp-dp-pp",
}


def load(name: str, *settings: str) -> Problem:
    found = load_problem(design_file(name), settings)
    assert isinstance(found, Problem)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_steps_are_designs_with_the_figures_of_evaluate(name: str) -> None:
    problem, design = load(name), CASES[name]
    found = neighbours(problem, design)
    assert len({one.design for one in found}) == len(found) > 3
    assert any(one.dimension is not None and "GB/s" in one.change for one in found)
    for one in found:
        evaluation = problem.evaluate(one.design)
        assert one.design != design
        assert bool(one.broken) == bool(evaluation.violation[0] > 0)
        values = dict(zip((o.column for o in problem.objectives), evaluation.objectives[:, 0], strict=True))
        scales = {o.column: o.scale for o in problem.objectives}
        assert one.values == {column: float(value) / scales[column] for column, value in values.items()}
        inside = "GB/s" in one.change or one.dimension is None
        assert inside or problem.sections.recognise(problem.read(one.design))[1].all()


def test_steps_of_whole_ports_are_the_next_ones() -> None:
    problem = load("dense-1k")
    changes = [one.change for one in neighbours(problem, CASES["dense-1k"])]
    assert "dim 0: 325 GB/s instead of 300" in changes
    assert "dim 0: 275 GB/s instead of 300" in changes
    assert "dim 1: 100 GB/s instead of 50" in changes


def test_percent_of_steps_are_of_the_design() -> None:
    problem, design = load("gpt3-4k"), CASES["gpt3-4k"]
    time, cost = problem.evaluate(design).objectives[:, 0]
    for one in neighbours(problem, design):
        assert one.values["time_ms"] == pytest.approx(time * 1e3 * (1 + one.percent["time_ms_percent"] / 100), rel=1e-9)
        assert one.values["cost_usd"] == pytest.approx(cost * (1 + one.percent["cost_usd_percent"] / 100), rel=1e-9)


@pytest.mark.parametrize("name", CASES)
def test_slack_and_shadow_prices_are_changes_of_the_time(name: str) -> None:
    problem = load(name)
    one = problem.read(CASES[name])
    time = problem.time(one)[0]

    def time_with(d: int, factor: float) -> float:
        bandwidth = one.bandwidth.copy()
        bandwidth[d] *= factor
        return float(problem.time(replace(one, bandwidth=bandwidth))[0])

    lost, saved = slack(problem, one), shadow_price(problem, one)
    for d in np.flatnonzero(one.npus[:, 0] > 1).tolist():
        assert time_with(d, 1 - lost[d]) <= time * (1 + 1e-9)
        assert time_with(d, 1 - lost[d] - 0.1 * (1 - lost[d])) > time or lost[d] > 0.99
        more = (time - time_with(d, 1.001)) / (0.001 * one.bandwidth[d, 0])
        assert saved[d] == pytest.approx(more, abs=1e-9 * time / one.bandwidth[d, 0])
        if lost[d] > 0.01:
            assert saved[d] == pytest.approx(0.0, abs=1e-9 * time / one.bandwidth[d, 0])


@pytest.fixture(scope="module")
def front() -> Front:
    return search(load("gpt3-4k"), evaluations=1000)


def test_a_design_of_a_front_stands_between_its_neighbours(front: Front) -> None:
    row = len(front) // 2
    faster, cheaper = position_on_front(candidates_of(front), row)
    assert faster.startswith(f"#{row - 1}, the next faster design, is")
    assert "faster" in faster
    assert faster.endswith("more expensive")
    assert cheaper.startswith(f"#{row + 1}, the next cheaper design, is")
    assert cheaper.endswith("cheaper")
    assert position_on_front(candidates_of(front), 0)[0] == "no design on the front is faster"


def test_what_beats_a_design_is_counted_and_named(front: Front) -> None:
    middle = front.frame.row(len(front) // 2, named=True)
    worse = {"time_ms": middle["time_ms"] * 1.5, "cost_usd": middle["cost_usd"] * 1.5}
    (sentence,) = beaten_by(candidates_of(front), worse)
    count = int(((front.frame["time_ms"] <= worse["time_ms"]) & (front.frame["cost_usd"] <= worse["cost_usd"])).sum())
    assert sentence.startswith(f"{count:,} of {len(front):,} designs on the front are better; #")
    better = {name: middle[name] * 0.5 for name in worse}
    assert beaten_by(candidates_of(front), better) == ["nothing on the front is as good in every objective"]


@pytest.mark.parametrize(("name", "design", "changes", "expected"), [
    # Ports of NVLink have 25 GB/s, those of copper and optics 50 GB/s. Copper stays within racks: 100 GB/s at most.
    ("dense-1k", "SW(8)@nvlink4:300_SW(128)@optics-400g:50", (), {
        "dim 0: 325 GB/s instead of 300": "SW(8)@nvlink4:325_SW(128)@optics-400g:50",
        "dim 0: 275 GB/s instead of 300": "SW(8)@nvlink4:275_SW(128)@optics-400g:50",
        "dim 1: 100 GB/s instead of 50": "SW(8)@nvlink4:300_SW(128)@optics-400g:100",
        "dim 1: fat-tree instead of switch": "SW(8)@nvlink4:300_CL(128)@optics-400g:50",
    }),
    # 450 GB/s are all ports of NVLink, and 50 GB/s the only one of optics; on a ring copper has two or none.
    ("dense-1k", "SW(8)@nvlink4:450_RI(8)@copper-400g:100_CL(16)@optics-400g:50", (), {
        "dim 0: 425 GB/s instead of 450": "SW(8)@nvlink4:425_RI(8)@copper-400g:100_CL(16)@optics-400g:50",
        "dim 1: switch instead of ring": "SW(8)@nvlink4:450_SW(8)@copper-400g:100_CL(16)@optics-400g:50",
        "dim 2: 100 GB/s instead of 50": "SW(8)@nvlink4:450_RI(8)@copper-400g:100_CL(16)@optics-400g:100",
        "dim 2: switch instead of fat-tree": "SW(8)@nvlink4:450_RI(8)@copper-400g:100_SW(16)@optics-400g:50",
    }),
    # The second port of optics costs more than the limit: it is shown, and says so. Other networks beyond it are not.
    ("dense-1k", "SW(8)@nvlink4:300_SW(128)@optics-400g:50", ("constraints=[cost <= 13 MUSD]",), {
        "dim 0: 325 GB/s instead of 300": "SW(8)@nvlink4:325_SW(128)@optics-400g:50",
        "dim 0: 275 GB/s instead of 300": "SW(8)@nvlink4:275_SW(128)@optics-400g:50",
        "dim 1: 100 GB/s instead of 50": "SW(8)@nvlink4:300_SW(128)@optics-400g:100",
        "dim 1: fat-tree instead of switch": "SW(8)@nvlink4:300_CL(128)@optics-400g:50",
    }),
    # A tenth more and a tenth less, where bandwidths are of any size; NPUs in a node have 160 GB/s at most.
    ("gpt3-4k", "FC(4)@chiplet:250_SW(1024)@pod:20", (), {
        "dim 0: 275 GB/s instead of 250": "FC(4)@chiplet:275_SW(1024)@pod:20",
        "dim 0: 225 GB/s instead of 250": "FC(4)@chiplet:225_SW(1024)@pod:20",
        "dim 0: ring instead of fully-connected": "RI(4)@chiplet:250_SW(1024)@pod:20",
        "dim 0: package instead of chiplet": "FC(4)@package:250_SW(1024)@pod:20",
        "dim 0: node instead of chiplet": "FC(4)@node:160_SW(1024)@pod:20",
        "dim 1: 22 GB/s instead of 20": "FC(4)@chiplet:250_SW(1024)@pod:22",
        "dim 1: 18 GB/s instead of 20": "FC(4)@chiplet:250_SW(1024)@pod:18",
    }),
])  # fmt: skip
def test_the_steps_of_a_design(name: str, design: str, changes: tuple[str, ...], expected: dict[str, str]) -> None:
    problem = load_problem(design_file(name), changes)
    assert isinstance(problem, Problem)
    found = neighbours(problem, design)
    # More of a bandwidth comes first.
    assert [(one.change, one.design) for one in found] == list(expected.items())
    assert [one.dimension for one in found] == [int(one.change[4]) for one in found]
    broken = [one.change for one in found if one.broken]
    assert broken == (["dim 1: 100 GB/s instead of 50"] if changes else [])
    assert all(len(one.broken) == 1 for one in found if one.broken)


@pytest.mark.slow
def test_steps_of_plans_fit_memory_and_network() -> None:
    problem = load("mixtral-8x7b-256", "memory={reserve: 0.15}")
    found = [one for one in neighbours(problem, CASES["mixtral-8x7b-256"]) if one.dimension is None]
    network, plan = CASES["mixtral-8x7b-256"].split(" | ")
    others = plan_alternatives(problem, problem.read(CASES["mixtral-8x7b-256"]), 0).changes
    (table,) = problem.time.tables
    fitting = {f"{table.name}: {one.change}": f"{network} | {one.plan}" for one in others
               if one.fits_memory and one.fits_network}  # fmt: skip
    assert {one.change: one.design for one in found} == fitting
    assert 0 < len(fitting) < len(others)
    assert plan not in {one.design.split(" | ")[1] for one in found}
