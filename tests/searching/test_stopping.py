"""What ends a search, starts it from known designs, and starts it anew."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest

from evo_libra import certify, load_problem
from evo_libra.arrays import FloatArray
from evo_libra.errors import InputError
from evo_libra.front.archive import Archive
from evo_libra.front.front import front_of
from evo_libra.problem.file.registry import load_problem as load_search_problem
from evo_libra.problem.problem import Problem
from evo_libra.problem.protocol import Evaluation
from evo_libra.searching.engine import EVALUATIONS, GAP, SECONDS, STAGNATION
from evo_libra.searching.generations import generations
from evo_libra.searching.loop import (
    Gap,
    Mark,
    SearchOptions,
    Snapshot,
    Stagnation,
    Stop,
    certified_gap,
    passes_multiple,
    update_mark,
)
from evo_libra.searching.registry import load_engine


@pytest.fixture(scope="module")
def problem() -> Problem:
    return load_problem("gpt3-4k")


def run(problem: Problem, options: SearchOptions, evaluations: int, resume: Snapshot | None = None) -> list[Snapshot]:
    engine = load_engine("nsga2", problem)
    numbers = {"population": 60, "seed": 4, "evaluations": evaluations}
    return list(generations(problem, engine, **numbers, resume=resume, options=options))


def test_evaluations_end_a_search_at_the_latest(problem: Problem) -> None:
    ends = [snapshot.ended for snapshot in run(problem, SearchOptions(), 250)]
    assert ends == ["", "", "", "", EVALUATIONS]


def test_seconds_end_a_search_and_those_before_an_interruption_count(problem: Problem) -> None:
    options = SearchOptions(stop=Stop(seconds=0.3))
    *_, last = run(problem, options, 10**9)
    assert last.ended == SECONDS
    assert 0.3 <= last.seconds < 3
    again = run(problem, options, 10**9, resume=last)
    assert [snapshot.ended for snapshot in again] == [SECONDS]


@pytest.mark.slow
def test_stagnation_ends_a_search_the_same_way_after_an_interruption(problem: Problem) -> None:
    options = SearchOptions(stop=Stop(stagnation=Stagnation(3000, 0.01)))
    whole = run(problem, options, 1_000_000)
    assert whole[-1].ended == STAGNATION
    assert 3000 < whole[-1].evaluations < 200_000
    resumed = run(problem, options, 1_000_000, resume=whole[len(whole) // 2])[-1]
    assert (resumed.ended, resumed.evaluations) == (STAGNATION, whole[-1].evaluations)
    np.testing.assert_array_equal(whole[-1].archive.genes, resumed.archive.genes)


def test_stagnation_means_that_the_hypervolume_has_hardly_grown() -> None:
    rule = Stagnation(100, 0.05)
    genes = np.zeros((1, 2))
    first, near, far = (Archive(genes, np.array([[1.0, 10.0], [10.0, x]])) for x in (1.0, 0.99, 0.5))
    mark = update_mark(Mark(), first, 10, rule)
    assert mark.evaluations == 10
    assert update_mark(mark, near, 20, rule).evaluations == 10
    assert update_mark(mark, far, 30, rule).evaluations == 30
    assert update_mark(Mark(), Archive.empty(1, 2), 40, rule).evaluations == 0


@pytest.mark.slow
def test_restarts_go_on_instead_and_keep_what_was_found(problem: Problem) -> None:
    options = SearchOptions(stop=Stop(stagnation=Stagnation(2000, 0.02)), restarts=2)
    snapshots = run(problem, options, 1_000_000)
    restarts = [snapshot.restarts for snapshot in snapshots]
    assert snapshots[-1].ended == STAGNATION
    assert sorted(set(restarts)) == [0, 1, 2]
    for before, after in pairwise(snapshots):
        if before.restarts < after.restarts:
            assert not after.engine.arrays["genes"].size
        assert after.archive.objectives.min() <= before.archive.objectives.min()
    first = [next(s for s in snapshots if s.restarts == r and s.engine.arrays["genes"].size) for r in (0, 1, 2)]
    assert not np.array_equal(first[1].engine.arrays["genes"], first[2].engine.arrays["genes"])
    cut = next(s for s in snapshots if s.restarts == 1)
    resumed = run(problem, options, 1_000_000, resume=cut)[-1]
    np.testing.assert_array_equal(resumed.archive.genes, snapshots[-1].archive.genes)


@pytest.mark.slow
def test_certified_gap_ends_a_search() -> None:
    small = load_problem("gpt3-4k", ["fabric.max_dimensions=2"])
    measured: list[float] = []
    measure = certified_gap(small)

    def noted(archive: Archive) -> float:
        measured.append(measure(archive))
        return measured[-1]

    *_, last = run(small, SearchOptions(stop=Stop(gap=Gap(0.1, noted, every=1200))), 100_000)
    assert last.ended == GAP
    assert measured[-1] <= 0.1 < min([*measured[:-1], np.inf])
    due, evaluations = [1200], last.evaluations
    while due[-1] < evaluations:
        due.append(due[-1] * 5 // 4)
    # At the end of the generation in which a proof is due.
    assert due[len(measured) - 1] <= evaluations < due[len(measured) - 1] + 60
    assert certify(small, front_of(small, last.archive)).largest_factor - 1 == pytest.approx(measured[-1])
    assert measure(Archive.empty(3, 2)) == np.inf


def test_gap_that_cannot_be_proven_is_the_user_s_mistake() -> None:
    with pytest.raises(InputError, match="time: libra"):
        certified_gap(load_search_problem("problems.two_tier:problem"))
    with pytest.raises(InputError, match="objectives"):
        certified_gap(load_problem("gpt3-4k", ["bandwidth=optimal", "objectives=[time]"]))


def test_search_starts_from_given_designs(problem: Problem) -> None:
    seen: list[tuple[FloatArray, Evaluation]] = []
    best = run(problem, SearchOptions(), 6000)[-1].archive.genes
    options = SearchOptions(first=best, observe=lambda genes, worth: seen.append((genes, worth)))
    snapshots = run(problem, options, best.shape[1] + 400)
    np.testing.assert_array_equal(seen[0][0], best)
    assert snapshots[-1].evaluations == best.shape[1] + 400 == sum(genes.shape[1] for genes, _ in seen)
    # No design of an archive dominates another one: each is still there, or something better is.
    for point in seen[0][1].objectives.T:
        assert (snapshots[-1].archive.objectives <= point[:, None]).all(axis=0).any()


def test_few_given_designs_are_joined_by_a_sample(problem: Problem) -> None:
    first = problem.genome.sample(np.random.default_rng(0), 10)
    *_, last = run(problem, SearchOptions(first=first), 60)
    assert last.evaluations == 60
    assert last.engine.arrays["genes"].shape[1] == 60


@pytest.mark.parametrize(("make", "part"), [
    (lambda: Stop(seconds=0.0), "0 s to search for"),
    (lambda: Stop(seconds=float("nan")), "nan s to search for"),
    (lambda: Stagnation(0), "stagnation of 0 evaluations"),
    (lambda: Stagnation(10, -0.1), "grow by -0.1"),
    (lambda: Gap(-0.1, lambda _archive: 0.0), "gap of -0.1"),
    (lambda: SearchOptions(restarts=-1), "-1 restarts"),
    (lambda: SearchOptions(restarts=1), "belong to a search that ends by stagnation"),
])  # fmt: skip
def test_ends_that_make_no_sense_are_refused(make: Callable[[], object], part: str) -> None:
    with pytest.raises(InputError, match=part):
        make()


def test_proofs_are_due_more_and_more_seldom() -> None:
    gap = Gap(0.1, lambda _archive: 1.0, every=100)
    steps = range(0, 1000, 10)
    assert [end for start, end in pairwise(steps) if gap.due(start, end)] == [
        100, 130, 160, 200, 250, 310, 380, 480, 590, 740, 930,
    ]  # fmt: skip
    # However long generations are, one proof in each at most.
    assert gap.due(0, 10_000)


def test_passed() -> None:
    assert [passes_multiple(a, b, 10) for a, b in ((0, 9), (0, 10), (9, 11), (10, 19), (19, 45))] == [
        False,
        True,
        True,
        False,
        True,
    ]
