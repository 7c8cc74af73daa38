"""Two designs side by side: the sums of what they differ in, and where one begins to win."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from designs import design_file
from hypothesis import given
from hypothesis import strategies as st

from evo_libra import load_problem, search
from evo_libra.arrays import BoolArray
from evo_libra.explain.break_even import MAX_FACTOR, bandwidth_crossings, nearest_root, price_crossings
from evo_libra.explain.difference import (
    WordPair,
    busy_times,
    money_rows,
    network_rows,
    plan_words,
    time_parts,
    time_rows,
)
from evo_libra.explain.explain import breakdown_of
from evo_libra.explain.parts_list import parts_list
from evo_libra.problem.problem import Problem

PROBLEMS = {
    "gpt3-4k": (),
    "moe-4k": ("npus=512",),
    "mixtral-8x7b-256": (),
    "language-models-4k": (),
    "gpt3-4k under astra": ("time={model: astra, latency_ns: 500}",),
}


def load(name: str) -> Problem:
    found = load_problem(design_file(name.split(maxsplit=1)[0]), PROBLEMS[name])
    assert isinstance(found, Problem)
    return found


def two_of(problem: Problem) -> list[str]:
    frame = search(problem, evaluations=300, population=50).frame
    return [str(frame["design"][0]), str(frame["design"][-1])]


@pytest.mark.slow
@pytest.mark.parametrize("name", PROBLEMS)
def test_rows_add_up_to_time_and_cost(name: str) -> None:
    problem = load(name)
    designs = two_of(problem)
    breakdowns = [breakdown_of(problem, problem.read(design)) for design in designs]
    times = [float(problem.time(problem.read(design))[0]) * 1e3 for design in designs]
    for breakdown, time in zip(breakdowns, times, strict=True):
        assert sum(time_parts(breakdown).values()) == pytest.approx(time, rel=1e-9)
        assert sum(busy_times(breakdown).values()) > 0
    rows = time_rows(breakdowns[0], breakdowns[1])
    assert sum(row.change_ms for row in rows) == pytest.approx(times[1] - times[0], rel=1e-6, abs=1e-9)
    changes = [abs(row.change_ms) for row in rows]
    assert changes == sorted(changes, reverse=True)
    parts = [parts_list(problem, problem.read(design)) for design in designs]
    costs = [float(problem.measure(problem.read(design), timed=False).cost[0]) for design in designs]
    money = money_rows(parts[0], parts[1])
    for key, cost in zip(("first_usd", "second_usd"), costs, strict=True):
        assert sum(getattr(row, key) for row in money) == pytest.approx(cost, rel=1e-9)


def test_rows_of_networks_have_both_and_say_what_differs() -> None:
    rows = network_rows("RI(4)@a:1_SW(8)@b:2", "RI(4)@a:1_SW(2)@b:2_SW(4)@c:3")
    assert [(row.first, row.second, row.differs) for row in rows] == [
        ("RI(4)@a:1", "RI(4)@a:1", False), ("SW(8)@b:2", "SW(2)@b:2", True), (None, "SW(4)@c:3", True),
    ]  # fmt: skip


def test_words_of_plans_are_of_each_workload_and_of_options() -> None:
    rows = plan_words("SW(8)@a:1 chunks=4 | tp8 mb1 | tp2", "SW(8)@a:1 chunks=8 | tp8 mb1 | tp4")
    assert rows == (
        WordPair(of="options", first="chunks=4", second="chunks=8"),
        WordPair(of="plan 1", first="tp2", second="tp4"),
    )


_COSTS = st.dictionaries(st.sampled_from("abcd"), st.floats(1.0, 100.0), min_size=1)


@given(_COSTS, _COSTS)
def test_at_the_crossing_of_a_price_both_cost_the_same(first: dict[str, float], second: dict[str, float]) -> None:
    def costs(part: str, factor: float) -> list[float]:
        return [sum(usd * (factor if name == part else 1.0) for name, usd in one.items()) for one in (first, second)]

    for one in price_crossings(first, second):
        equal = costs(one.of, one.factor)
        assert equal[0] == pytest.approx(equal[1], rel=1e-6, abs=1e-6 * max(equal))
        beyond = costs(one.of, one.factor * 2.0 + 1.0)
        if abs(beyond[0] - beyond[1]) > 1e-6 * max(beyond):
            assert int(np.argmin(beyond)) == one.above


@given(st.floats(0.3, 3.5), st.booleans())
def test_the_nearest_root_is_found(root: float, up: bool) -> None:  # noqa: FBT001 - drawn
    found = nearest_root(lambda factors: (factors - root) * (1.0 if up else -1.0))
    assert found is not None
    assert found[0] == pytest.approx(root, rel=1e-6)
    assert found[1] == (0 if up else 1)
    assert nearest_root(np.ones_like) is None


PAIRS = {
    "gpt3-4k": [
        f"{part}_RI(8)@node:6_SW(16)@pod:1"
        for part in ("RI(4)@chiplet:38_FC(8)@package:9", "RI(4)@chiplet:30_FC(8)@package:12")
    ],
    "dense-1k": [
        "SW(8)@nvlink4:250_RI(128)@optics-400g:100",
        "SW(8)@nvlink4:250_RI(2)@copper-400g:50_SW(64)@optics-400g:50",
    ],
}


@pytest.mark.parametrize("name", PAIRS)
def test_at_the_crossing_of_a_bandwidth_both_are_as_fast(name: str) -> None:
    loaded = load_problem(design_file(name))
    assert isinstance(loaded, Problem)
    problem, designs = loaded, loaded.read(PAIRS[name])
    found = bandwidth_crossings(problem, designs)
    assert len({one.of for one in found}) == len(found) > 0
    for one in found:
        assert 1 / MAX_FACTOR < one.factor < MAX_FACTOR
        mine = np.array(problem.catalog.names)[designs.technology] == one.of

        def times(factor: float, mine: BoolArray = mine) -> list[float]:
            scaled = np.where(mine, designs.bandwidth * factor, designs.bandwidth)
            return problem.time(replace(designs, bandwidth=scaled)).tolist()

        equal = times(one.factor)
        assert equal[0] == pytest.approx(equal[1], rel=1e-5)
        assert int(np.argmin(times(one.factor * 1.02))) == one.above
        assert int(np.argmin(times(one.factor / 1.02))) == one.below
