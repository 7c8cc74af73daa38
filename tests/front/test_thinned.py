"""A front with one design of each box: what stays, what may go, and that every way to a front has the same."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evo_libra import load_problem, search
from evo_libra.front.archive import SEEN, Archive, front
from evo_libra.front.indicators import hypervolume
from evo_libra.searching.generations import EPSILON, generations, settle
from evo_libra.searching.registry import load_engine


@given(
    seed=st.integers(0, 2**32 - 1), objectives=st.integers(1, 4), epsilon=st.sampled_from([1e-6, 1e-3, 0.1]),
    near=st.booleans(),
)  # fmt: skip
def test_each_design_that_goes_is_no_better_by_more_than_epsilon(
    *, seed: int, objectives: int, epsilon: float, near: bool
) -> None:
    random = np.random.default_rng(seed)
    every = np.exp(random.normal(size=(objectives, 200)) * (3 * epsilon if near else 1.0))
    every = every[:, front(every)]
    whole = Archive(np.arange(every.shape[1], dtype=float)[None], every)
    part = whole.thinned(epsilon)
    rows = part.genes[0].astype(int)
    assert (np.diff(rows) > 0).all()
    np.testing.assert_array_equal(part.objectives, every[:, rows])
    gone = np.setdiff1d(np.arange(len(whole)), rows)
    factor = (part.objectives[:, :, None] / every[:, None, gone]).max(axis=0).min(axis=0, initial=np.inf)
    assert (factor <= (1.0 + epsilon) * (1.0 + 1e-12)).all()
    least = every.min(axis=1)
    assert (part.objectives.min(axis=1) <= least * (1.0 + epsilon) * (1.0 + 1e-12)).all()
    if epsilon < SEEN:
        np.testing.assert_array_equal(part.objectives.min(axis=1), least)


def test_the_fastest_design_goes_where_a_cheaper_one_is_as_fast_but_for_a_little() -> None:
    """1,902.5 ms for 1,064.9 MUSD, beside 1,907 ms for 1,036.3: 0.24 % of the time for 2.8 % of the money."""
    whole = Archive(np.arange(3.0)[None], np.array([[1902.5, 1907.0, 1950.0], [1064.9, 1036.3, 980.0]]))
    assert whole.thinned(0.01).objectives[0].tolist() == [1907.0, 1950.0]


def test_all_designs_stay_without_an_epsilon() -> None:
    whole = Archive(np.zeros((1, 3)), np.array([[1.0, 1.0 + 1e-9, 2.0], [3.0, 3.0 - 1e-9, 1.0]]))
    assert whole.thinned(0.0) is whole
    assert len(whole.thinned(1e-4)) == 2
    assert len(Archive.empty(2, 2).thinned(1e-4)) == 0


@pytest.mark.parametrize(
    ("problem", "changes", "engine", "expected"),
    [
        ("gpt3-4k", [], "nsga2", EPSILON),
        ("gpt3-4k", ["search.epsilon=0"], "nsga2", 0.0),
        ("gpt3-4k", ["bandwidth=optimal"], "exhaustive", 0.0),
        ("moe-4k", [], "nsga2", 0.0),
        ("moe-4k", ["search.epsilon=0.01"], "nsga2", 0.01),
    ],
)
def test_fronts_of_numbers_have_one_design_of_each_box(
    problem: str, changes: list[str], engine: str, expected: float
) -> None:
    assert settle(load_problem(problem, changes), engine=engine).epsilon == expected
    assert settle(load_problem(problem, changes), engine=engine, epsilon=0.05).epsilon == 0.05


@pytest.mark.slow
def test_the_front_loses_less_than_two_thousandths_of_a_percent() -> None:
    problem = load_problem("gpt3-4k")
    engine = load_engine("nsga2", problem)
    *_, last = generations(problem, engine, population=200, seed=1, evaluations=20_000)
    kept = last.archive.thinned(EPSILON)
    low, high = last.archive.objectives.min(axis=1), last.archive.objectives.max(axis=1)
    assert len(kept) < len(last.archive)
    assert hypervolume(kept.objectives, low, high) > (1 - 2e-5) * hypervolume(last.archive.objectives, low, high)
    found = search(problem, engine="nsga2", evaluations=20_000, population=200, seed=1, memetic=0.0)
    assert len(found) == len(kept)


def test_of_each_box_the_least_product_stays_and_the_ends_do() -> None:
    # Boxes are factors of 2 wide, to the power that makes them 0.4 %. (1, 15.5) and (1.5, 9) share one, with products
    # of 15.5 and 13.5; (2.1, 7.5) and (2.2, 7.1) the next, with 15.75 and 15.62; (2.5, 3.5) and (3.5, 2.5) have 8.75
    # both, and the first stays; (9, 1) is alone. (1, 15.5) stays as it has the least first objective.
    power = np.log(1.004) / np.log(2.0)
    every = np.array([(1.0, 15.5), (1.5, 9.0), (2.1, 7.5), (2.2, 7.1), (2.5, 3.5), (3.5, 2.5), (9.0, 1.0)]).T ** power
    assert Archive(np.arange(7.0)[None], every).thinned(0.004).genes[0].tolist() == [0.0, 1.0, 3.0, 4.0, 6.0]
    # With three objectives, of which the third is the same everywhere, the same ones stay.
    three = Archive(np.arange(7.0)[None], np.vstack([every, np.full(7, 3.0)]))
    assert three.thinned(0.004).genes[0].tolist() == [0.0, 1.0, 3.0, 4.0, 6.0]
    # Of boxes that are 0.01 % wide none has two.
    assert len(Archive(np.arange(7.0)[None], every).thinned(1e-4)) == 7


def test_of_what_people_read_no_row_is_as_good_as_another() -> None:
    # Within a factor of 2: (3.5, 2.5) has the least product but for (9, 1), 8.75, and (1.5, 9) one of 13.5. (2.5, 3.5)
    # is less than half of (3.5, 2.5) in nothing, nor are (2.1, 7.5) and (2.2, 7.1), and (1, 15.5) of (1.5, 9).
    every = np.array([(1.0, 15.5), (1.5, 9.0), (2.1, 7.5), (2.2, 7.1), (2.5, 3.5), (3.5, 2.5), (9.0, 1.0)]).T
    assert Archive(np.arange(7.0)[None], every).thinned(1.0).genes[0].tolist() == [1.0, 5.0, 6.0]
    # A row that is 0.1 % cheaper for 3 % more time is none.
    rows = np.array([(2.5, 500.0), (3.08, 410.6), (3.16, 410.3), (6.0, 380.0)]).T
    assert Archive(np.arange(4.0)[None], rows).thinned(0.01).genes[0].tolist() == [0.0, 1.0, 3.0]
