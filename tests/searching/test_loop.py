"""The loop of a search: what ends it, and when its looks, proofs and memetic steps are due."""

from __future__ import annotations

import numpy as np
import pytest

from evo_libra.arrays import FloatArray
from evo_libra.errors import InputError
from evo_libra.front.archive import Archive
from evo_libra.searching.conformance import SampleProblem
from evo_libra.searching.engine import EVALUATIONS, GAP, SECONDS, STAGNATION
from evo_libra.searching.generations import Generations
from evo_libra.searching.loop import (
    Gap,
    Mark,
    MemeticStep,
    SearchOptions,
    Stagnation,
    Stop,
    derived_seed,
    passes_multiple,
    update_mark,
)
from evo_libra.searching.registry import load_engine


def test_a_multiple_is_passed_where_it_is_reached() -> None:
    assert [passes_multiple(before, after, 10) for before, after in ((0, 9), (0, 10), (9, 10), (10, 19), (5, 31))] == [
        False, True, True, False, True,
    ]  # fmt: skip


def test_ten_looks_are_taken_while_the_hypervolume_has_to_grow() -> None:
    assert [Stagnation(count).every for count in (1, 9, 10, 19, 20, 1000)] == [1, 1, 1, 1, 2, 100]


def test_proofs_come_after_a_quarter_more_each() -> None:
    gap = Gap(0.1, lambda _: 0.0, every=100)
    # Due at 100, 125, 125 + 31 = 156 and 156 + 39 = 195.
    due = [after for after in range(1, 200) if gap.due(after - 1, after)]
    assert due == [100, 125, 156, 195]
    assert not gap.due(100, 124)
    assert gap.due(100, 300)
    assert [after for after in range(1, 6) if Gap(0.1, lambda _: 0.0, every=1).due(after - 1, after)] == [1, 2, 3, 4, 5]
    assert Gap(0.1, lambda _: 0.0).every == 100_000


def test_memetic_steps_come_later_and_larger() -> None:
    def same(genes: FloatArray) -> FloatArray:
        return genes

    # Each 50 evaluations, and once 500 have passed after a tenth of those so far: 550 + 55 = 605, 605 + 60 = 665.
    step = MemeticStep(same, every=50, count=10)
    due = {after: count for after in range(1, 700) if (count := step.due(after - 1, after))}
    assert due == {**dict.fromkeys(range(50, 551, 50), 10), 605: 11, 665: 12}
    assert (step.due(0, 49), step.due(0, 50), step.due(50, 99), step.due(500, 549), step.due(604, 605)) == (
        0, 10, 0, 0, 11,
    )  # fmt: skip
    assert (MemeticStep(same).every, MemeticStep(same).count) == (5_000, 250)


def archive(*points: tuple[float, float]) -> Archive:
    return Archive(np.zeros((1, len(points))), np.array(points).T)


def test_the_mark_moves_when_the_hypervolume_has_grown_by_enough() -> None:
    # On axes of two decades that are scaled to 0 and 1 the ends alone leave 0.1 x 0.1 + 2 x 0.1 x 1 = 0.21 of
    # 1.1 x 1.1; with the middle (0.5, 0.5) the volume is 0.21 + 0.25 = 0.46. So it has grown by 54.3 % of itself.
    ends, more = archive((1.0, 100.0), (100.0, 1.0)), archive((1.0, 100.0), (10.0, 10.0), (100.0, 1.0))
    mark = Mark(7, ends.objectives)
    assert update_mark(mark, more, 20, Stagnation(10, 0.55)) is mark
    moved = update_mark(mark, more, 20, Stagnation(10, 0.54))
    assert (moved.evaluations, moved.objectives.shape) == (20, (2, 3))
    assert update_mark(mark, ends, 20, Stagnation(10, 0.0)) is mark
    assert update_mark(Mark(), ends, 20, Stagnation(10, 0.99)).evaluations == 20
    assert update_mark(mark, Archive.empty(1, 2), 20, Stagnation(10)) is mark


