"""Array-native NSGA-II and NSGA-III: kernels against moocore, pymoo and plain definitions."""

from __future__ import annotations

import itertools

import moocore
import numpy as np
import pytest
from designs import design_file
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pymoo.algorithms.moo.nsga3 import HyperplaneNormalization
from pymoo.core.population import Population
from pymoo.core.problem import Problem
from pymoo.operators.survival.rank_and_crowding import RankAndCrowding
from pymoo.operators.survival.rank_and_crowding.metrics import get_crowding_function
from pymoo.util.ref_dirs import get_reference_directions

from evo_libra.arrays import BoolArray, FloatArray
from evo_libra.front.archive import Archive, Collection, front, non_dominated
from evo_libra.front.staircase import stable_order
from evo_libra.problem.file.registry import load_problem
from evo_libra.problem.protocol import Genome
from evo_libra.searching.conformance import SampleProblem
from evo_libra.searching.engine import Arrays
from evo_libra.searching.engines import niching, nsga, survival
from evo_libra.searching.engines.niching import Niches, Scale, chosen_by_niche, nearest, reference_directions, rescale
from evo_libra.searching.engines.survival import (
    ENDS,
    Crowding,
    along,
    by_front,
    crowding,
    largest,
    ranks,
    survivors,
    turns,
)
from evo_libra.searching.engines.variation import Operators, first_of_kind, row_hash
from evo_libra.searching.generations import generations, search
from evo_libra.searching.registry import load_engine

SEEDS = st.integers(0, 2**32 - 1)
RANDOM = settings(max_examples=60)


def population(seed: int, *, whole: bool, most: int = 80) -> tuple[np.random.Generator, FloatArray]:
    """Random objectives; whole numbers of few values make equal ones and repeats."""
    random = np.random.default_rng(seed)
    shape = int(random.integers(2, 5)), int(random.integers(1, most))
    return random, random.integers(0, 6, shape).astype(float) if whole else random.random(shape)


def dominates(one: FloatArray, two: FloatArray) -> bool:
    return bool((one <= two).all() and (one < two).any())


@pytest.mark.slow
@given(seed=SEEDS, whole=st.booleans())
@RANDOM
def test_ranks_are_those_of_moocore_and_then_of_violation(*, seed: int, whole: bool) -> None:
    random, objectives = population(seed, whole=whole, most=40)
    none = np.zeros(objectives.shape[1])
    rank, single = ranks(objectives, none), singles(objectives)
    np.testing.assert_array_equal(rank[single], moocore.pareto_rank(objectives.T[single]))
    for i, j in itertools.permutations(np.flatnonzero(single), 2):
        assert not dominates(objectives[:, i], objectives[:, j]) or rank[i] < rank[j]
    violation = random.choice([0.0, 1.0, 0.5], len(none))
    constrained = ranks(objectives, violation)
    for i, j in itertools.permutations(range(len(rank)), 2):
        if violation[j] > 0:
            assert (constrained[i] < constrained[j]) == (violation[i] < violation[j])


@given(SEEDS)
@RANDOM
def test_repeats_are_ranked_after_every_other_feasible_design(seed: int) -> None:
    random, objectives = population(seed, whole=True)
    violation = random.choice([0.0, 0.0, 1.0], objectives.shape[1])
    rank, feasible = ranks(objectives, violation), violation == 0
    single = singles(objectives[:, feasible])
    assert rank[feasible][single].max(initial=-1) < rank[feasible][~single].min(initial=1000)
    assert rank[feasible].max(initial=-1) < rank[~feasible].min(initial=1000)


