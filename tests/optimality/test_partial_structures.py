"""Partial structures: their bounds and scores, worked by hand."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from evo_libra import load_problem
from evo_libra.optimality import partial_structures
from evo_libra.optimality.branch_and_bound import BoundProgress, _Queue
from evo_libra.optimality.ideal_bandwidth import empty_ideal
from evo_libra.optimality.partial_structures import Budgets, PartialStructures, further
from evo_libra.problem.problem import Problem

COST = np.array([1.0, 2.0, 4.0, 16.0])


def structures(count: int = 1, **changes: Any) -> PartialStructures:
    """Return structures whose time is at least 1 + 8 / cost, 2 and 6 - (cost - 4), from 2 USD on."""
    places = np.zeros((3, count), dtype=np.int64)
    usual = {
        "base": 1.0,
        "kappa": 8.0,
        "min_time": 2.0,
        "min_cost": 2.0,
        "at": 4.0,
        "height": 6.0,
        "slope": 1.0,
        "score": 0.0,
    }
    figures = {
        name: np.broadcast_to(np.array(value, dtype=np.float64), count) for name, value in (usual | changes).items()
    }
    names = ("depth", "left", "last", "group")
    return PartialStructures(npus=places, technology=places, **dict.fromkeys(names, np.arange(count)), **figures)


def test_a_bound_is_the_largest_of_hyperbola_least_time_and_tangent() -> None:
    # At 2 USD: 1 + 4, 2 and 6 + 2; at 4 USD: 3, 2 and 6; at 16 USD: 1.5, 2 and -6.
    np.testing.assert_array_equal(structures().bound(COST), [[np.inf, 8.0, 6.0, 2.0]])
    np.testing.assert_array_equal(structures(height=-np.inf, slope=0.0).bound(COST), [[np.inf, 5.0, 3.0, 2.0]])


def test_a_score_is_the_least_ratio_of_the_bound_to_the_best_known_time() -> None:
    # Ratios of the first: inf, 8 / 10, 6 / 5 and 2 / 1.9; the second is a second slower, the third twice as fast.
    nodes = structures(
        3, base=[1.0, 9.0, 1.0], kappa=[8.0, 16.0, 0.0], height=[6.0, 6.0, -np.inf], min_time=[2.0, 2.0, 0.95]
    )
    budgets = Budgets(COST, np.array([np.inf, 10.0, 5.0, 1.9]))
    place, score, level = nodes.scores(budgets)
    assert place.tolist() == [0, 2]
    np.testing.assert_allclose(score, [0.8, 0.1])
    assert level.tolist() == [1, 1]
    found = nodes.prune(budgets)
    np.testing.assert_allclose(found.score, [0.8, 0.1])
    assert found.depth.tolist() == [0, 2]
    # What is as fast as the best known design is not faster.
    even = structures(height=-np.inf)
    assert len(even.prune(Budgets(COST, np.array([9.0, 5.0, 3.0, 2.0])))) == 0
    assert len(even.prune(Budgets(COST, np.array([9.0, 5.0, 3.01, 2.0])))) == 1
    # Where no design is known any will do.
    assert even.prune(Budgets(COST, np.array([np.inf, np.inf, 3.0, 2.0]))).score.tolist() == [0.0]


def test_one_dimension_stands_for_those_that_are_open() -> None:
    places = np.array([[4, 8, 1], [1, 2, 1], [1, 1, 1]])
    nodes = structures(3)
    nodes = PartialStructures(
        **{**vars(nodes), "npus": places, "depth": np.array([1, 2, 0]), "left": np.array([4, 1, 16])}
    )
    open_, whole = nodes.whole()
    assert open_.tolist() == [0, 2]
    assert whole.tolist() == [[4, 8, 16], [4, 2, 1], [1, 1, 1]]
    assert nodes.npus.tolist() == places.tolist()


def test_each_way_to_go_on_is_a_structure_with_one_more_dimension() -> None:
    known = {(0, 8, -1): ([0, 1], [2, 8]), (1, 4, 1): ([2], [4])}
    ways: Any = SimpleNamespace(of=lambda *state: tuple(map(np.array, known[state])))
    nodes = structures(3)
    nodes = replace(
        nodes, npus=np.array([[2, 1, 2], [1, 1, 1], [1, 1, 1]]), technology=np.array([[1, 0, 1], [1, 0, 1], [1, 0, 1]]),
        depth=np.array([1, 0, 1]), left=np.array([4, 8, 4]), last=np.array([1, -1, 1]), group=np.array([7, 8, 9]),
    )  # fmt: skip
    found = further(ways, nodes)
    # The second one, which has no dimension yet, has two ways to go on, the others one.
    assert found.npus.tolist() == [[2, 8, 2, 2], [1, 1, 4, 4], [1, 1, 1, 1]]
    assert found.technology.tolist() == [[0, 1, 1, 1], [0, 1, 2, 2], [0, 1, 2, 2]]
    assert (found.depth.tolist(), found.left.tolist(), found.last.tolist()) == (
        [1, 1, 2, 2],
        [4, 1, 1, 1],
        [0, 1, 2, 2],
    )
    assert found.group.tolist() == [8, 8, 7, 9]


@pytest.mark.parametrize(
    ("constraint", "usd"),
    [
        ("cost >= 3 MUSD", 3e6 * (1.0 - 1e-6)),
        ("cost == 3 MUSD", 3e6 * (1.0 - 1e-6)),
        ("cost <= 3 MUSD", 0.0),
        ("time >= 1 s", 0.0),
    ],
)
def test_a_least_cost_is_asked_for_but_for_rounding(constraint: str, usd: float) -> None:
    problem = load_problem("gpt3-4k", [f"constraints=['{constraint}']"])
    assert isinstance(problem, Problem)
    assert partial_structures._required_cost(problem) == pytest.approx(usd, rel=1e-9)  # noqa: SLF001 - a formula


def test_none_of_no_structures_is_promising() -> None:
    assert len(structures(1).select(np.empty(0, dtype=np.int64)).prune(Budgets(COST, np.ones(4)))) == 0


def test_structures_wait_by_their_scores() -> None:
    queue, budgets = _Queue(), Budgets(COST, np.full(4, np.inf))
    queue.put(structures(5, score=[0.95, 0.3, 0.4999, 0.5, 0.3]), 0)
    assert len(queue) == 5
    taken = []
    while (nodes := queue.take(budgets, 0)) is not None:
        taken.append(nodes.depth.tolist())
    # Below 0.5, from 0.5 on, and from 0.95 on.
    assert taken == [[1, 2, 4], [3], [0]]


def test_structures_are_scored_again_once_better_designs_are_known() -> None:
    queue, better = _Queue(), Budgets(COST, np.array([np.inf, 10.0, 5.0, 1.9]))
    queue.put(structures(2, score=[0.1, 0.1], base=[1.0, 11.0]), 0)
    nodes = queue.take(better, 1)
    assert nodes is not None
    np.testing.assert_allclose(nodes.score, [0.8])
    assert queue.take(better, 1) is None


def test_what_is_proven_is_the_least_of_what_is_solved_and_what_waits() -> None:
    ideal = empty_ideal(COST, 3)
    solved = type(ideal)(
        **{**vars(ideal), "time": np.array([np.inf, 9.0, 5.0, 4.0]), "bound": np.array([np.inf, 9.0, 5.0, 4.0])}
    )
    waiting = structures(score=0.5)
    none = np.zeros(4)
    found = BoundProgress(solved, none, 1, 1, (waiting,), none)
    # The one that waits: 8, 6 and 2.
    assert found.bound.tolist() == [np.inf, 8.0, 5.0, 2.0]
    assert (found.waiting, found.gap) == (1, 0.5)
    # What was proven before stays.
    assert BoundProgress(solved, none, 1, 1, (waiting,), np.array([0.0, 8.5, 1.0, 3.0])).bound.tolist() == [
        np.inf,
        8.5,
        5.0,
        3.0,
    ]
    done = BoundProgress(solved, none, 1, 1, (), none)
    assert (done.bound.tolist(), done.waiting, done.gap) == ([np.inf, 9.0, 5.0, 4.0], 0, 0.0)