def loop(stop: Stop, restarts: int = 0) -> Generations:
    problem = SampleProblem()
    return Generations(problem, load_engine("random", problem), 10, 3, SearchOptions(stop, restarts))


def test_the_last_generation_is_cut_to_the_evaluations() -> None:
    found = list(loop(Stop()).snapshots(25))
    assert [(now.evaluations, now.ended) for now in found] == [(10, ""), (20, ""), (25, EVALUATIONS)]
    resumed = list(loop(Stop()).snapshots(30, resume=found[-1]))
    assert [(now.evaluations, now.ended) for now in resumed] == [(30, EVALUATIONS)]
    assert resumed[-1].seconds > found[-1].seconds


def test_a_gap_that_is_as_small_as_asked_ends_the_search() -> None:
    gaps = iter([0.3, 0.1])
    found = list(loop(Stop(gap=Gap(0.1, lambda _: next(gaps), every=10))).snapshots(100))
    # Proofs are due at 10 and 12; a generation of 10 brings the next one at 20.
    assert [(now.evaluations, now.ended) for now in found] == [(10, ""), (20, GAP)]


def test_time_and_stagnation_end_the_search() -> None:
    found = list(loop(Stop(seconds=1e-9)).snapshots(100))
    assert [(now.evaluations, now.ended) for now in found] == [(10, SECONDS)]
    # No hypervolume grows by 99.9 % of itself, so that 30 evaluations after the first mark the search ends.
    found = list(loop(Stop(stagnation=Stagnation(30, 0.999))).snapshots(200))
    first = next(now.mark.evaluations for now in found if now.mark.evaluations)
    assert [(now.evaluations, now.ended) for now in found][-1] == (first + 30, STAGNATION)
    again = list(loop(Stop(stagnation=Stagnation(30, 0.999)), restarts=1).snapshots(200))
    assert [now.restarts for now in again if now.evaluations in (first + 20, first + 30, first + 40)] == [0, 1, 1]
    # The mark is that of the restart, from where it takes 30 evaluations again.
    (restarted,) = [now for now in again if now.evaluations == first + 30]
    assert (restarted.mark.evaluations, restarted.ended) == (first + 30, "")
    assert again[-1].evaluations == again[-1].mark.evaluations + 30 >= first + 60
    assert [now.ended for now in again][-1] == STAGNATION


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (lambda: Stagnation(0), "at least 1 is needed"),
        (lambda: Stagnation(5, 1.0), "to below 1"),
        (lambda: Stagnation(5, -0.1), "a growth from 0"),
        (lambda: Gap(-0.1, lambda _: 0.0), "at least 0"),
        (lambda: Gap(np.inf, lambda _: 0.0), "at least 0"),
        (lambda: Stop(seconds=0.0), "above 0"),
        (lambda: Stop(seconds=np.inf), "above 0"),
        (lambda: SearchOptions(restarts=-1), "at least 0"),
        (lambda: SearchOptions(restarts=1), "ends by stagnation"),
    ],
)
def test_numbers_out_of_range_are_refused(made: object, said: str) -> None:
    with pytest.raises(InputError, match=said):
        made()  # type: ignore[operator]


def test_the_least_numbers_are_allowed() -> None:
    assert Stagnation(1, 0.0).every == 1
    assert (Stagnation(5).growth, Mark().evaluations) == (1e-3, 0)
    assert Gap(0.0, lambda _: 0.0, every=1).target == 0.0
    assert SearchOptions(Stop(stagnation=Stagnation(1)), restarts=1).restarts == 1


def test_seeds_of_parts_differ_and_stay() -> None:
    seeds = [derived_seed(*place) for place in ((3, 0), (3, 1), (4, 0), (3, 0, 1), (3,))]
    assert len(set(seeds)) == 5
    assert seeds[0] == derived_seed(3, 0)