@pytest.mark.parametrize("selection", [Crowding(), Niches()])
@pytest.mark.parametrize("objectives", [2, 3])
@pytest.mark.parametrize("children", [1, 60])
def test_no_repeat_survives_where_another_design_is_left_out(
    selection: Crowding | Niches, objectives: int, children: int
) -> None:
    random, size = np.random.default_rng(0), 60
    arrays = {"size": np.array(size), **selection.memory(objectives, size)}
    values, violation = random.integers(0, 6, (objectives, size)).astype(float), np.zeros(size)
    seen = set(map(tuple, values.T))
    for _ in range(100 // children + 5):
        new = random.integers(0, 6, (objectives, children)).astype(float)
        both, seen = np.concatenate([values, new], axis=1), seen | set(map(tuple, new.T))
        kept, memory = selection.survivors(arrays, both, np.zeros(both.shape[1]), random)
        distinct = len(set(map(tuple, both.T)))
        values, arrays = both[:, kept], {**arrays, **memory, "violation": violation[: len(kept)]}
        assert len(set(map(tuple, values.T))) == min(distinct, size)
        assert {tuple(point) for point in both[:, non_dominated(both)].T} <= set(map(tuple, values.T))


@pytest.mark.parametrize("engine", ["nsga2", "nsga3"])
def test_a_problem_of_parts_does_not_fill_the_population_with_clones(engine: str) -> None:
    problem = load_problem(design_file("dense-32k"))
    *_, last = generations(problem, load_engine(engine, problem), population=100, seed=3, evaluations=3000)
    held = last.engine.arrays["objectives"]
    assert len(np.unique(held, axis=1).T) == held.shape[1] == 100


def singles(objectives: FloatArray) -> BoolArray:
    """Return (n,) whether none of the designs after it has equal objectives."""
    points = list(map(tuple, objectives.T))
    return np.array([point not in points[place + 1 :] for place, point in enumerate(points)], dtype=np.bool_)


@pytest.mark.slow
@given(seed=SEEDS, whole=st.booleans())
@RANDOM
def test_crowding_is_that_of_pymoo(*, seed: int, whole: bool) -> None:
    _, objectives = population(seed, whole=whole)
    rank = ranks(objectives, np.zeros(objectives.shape[1]))
    distance = crowding(objectives, rank)
    for number in np.unique(rank):
        members = np.flatnonzero(rank == number)
        _, first = np.unique(objectives[:, members], axis=1, return_index=True)
        # Theirs of the distinct points; repeats have none.
        expected = np.zeros(len(members))
        expected[np.sort(first)] = get_crowding_function("cd").do(objectives[:, members[np.sort(first)]].T)
        np.testing.assert_allclose(distance[members], np.minimum(expected, ENDS), rtol=1e-12, atol=1e-15)


@given(SEEDS)
@RANDOM
def test_crowding_of_one_front_is_that_of_many(seed: int) -> None:
    _, objectives = population(seed, whole=False)
    first = front(objectives)
    one = np.zeros(len(first), dtype=np.int64)
    np.testing.assert_allclose(along(objectives[:, first]), crowding(objectives[:, first], one), rtol=1e-12)


@given(SEEDS)
@RANDOM
def test_survivors_are_those_of_pymoo(seed: int) -> None:
    random, objectives = population(seed, whole=False)
    count = objectives.shape[1]
    size = int(random.integers(1, count + 1))
    kept, rank, distance = survivors(objectives, np.zeros(count), size)
    theirs = RankAndCrowding().do(
        Problem(n_var=1, n_obj=len(objectives)),
        Population.new("X", np.arange(count)[:, None], "F", objectives.T.copy()),
        n_survive=size,
        random_state=np.random.default_rng(0),
    )
    order = np.argsort(kept)
    by_place = sorted(theirs, key=lambda each: each.X[0])
    ends = np.isinf([each.get("crowding") for each in by_place])
    assert len(kept) == size
    # Where a front is cut between designs that are equally crowded, either may survive.
    values = np.sort(np.minimum([each.get("crowding") for each in by_place], ENDS))
    np.testing.assert_allclose(np.sort(distance), values, rtol=1e-12)
    np.testing.assert_array_equal(np.sort(rank), np.sort([each.get("rank") for each in by_place]))
    if not ends.any():
        np.testing.assert_array_equal(kept[order], [each.X[0] for each in by_place])


@given(SEEDS, st.integers(1, 12))
@RANDOM
def test_infeasible_designs_survive_last_and_by_violation(seed: int, size: int) -> None:
    random = np.random.default_rng(seed)
    objectives, violation = random.integers(0, 8, (3, 30)).astype(float), random.choice([0.0, 0.0, 2.0, 5.0], 30)
    kept, _, _ = survivors(objectives, violation, size)
    assert len(set(kept.tolist())) == size
    left_out, feasible = np.setdiff1d(np.arange(30), kept), violation == 0
    single = set(np.flatnonzero(feasible)[singles(objectives[:, feasible])])
    for out, stays in itertools.product(left_out, kept):
        assert violation[stays] <= violation[out]
        if out in single:
            assert not dominates(objectives[:, out], objectives[:, stays])


@given(seed=SEEDS, whole=st.booleans())
@RANDOM
def test_front_is_what_nothing_dominates_once_each_in_order(*, seed: int, whole: bool) -> None:
    _, objectives = population(seed, whole=whole)
    points = list(map(tuple, objectives.T))
    expected = {p for p in points if not any(dominates(np.array(q), np.array(p)) for q in points)}
    found = front(objectives)
    assert [points[i] for i in found] == sorted(expected)
    assert all(points.index(points[i]) == i for i in found)
    np.testing.assert_array_equal(np.flatnonzero(non_dominated(objectives)), np.sort(found))


@given(SEEDS)
@settings(max_examples=20)
def test_archive_does_not_depend_on_what_is_merged_when(seed: int) -> None:
    random = np.random.default_rng(seed)
    count, objectives = 12_000, int(random.integers(1, 4))
    values = random.integers(1, 300, (objectives, count)).astype(float)
    genes, violation = np.arange(count, dtype=float)[None], random.choice([0.0, 0.0, 1.0], count)
    parts = np.array_split(np.arange(count), np.sort(random.integers(0, count, 15)))
    collection, archive = Collection(Archive.empty(1, objectives)), Archive.empty(1, objectives)
    for part in parts:
        batch = genes[:, part], values[:, part], violation[part]
        collection, archive = collection.add(*batch), archive.add(*batch)
        if random.random() < 0.2:
            collection = Collection(collection.archive)
    feasible = np.flatnonzero(violation == 0)
    expected = feasible[front(values[:, feasible])]
    for found in (collection.archive, archive):
        np.testing.assert_array_equal(found.genes[0], expected)
        np.testing.assert_array_equal(found.objectives, values[:, expected])


@given(st.lists(st.integers(-3, 3), max_size=50), st.lists(st.integers(-3, 3), max_size=20))
def test_first_of_kind(values: list[int], known: list[int]) -> None:
    hashes, seen = row_hash(np.array([values], dtype=float)), row_hash(np.array([known], dtype=float))
    expected = [value not in known and value not in values[:i] for i, value in enumerate(values)]
    assert first_of_kind(hashes, seen).tolist() == expected


def test_hash_tells_designs_of_small_numbers_apart() -> None:
    grid = np.array(list(itertools.product(range(9), repeat=5)), dtype=float).T
    assert len(np.unique(row_hash(grid) >> np.uint64(14))) == grid.shape[1]
    zeros = np.array([[0.0, -0.0]])
    assert len(np.unique(row_hash(zeros))) == 1
    fine = 1.0 + np.arange(4)[None] * 2.0**-52
    assert len(np.unique(row_hash(fine))) == 4


@given(st.lists(st.integers(0, 5), min_size=1, max_size=60), st.integers(0, 60))
def test_orders_do_not_depend_on_how_equal_values_fall(values: list[int], count: int) -> None:
    data = np.array(values, dtype=float)
    np.testing.assert_array_equal(stable_order(data), np.argsort(data, kind="stable"))
    count = min(count, len(data))
    expected = np.sort(np.argsort(-data, kind="stable")[:count])
    np.testing.assert_array_equal(np.flatnonzero(largest(data, count)), expected)


def test_front_that_is_cut_is_the_one_that_does_not_fit() -> None:
    rank = np.array([0, 0, 1, 1, 1, 2])
    for size, safe, cut in ((1, 0, 2), (2, 0, 2), (3, 2, 3), (5, 2, 3), (6, 5, 1), (9, 6, 0)):
        assert [int(part.sum()) for part in by_front(rank, size)] == [safe, cut]


@pytest.mark.parametrize("count", [3, 7, 20])
def test_everyone_has_as_many_turns(count: int) -> None:
    times = np.bincount(turns(7, count, np.random.default_rng(0)), minlength=7)
    assert times.sum() == count
    assert times.max() - times.min() <= 1


@pytest.mark.parametrize(("objectives", "steps"), [(2, 99), (3, 12), (5, 4)])
def test_directions_are_those_of_das_and_dennis(objectives: int, steps: int) -> None:
    theirs = get_reference_directions("das-dennis", objectives, n_partitions=steps)
    ours = reference_directions(objectives, len(theirs)) if objectives < 5 else None
    if ours is None:
        ours = reference_directions(objectives, len(theirs))[: len(theirs)]
    np.testing.assert_allclose(sorted(ours.tolist()), sorted(theirs.tolist()), atol=1e-12)


@pytest.mark.parametrize("objectives", [1, 2, 3, 6, 9])
def test_directions_fit_the_population_and_lie_on_the_plane(objectives: int) -> None:
    directions = reference_directions(objectives, 120)
    assert len(directions) <= max(120, objectives)
    assert len(np.unique(directions.round(9), axis=0)) == len(directions)
    assert (directions >= 0).all()
    np.testing.assert_allclose(directions.sum(axis=1), 1.0)
    assert objectives < 4 or (directions > 0).all(axis=1).any()


@given(SEEDS)
@settings(max_examples=25)
def test_nearest_direction_is_at_the_least_perpendicular_distance(seed: int) -> None:
    random = np.random.default_rng(seed)
    directions, scaled = reference_directions(3, 60), random.random((3, 700)) * random.choice([0.0, 1.0], (3, 700))
    which, distance = nearest(scaled, directions)
    unit = directions / np.linalg.norm(directions, axis=1)[:, None]
    every = np.linalg.norm(scaled.T[:, None] - (scaled.T @ unit.T)[..., None] * unit, axis=2)
    np.testing.assert_allclose(distance, every.min(axis=1), atol=1e-7)
    np.testing.assert_allclose(every[np.arange(700), which], every.min(axis=1), atol=1e-7)


@given(SEEDS)
@example(14534)  # a figure next to the threshold
@settings(max_examples=25)
def test_scale_is_that_of_pymoo(seed: int) -> None:
    random = np.random.default_rng(seed)
    theirs = HyperplaneNormalization(3)
    ours = Scale(np.full(3, 1e300), np.full(3, -1e300), np.empty((3, 0)))
    for _ in range(3):
        # Their threshold is absolute: it is ours where objectives range from 0 to 1.
        objectives = np.concatenate([random.random((3, 40)), np.zeros((3, 1)), np.ones((3, 1))], axis=1)
        objectives[:, -2:] = np.eye(3)[:, :2]
        objectives[2] /= objectives[2].max()
        first = np.flatnonzero(non_dominated(objectives))
        theirs.update(objectives.T.copy(), nds=first)
        ours, nadir = rescale(ours, objectives, objectives[:, first])
        np.testing.assert_allclose(ours.ideal, theirs.ideal_point)
        np.testing.assert_allclose(nadir, theirs.nadir_point, rtol=1e-9)


@given(SEEDS)
@RANDOM
def test_last_places_go_to_the_directions_that_have_the_fewest(seed: int) -> None:
    random = np.random.default_rng(seed)
    count, directions = int(random.integers(1, 40)), 6
    niche, distance = random.integers(0, directions, count), random.random(count)
    occupied = random.integers(0, 3, directions)
    room = int(random.integers(0, count + 1))
    chosen = chosen_by_niche(niche, distance, occupied, room, random)
    assert len(set(chosen.tolist())) == room
    filled = occupied + np.bincount(niche[chosen], minlength=directions)
    left = np.bincount(niche, minlength=directions) - np.bincount(niche[chosen], minlength=directions)
    # No direction got a design while another one with one to give had two fewer.
    got = filled > occupied
    assert not got.any() or not (left > 0).any() or filled[got].max() <= filled[left > 0].min() + 1
    for direction in np.flatnonzero(got & (occupied == 0)):
        members = np.flatnonzero(niche == direction)
        assert members[distance[members].argmin()] in chosen


@pytest.mark.parametrize("objectives", [2, 3, 4])
@pytest.mark.parametrize("count", [20, 1500])
def test_a_tree_finds_the_nearest_direction_as_a_look_at_all_does(objectives: int, count: int) -> None:
    random = np.random.default_rng([objectives, count])
    directions = niching.reference_directions(objectives, count)
    unit = directions / np.linalg.norm(directions, axis=1, keepdims=True)
    middle = (unit[:-1] + unit[1:]) / 2.0  # as near to one direction as to the other, but for rounding
    points = np.concatenate([random.random((3000, objectives)), unit, middle, np.zeros((1, objectives))])
    all_which, all_reach = niching._among_all(points, unit)  # noqa: SLF001 - what the tree stands for
    which, reach = niching._in_a_tree(points, unit)  # noqa: SLF001 - the same
    np.testing.assert_allclose(reach, all_reach, rtol=0, atol=1e-15)
    same = which == all_which
    assert same[: 3000 + len(unit)].all()
    near = np.einsum("nm,nm->n", points, unit[which]) >= all_reach - 1e-15
    assert near.all()
    assert which[-1] == 0


@given(st.integers(0, 2**32 - 1), st.integers(3, 4), st.integers(2, 30))
@settings(max_examples=40)
def test_a_filter_of_dominated_designs_leaves_the_first_front_as_it_is(seed: int, rows: int, values: int) -> None:
    random = np.random.default_rng(seed)
    objectives = random.integers(0, values, (rows, int(random.integers(2, 120)))).astype(float)
    with pytest.MonkeyPatch.context() as patch:
        plain = survival._first_front(objectives)  # noqa: SLF001 - both ways to find it
        patch.setattr(survival, "_UNFILTERED", 0)
        np.testing.assert_array_equal(survival._first_front(objectives), plain)  # noqa: SLF001
    assert len(plain) == len(np.unique(objectives[:, plain], axis=1).T)


@pytest.mark.slow
@pytest.mark.parametrize(("engine", "grows"), [("nsga2", True), ("nsga3", False), ("smsemoa", False)])
def test_the_population_of_a_long_search_grows_with_nsga2_alone(engine: str, *, grows: bool) -> None:
    problem, sizes = SampleProblem(), []
    for now in generations(problem, load_engine(engine, problem), population=20, seed=1, evaluations=6_000):
        members = now.engine.arrays["genes"].shape[1]
        sizes.append((now.evaluations, members, int(now.engine.arrays["size"])))
    done, members, size = np.array(sizes).T
    np.testing.assert_array_equal(size, np.maximum(20, done // 100) if grows else 20)
    assert (members <= size).all()
    # The population fills up: what the front of a sample problem has is much more.
    assert members[-1] == size[-1] or not grows


@pytest.mark.slow
def test_a_population_stops_to_grow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nsga, "_MAX_GROWN", 30)
    problem = SampleProblem()
    *_, last = generations(problem, load_engine("nsga2", problem), population=20, seed=1, evaluations=6_000)
    assert last.engine.arrays["genes"].shape[1] == 30
    *_, last = generations(problem, load_engine("nsga2", problem), population=40, seed=1, evaluations=6_000)
    assert last.engine.arrays["genes"].shape[1] == 40


@pytest.mark.slow
@pytest.mark.parametrize(("engine", "steps"), [("nsga2", False), ("smsemoa", True)])
def test_some_children_of_a_small_population_are_a_parent_with_another_topology(engine: str, steps: bool) -> None:  # noqa: FBT001 - a case
    problem = load_problem(design_file("mixed-models-4k"))
    found = list(generations(problem, load_engine(engine, problem), population=100, seed=0, evaluations=700))
    before, asked = found[-2].engine.arrays["genes"], load_engine(engine, problem)
    asked.start(problem.genome, 2, 100, 0)
    children, _ = asked.ask(found[-2].engine)
    same = (children[1:, :, None] == before[1:, None]).all(axis=0) & (children[0, :, None] != before[0, None])
    assert (same.any(axis=1).mean() >= 0.05) == steps


@pytest.mark.slow
def test_a_small_population_finds_the_cheapest_network_by_steps() -> None:
    problem = load_problem(design_file("mixed-models-4k"))
    fronts = (
        search(problem, engine="smsemoa", evaluations=5000, population=100, seed=seed).frame for seed in range(20)
    )
    cheapest = [str(frame.sort("cost_usd")["design"][0]) for frame in fronts]
    assert sum("_SW(512)@optics-400g" in design for design in cheapest) >= 17  # 18; without steps 14


def test_designs_of_eight_generations_are_kept_beside_the_memory() -> None:
    genome = Genome(("x",), np.zeros(1), np.ones(1), np.zeros(1, dtype=np.bool_))
    engine, recent = nsga.nsga2(), []
    state = engine.start(genome, 2, 10, 0)
    for _ in range(17):
        genes, state = engine.ask(state)
        state = engine.tell(state, genes, np.stack([genes[0], 1.0 - genes[0]]), np.zeros(genes.shape[1]))
        recent.append(len(state.arrays["recent"]))
    assert recent == [10, 20, 30, 40, 50, 60, 70, 0] * 2 + [10]
    assert state.arrays["learned"] == 170.0
    assert np.count_nonzero(state.arrays["memory"]) > 150


def test_what_is_left_when_children_repeat_is_sampled() -> None:
    # All children of one design without mutation are that design: six tries are children, and the seventh is a sample.
    tries: list[int] = []

    class Counted(nsga.Nsga):
        def _children(self, arrays: Arrays, pairs: int, random: np.random.Generator) -> FloatArray:
            tries.append(pairs)
            return super()._children(arrays, pairs, random)

    genome = Genome(("x",), np.zeros(1), np.ones(1), np.zeros(1, dtype=np.bool_))
    engine = Counted(Crowding(), Operators(crossover=0.0, mutation=0.0))
    state = engine.start(genome, 2, 10, 0)
    same = np.full((1, 10), 0.5)
    state = engine.tell(state, same, np.ones((2, 10)), np.zeros(10))
    genes, state = engine.ask(state)
    assert genes.shape == (1, 10)
    assert len(np.unique(genes)) == 10
    # Pairs for 10 designs and 3 % more; after a try without a new one, for four times as many.
    assert tries == [6, *[21] * 5]
    # Next to none of the tries was new: a quarter is the least share that is reckoned with.
    assert 0.25 <= state.arrays["share"] <= 1.0
