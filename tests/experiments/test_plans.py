"""Plans and networks that are searched together, and the genes of plans."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from effects_off import load
from plan_genes import by_index, compared, encodings, extent
from plans import CASES, NETWORK, PLAN, TOGETHER, Case, Found, fastest_plans, pins, savings, study, summary

from evo_libra import Problem, search
from evo_libra.front.archive import non_dominated

ROOT = Path(__file__).parents[2]
SMALL = Case(
    "mixtral-8x7b-256", ("nvlink4", 450), ("optics-400g", 50), ("npus=32", "workloads[0].training.global_batch=64")
)


@pytest.fixture(scope="module")
def small() -> Problem:
    return SMALL.problem


@pytest.fixture(scope="module")
def found() -> Found:
    return study(SMALL, evaluations=3000, seeds=(0, 1))


def rows(text: str) -> list[list[str]]:
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


@pytest.mark.slow
def test_the_fastest_plan_of_a_cluster_is_the_fastest_of_all_that_fit(small: Problem) -> None:
    (table,) = small.time.tables
    today = SMALL.today(small.npus)
    every = small.evaluate([f"{today} | {text}" for text in table.texts])
    fitting = table.memory <= table.capacity
    assert 0 < fitting.sum() < len(table)
    (best,) = fastest_plans(small, today)
    assert fitting[best]
    assert every.objectives[0, best] == every.objectives[0, fitting].min()


@pytest.mark.slow
def test_the_fastest_plans_of_two_workloads_are_found_one_by_one() -> None:
    problem = load("mixed-models-4k")
    today = CASES[4].today(problem.npus)
    end = [table.texts[plan] for table, plan in zip(problem.time.tables, fastest_plans(problem, today), strict=True)]
    best = problem.evaluate(" | ".join([today, *end]))
    assert best.violation == 0
    pairs = [np.random.default_rng(0).choice(table.texts, 300) for table in problem.time.tables]
    others = problem.evaluate([f"{today} | {first} | {second}" for first, second in zip(*pairs, strict=True)])
    assert (others.objectives[0, others.violation == 0] >= best.objectives[0]).all()


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_pinned_plan_means_what_the_open_one_means(case: Case) -> None:
    problem = case.problem
    plans = fastest_plans(problem, case.today(problem.npus))
    tables = problem.time.tables
    changes = [pin for place, table in enumerate(tables) for pin in pins(table, plans[place], place)]
    pinned = load(case.name, [*case.opened, *changes])
    assert not pinned.time.tables
    genes = pinned.genome.sample(np.random.default_rng(0), 50)
    designs = list(map(str, pinned.fabrics(pinned.decode(genes))))
    end = "".join(f" | {table.texts[plan]}" for table, plan in zip(tables, plans, strict=True))
    same = problem.evaluate([design + end for design in designs])
    np.testing.assert_allclose(same.objectives, pinned.evaluate_genes(genes).objectives, rtol=1e-12)


@pytest.mark.slow
def test_a_study_has_three_ways_to_search(small: Problem, found: Found) -> None:
    reached = found.reached()
    assert set(reached) == {TOGETHER, NETWORK, PLAN}
    assert all(0 < value < 1.21 + 1e-9 for values in reached.values() for value in values)
    text, *figures = found.today
    np.testing.assert_allclose(small.evaluate(text).objectives[:, 0], figures)
    front = found.fronts[TOGETHER][0]
    assert len(found.slower) == len(found.designs) == front.shape[1]
    assert len(non_dominated(front)) == front.shape[1]
    # Where the front has today's plan, it is as fast as itself.
    plan = text.partition(" | ")[2]
    same = [design.endswith(f"| {plan}") for design in found.designs]
    assert found.slower[same] == pytest.approx(1.0)
    np.testing.assert_allclose(small.evaluate(list(found.designs)).objectives, front)


def test_axes_reach_over_the_joint_front_only() -> None:
    first, second = np.array([[1.0, 3.0], [5.0, 4.0]]), np.array([[2.0, 9.0], [2.0, 3.0]])
    ideal, nadir = extent([first, second])
    assert (ideal.tolist(), nadir.tolist()) == ([1.0, 2.0], [2.0, 5.0])


@pytest.mark.slow
def test_the_page_shows_what_the_study_prints() -> None:
    """One problem as a whole: that with the smallest number of designs on its front."""
    page = rows((ROOT / "docs" / "studies" / "plans.md").read_text())
    case = next(case for case in CASES if case.name == "megatron-1t-3072")
    whole = study(case)
    for table in (summary([whole]), savings([whole])):
        assert rows(table)[-1] in page


@pytest.mark.slow
def test_a_place_in_the_list_of_plans_is_another_genome_of_the_same_problem(small: Problem) -> None:
    other = by_index(small)
    (table,) = other.time.tables
    names = list(other.genome.names)
    assert names.count("plan[0]") == 1
    assert len(other.genome) < len(small.genome)
    # Every plan that fits has a place, and designs are found again.
    place = names.index("plan[0]")
    count = int((table.memory <= table.capacity).sum())
    genes = np.repeat(other.genome.sample(np.random.default_rng(0), 1), count, axis=1)
    genes[place] = np.arange(count)
    designs = other.decode(genes)
    assert designs.plans[0].tolist() == np.flatnonzero(table.memory <= table.capacity).tolist()
    again, covered = other.sections.recognise(designs)
    assert covered.all()
    np.testing.assert_array_equal(again[place], genes[place])
    front = search(other, evaluations=1000, population=100, seed=0)
    texts = front.frame["design"].to_list()
    np.testing.assert_allclose(small.evaluate(texts).objectives[1], front.frame["cost_usd"].to_numpy())


@pytest.mark.slow
def test_both_encodings_are_compared_on_the_same_axes() -> None:
    one, two = encodings("mixtral-8x7b-256", evaluations=(1300, 2600), seeds=(0, 1))
    assert (one.evaluations, two.evaluations) == (1300, 2600)
    assert np.median(two.options) > np.median(one.options)
    assert np.median(two.index) > np.median(one.index)
    assert rows(compared([one, two]))[2][:2] == ["mixtral-8x7b-256", "1,300"]
