"""RoCE: the closed form beside the simulation, and the abstract's conclusion."""

from __future__ import annotations

import pytest

from evo_libra.network.transport import TRANSPORTS
from evo_libra.validation.roce.rows import TABLE, simulated, steps
from evo_libra.validation.roce.study import COLLECTIVES, factors


def test_little_impact_on_a_training_step() -> None:
    """At most 5 % where a step computes for half of its time or more; all of the factor where it only sends."""
    assert all(1.0 <= ratio <= 1.05 for ratio in steps().values())
    sending = steps(f"workloads=[{TABLE}]", "time=libra")
    assert 1.05 < sending["hpcc"] <= 1 / TRANSPORTS["hpcc"].factor


def test_the_simulation_stands_beside_the_closed_form_where_it_disagrees() -> None:
    found = simulated()
    for each in found.values():
        assert list(each) == list(COLLECTIVES)
        assert all(list(one) == list(TRANSPORTS) for one in each.values())
    assert all(0.97 <= factor <= 1.0 for factor in found["128"]["ring"].values())
    below = {(size, collective, name) for size, each in found.items() for collective, one in each.items()
             for name, factor in one.items() if factor < 0.9}  # fmt: skip
    assert below == {
        ("16", "direct", "hpcc"), ("16", "direct", "hpcc-pint"), ("128", "direct", "hpcc"),
        ("128", "halving-doubling", "dcqcn"), ("128", "halving-doubling", "timely"),
        ("128", "halving-doubling", "hpcc"),
    }  # fmt: skip


@pytest.mark.slow
def test_stored_figures_are_those_of_the_simulation() -> None:
    for collective, each in factors(16e6).items():
        assert each == pytest.approx(simulated()["16"][collective], rel=0.005)
