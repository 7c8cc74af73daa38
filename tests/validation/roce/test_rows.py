"""RoCE: the closed form next to the simulation, and the abstract's conclusion on training steps."""

from __future__ import annotations

import pytest

from evo_libra.network.transport import TRANSPORTS
from evo_libra.validation.roce.rows import (
    algorithms,
    closed_steps,
    compute_seconds,
    fluid_steps,
    simulated,
    study,
)
from evo_libra.validation.roce.steps import ALGORITHMS, communication_seconds, factors
from evo_libra.validation.source import published

WORKLOADS = ["ResNet-50", "DLRM", "Turing-NLG"]


def test_a_step_by_the_closed_form() -> None:
    # ResNet-50 computes (380,038 + 377,463 + 337,813) ns x 0.2819 and all-reduces 51 MB.
    assert compute_seconds()["ResNet-50"] == pytest.approx(1_095_314e-9 * 0.2819, rel=1e-9)
    found = closed_steps()
    assert list(found) == WORKLOADS
    for row in found.values():
        assert row["pfc"] == row["dcqcn"] == row["dctcp"] == row["timely"] == 1.0
        assert 1.0 < row["hpcc-pint"] < row["hpcc"] < 1 / TRANSPORTS["hpcc"].factor


def test_little_impact_on_steps_by_the_fluid() -> None:
    """At most 11 %, but for DCQCN where all of a leaf send long messages over half as many uplinks."""
    assert algorithms() == (*ALGORITHMS, "halving-doubling, ECMP")
    steps = [(kind, workload, row) for kind in ALGORITHMS for workload, row in fluid_steps(kind).items()]
    slower = {(kind, workload, name) for kind, workload, row in steps for name, ratio in row.items() if ratio > 1.11}
    assert slower == {("ring", "Turing-NLG", "dcqcn"), ("halving-doubling", "Turing-NLG", "dcqcn")}
    for workload in ("ResNet-50", "DLRM"):
        assert max(fluid_steps("ring")[workload].values()) < 1.03


def test_routes_that_collide_cost_more_than_schemes() -> None:
    sent = published("roce_fluid.json")["communication_ms"]
    for workload in WORKLOADS:
        even, hashed = (sent[name][workload]["pfc"] for name in ("halving-doubling", "halving-doubling, ECMP"))
        assert 1.2 < hashed / even < 1.4


def test_steps_of_the_fluid_have_the_compute_of_the_problem() -> None:
    sent = published("roce_fluid.json")["communication_ms"]["direct"]["DLRM"]
    compute = compute_seconds()["DLRM"] * 1e3
    expected = (sent["hpcc"] + compute) / (sent["pfc"] + compute)
    assert fluid_steps("direct")["DLRM"]["hpcc"] == pytest.approx(expected, rel=1e-12)


def test_the_closed_form_has_the_time_of_the_fluid_under_pfc() -> None:
    """Halving-doubling is what fat trees run unless a file says otherwise."""
    problem, sent = study(), published("roce_fluid.json")["communication_ms"]["halving-doubling"]
    total = sum(row["pfc"] * 1e-3 for row in sent.values()) + sum(compute_seconds().values())
    time = float(problem.evaluate("CL2(128)@roce-200g.pfc:25").objectives[0, 0])
    assert time == pytest.approx(total, rel=0.05)


def test_the_simulation_stands_beside_the_closed_form_where_it_disagrees() -> None:
    found = simulated()
    for each in found.values():
        assert list(each) == list(ALGORITHMS)
        assert all(list(one) == list(TRANSPORTS) for one in each.values())
    assert all(0.97 <= factor <= 1.0 for factor in found["128"]["ring"].values())
    below = {(size, collective, name) for size, each in found.items() for collective, one in each.items()
             for name, factor in one.items() if factor < 0.9}  # fmt: skip
    assert below == {
        ("16", "direct", "hpcc"), ("16", "direct", "hpcc-pint"), ("128", "direct", "hpcc"),
        ("128", "halving-doubling", "hpcc"),
    }  # fmt: skip


@pytest.mark.slow
def test_stored_communication_is_that_of_the_simulation() -> None:
    (workload,) = (loop.workload for loop in study().time.loops if loop.workload.name == "ResNet-50")
    stored = published("roce_fluid.json")["communication_ms"]["ring"]["ResNet-50"]
    for scheme in ("dcqcn", "hpcc"):
        assert communication_seconds(workload, scheme, "ring") * 1e3 == pytest.approx(stored[scheme], rel=1e-3)


@pytest.mark.slow
def test_stored_figures_are_those_of_the_simulation() -> None:
    for collective, each in factors(16e6).items():
        assert each == pytest.approx(simulated()["16"][collective], rel=0.005)
