"""Selection by contributions to the hypervolume: against its definition, and what a small population gains by it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import moocore
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evo_libra.arrays import FloatArray
from evo_libra.problem.file.registry import load_problem
from evo_libra.problem.protocol import Genome
from evo_libra.searching.conformance import SampleProblem
from evo_libra.searching.engines.contributions import Contributions, most_contributing
from evo_libra.searching.engines.nsga import smsemoa
from evo_libra.searching.engines.survival import ENDS, least_crowded
from evo_libra.searching.generations import generations
from evo_libra.searching.registry import load_engine


@dataclass(frozen=True)
class Numbers(SampleProblem):
    """A problem without categories."""

    @property
    def genome(self) -> Genome:
        """The genes."""
        return replace(super().genome, categorical=np.zeros(2 + self.width, dtype=np.bool_))


SEEDS = st.integers(0, 2**32 - 1)


def front(seed: int, objectives: int, count: int) -> FloatArray:
    """Designs of a curved front, sorted by the first objective, with scales of their own."""
    random = np.random.default_rng(seed)
    away = random.random((objectives, count)) + 0.01
    found = 1.0 - away / np.linalg.norm(away, axis=0)
    found = found[:, np.argsort(found[0])]
    return np.asarray(found * 10 ** random.uniform(-3, 3, (objectives, 1)) + random.normal(size=(objectives, 1)))


def volume(designs: FloatArray, of: FloatArray) -> float:
    low, high = of.min(axis=1, keepdims=True), of.max(axis=1, keepdims=True)
    return float(moocore.hypervolume(((designs - low) / (high - low)).T, ref=np.full(len(of), 1.1)))


@pytest.mark.slow
@given(SEEDS, st.integers(2, 3), st.integers(4, 30))
def test_the_design_that_contributes_least_leaves_first(seed: int, objectives: int, count: int) -> None:
    designs = front(seed, objectives, count)
    lost = [volume(designs, designs) - volume(np.delete(designs, n, axis=1), designs) for n in range(count)]
    inner = np.setdiff1d(np.arange(count), designs.argmin(axis=1))
    if not len(inner):
        return
    kept, value = most_contributing(designs, count - 1)
    (gone,) = np.setdiff1d(np.arange(count), kept)
    assert lost[gone] == pytest.approx(min(lost[n] for n in inner), abs=1e-9)
    ends = np.isin(kept, designs.argmin(axis=1))
    assert (value[ends] == ENDS).all()
    left = designs[:, kept]
    again = [volume(left, designs) - volume(np.delete(left, n, axis=1), designs) for n in range(count - 1)]
    np.testing.assert_allclose(value[~ends], np.array(again)[~ends], atol=1e-9)


@given(SEEDS, st.integers(2, 3), st.integers(10, 120), st.floats(0.1, 1.0))
def test_a_thinned_front_keeps_its_ends(seed: int, objectives: int, count: int, share: float) -> None:
    designs = front(seed, objectives, count)
    size = max(int(share * count), objectives)
    kept, value = most_contributing(designs, size)
    assert len(kept) == len(value) == size
    assert (np.diff(kept) > 0).all()
    assert np.isin(designs.argmin(axis=1), kept).all()
    # The scale of an objective means nothing.
    np.testing.assert_array_equal(most_contributing(8.0 * designs, size)[0], kept)


@pytest.mark.parametrize("objectives", [2, 3])
def test_a_thinned_front_has_more_hypervolume_than_one_that_is_thinned_by_crowding(objectives: int) -> None:
    fronts = [front(seed, objectives, 120) for seed in range(100)]
    means = [
        np.mean([volume(designs[:, thin(designs, 60)[0]], designs) for designs in fronts])
        for thin in (most_contributing, least_crowded)
    ]
    assert means[0] > means[1]


def test_of_many_objectives_crowding_decides() -> None:
    designs = front(0, 4, 60)
    kept, _ = Contributions().survivors({"size": np.array(20)}, designs, np.zeros(60), np.random.default_rng(0))
    np.testing.assert_array_equal(np.sort(kept), np.sort(least_crowded(designs, 20)[0]))


@pytest.mark.parametrize(("population", "first"), [(50, 300), (100, 600), (150, 650), (650, 650), (1000, 1000)])
@pytest.mark.parametrize("name", ["nsga2", "nsga3", "smsemoa"])
def test_a_small_population_begins_with_several_samples(name: str, population: int, first: int) -> None:
    problem = load_problem("gpt3-4k")
    engine = load_engine(name, problem)
    state = engine.start(problem.genome, 2, population, 0)
    lacking, sampled = first, 0
    while lacking:
        genes, state = engine.ask(state)
        sampled += genes.shape[1]
        lacking = int(state.arrays["lacking"])
        found = problem.evaluate_genes(genes)
        state = engine.tell(state, genes, found.objectives, found.violation)
    assert sampled == first
    assert state.arrays["genes"].shape[1] == population


@pytest.mark.parametrize(("name", "share"), [("nsga2", 1.0), ("nsga3", 1.0), ("smsemoa", 0.5)])
@pytest.mark.parametrize("population", [4, 41, 100])
def test_of_numbers_alone_hypervolume_selects_half_a_population_at_a_time(
    name: str, share: float, population: int
) -> None:
    problem = Numbers()
    found = generations(problem, load_engine(name, problem), population=population, seed=0, evaluations=400)
    sizes = np.diff([0, *(snapshot.evaluations for snapshot in found)])[:-1]
    assert sizes[0] == population
    assert (sizes[1:] == int(share * population)).all()


def test_numbers_alone_need_one_sample_and_a_start_needs_less() -> None:
    genome = Genome(("x", "y"), np.zeros(2), np.ones(2), np.zeros(2, dtype=np.bool_))
    engine, random = smsemoa(), np.random.default_rng(0)
    _, state = engine.ask(engine.start(genome, 2, 40, 0))
    assert state.arrays["lacking"] == 0
    for held, asked in ((30, 10), (40, 40), (60, 40)):
        start = engine.start(genome, 2, 40, 0)
        genes = genome.sample(random, held)
        told = engine.tell(start, genes, np.stack([genes[0], 1.0 - genes[0]]), np.zeros(held))
        genes, state = engine.ask(told)
        assert (genes.shape[1], int(state.arrays["lacking"])) == (asked, 0)


def test_contributions_by_hand() -> None:
    # Scaled, the designs are (0, 1), (0.2, 0.6), (0.5, 0.5) and (1, 0). The second adds (0.5 - 0.2) x (1 - 0.6) = 0.12
    # to the hypervolume, the third (1 - 0.5) x (0.6 - 0.5) = 0.05, so that it leaves; then the second adds
    # (1 - 0.2) x (1 - 0.6) = 0.32. The ends always stay.
    stairs = np.array([[0.0, 2.0, 5.0, 10.0], [30.0, 26.0, 25.0, 20.0]])
    kept, value = most_contributing(stairs, 4)
    assert kept.tolist() == [0, 1, 2, 3]
    np.testing.assert_allclose(value, [ENDS, 0.12, 0.05, ENDS])
    kept, value = most_contributing(stairs, 3)
    assert kept.tolist() == [0, 1, 3]
    np.testing.assert_allclose(value, [ENDS, 0.32, ENDS])
    assert most_contributing(stairs, 2)[0].tolist() == [0, 3]
    # An objective that is the same everywhere changes nothing: each contribution is 1.1 times as large.
    flat, value = most_contributing(np.vstack([stairs, np.full(4, 7.0)]), 3)
    assert flat.tolist() == [0, 1, 3]
    np.testing.assert_allclose(value[1], 1.1 * 0.32)


def test_contributions_are_counted_again_in_three_rounds() -> None:
    # Of nine designs three have to go. (0.40, 0.40) and (0.41, 0.39) add next to nothing beside each other, yet once
    # one of them is gone the other one stays.
    first = np.array([0.0, 0.1, 0.2, 0.40, 0.41, 0.6, 0.7, 0.85, 1.0])
    second = np.array([1.0, 0.72, 0.6, 0.40, 0.39, 0.25, 0.2, 0.1, 0.0])
    kept, _ = most_contributing(np.stack([first, second]), 6)
    assert len({3, 4} & set(kept.tolist())) == 1


@pytest.mark.parametrize(("categories", "best"), [(True, 3), (False, 10)])
def test_of_several_fronts_the_best_of_three_or_ten_is_a_parent(*, categories: bool, best: int) -> None:
    genome = Genome(("x",), np.zeros(1), np.ones(1), np.array([categories]))
    arrays = {"front": np.arange(1000), "crowding": np.zeros(1000)}
    parents = Contributions(genome).parents(arrays, 1000, np.random.default_rng(0))
    # The least of k uniform numbers is 1 / (k + 1) on average.
    assert parents.mean() / 1000 == pytest.approx(1 / (best + 1), rel=0.1)
    one = {"front": np.zeros(1000, dtype=np.int64), "crowding": -np.arange(1000.0)}
    assert Contributions(genome).parents(one, 1000, np.random.default_rng(0)).mean() / 1000 == pytest.approx(
        1 / 3, rel=0.1
    )
