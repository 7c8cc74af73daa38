"""One space is one space: what a file's words allow, what the search sees, and what `evaluate` accepts are the same."""

from __future__ import annotations

import itertools
import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from drawn_words import Drawing, write_words
from file_words import Words, tensor_group
from random_problems import refused

from evo_libra import certify, load_problem, search
from evo_libra.arrays import FloatArray
from evo_libra.errors import InputError
from evo_libra.network.fabric import parse_fabric
from evo_libra.optimality.whole_designs import effort_of
from evo_libra.optimality.whole_front import whole_front
from evo_libra.problem.designs import genes_of, violations
from evo_libra.problem.problem import Problem

ROUNDING = 1e-9
NAMED = 100
"""Designs whose violation is compared with the sentences about it."""

MAX_PROVEN = 20_000
"""Designs of whole ports that a test takes a look at, and structures of a space that it certifies."""


def problem_at(path: Path) -> Problem | None:
    try:
        found = load_problem(str(path))
    except InputError as error:
        check_refusals(error, path)
        return None
    assert isinstance(found, Problem)
    return found


def check_refusals(error: InputError, path: Path) -> int:
    """Check that a file is refused rightly; return how many of its tensor parallel groups nothing holds."""
    assert refused(error), error
    words = Words(json.loads(path.read_text()), path.parent)
    for mistake in error.mistakes:
        check_refusal(mistake.message, str(mistake), words)
    return sum("holds the tensor parallel group" in mistake.message for mistake in error.mistakes)


def check_refusal(message: str, place: str, words: Words) -> None:
    """Check that a workload whose plan no scale-up domain holds has a larger tensor parallel group than any of them."""
    if (found := re.search(r"found (\d+); no scale-up domain, of (\d+) NPUs at most, holds", message)) is not None:
        tp, limit = map(int, found.groups())
        given = re.search(r"workloads\[(\d+)\]", place)
        assert given is not None, place
        workload = words.data["workloads"][int(given.group(1))]
        npu = words.data["npu"]
        names = [one.get("name", f"npu[{n}]") for n, one in enumerate(npu)] if isinstance(npu, list) else [None]
        assert limit in [words.largest_domain(name) for name in names]
        assert workload["parallelism"]["tp"] == tp > limit
        assert workload["training"].get("tp_domain") != "any" or workload["training"]["overlap"]["tp"]
    elif "no network of the space holds the tensor parallel group" in message:
        groups = [tensor_group(one, "") for one in words.data["workloads"] if not words.has_plans(one)]
        assert any(tp > 1 and inside for tp, inside in groups)
        assert any(words.has_nics(name) for name in words.names)


def accepted(problem: Problem, designs: list[str]) -> dict[str, FloatArray]:
    """Return the objectives of the designs that `evaluate` accepts without violation."""
    known = [text for text in designs if can_be_read(problem, text)]
    if not known:
        return {}
    evaluation = problem.evaluate(known)
    for text, violation in list(zip(known, evaluation.violation, strict=True))[:NAMED]:
        assert bool(violation > 0) == bool(violations(problem, problem.read(text))), text
    return {known[n]: evaluation.objectives[:, n] for n in np.flatnonzero(evaluation.violation == 0).tolist()}


def can_be_read(problem: Problem, text: str) -> bool:
    try:
        problem.read(text)
    except InputError:
        return False
    return True


def refused_by_limits(problem: Problem, text: str) -> bool:
    """Return whether a design breaks a limit that is no word of the fabric.

    These are process groups, plans and algorithms that are not open, memory, and constraints.
    """
    try:
        one = problem.read(text)
    except InputError as error:
        return any(part in str(error) for part in ("process groups", "algorithm", "is none of the"))
    figures = problem.measure(one)
    broken = [c for c in problem.constraints if not c.ports and problem.evaluator.excess(c, figures, one)[0] > 0]
    return bool(broken)


def narrowed(problem: Problem, path: Path, random: np.random.Generator) -> Problem:
    """Return a problem whose file pins the shape of one of its designs, limits time or cost, or is what it was."""
    genes = problem.genome.sample(random, 50)
    found, data = problem.evaluate_genes(genes), json.loads(path.read_text())
    meets = np.flatnonzero(found.violation <= 0)
    kind = random.integers(5)
    if not len(meets) or kind > 2:
        return problem
    one = meets[:1]
    if kind == 0:
        fabric = problem.fabrics(problem.decode(genes[:, one]))[0]
        bare = [replace(d, bandwidth=None) for d in fabric.dimensions]
        data["fabric"]["shape"] = "_".join(map(str, bare))
        for key in ("pin", "min_dimensions", "max_dimensions"):
            data["fabric"].pop(key, None)
    else:
        name, unit, size = (("time", "ms", 1e-3), ("cost", "USD", 1.0))[kind - 1]
        limit = float(np.median(found.objectives[kind - 1, meets])) / size
        data["constraints"] = [*data["constraints"], f"{name} <= {limit:.17g} {unit}"]
    path.write_text(json.dumps(data))
    again = problem_at(path)
    assert again is not None
    return again


def check_space(folder: Path, seed: int, count: int) -> int:
    """Try a random file with random designs; return how many designs were accepted."""
    random, problem = np.random.default_rng(seed), None
    while problem is None:  # files that cannot be built say so, and others are drawn
        folder = folder / "next"
        folder.mkdir()
        path = write_words(folder, lambda items: items[int(random.integers(len(items)))])
        problem = problem_at(path)
    problem = narrowed(problem, path, random)
    words = Words(json.loads(path.read_text()), folder)
    chosen = problem.sources.npu
    npus = chosen.names if chosen.several else (None,)
    genes = problem.genome.sample(np.random.default_rng(seed), max(50, count // 10))
    meets = problem.evaluate_genes(genes).violation <= 0
    drawn = problem.fabrics(problem.decode(genes))
    plans = [table.texts for table in problem.time.tables]
    designs = Drawing(words, plans, npus, drawn, random).designs(count)
    found = accepted(problem, designs)
    for text in designs:
        fabric = parse_fabric(text)
        assert (text in found) <= words.allows(fabric), f"accepted, and not in the file: {text}"
        if words.allows(fabric) and text not in found:
            assert refused_by_limits(problem, text), f"in the file, and refused: {text}"
    if found:
        one = problem.read(list(found))
        again = problem.decode(genes_of(problem, one))
        used = one.npus > 1
        assert (again.npus == one.npus).all()
        assert (again.block == one.block)[used].all()
        assert (again.technology == one.technology)[used].all()
        np.testing.assert_allclose(again.bandwidth[used], one.bandwidth[used], rtol=ROUNDING)
    for fabric in itertools.compress(drawn, meets):
        assert words.allows(parse_fabric(str(fabric))), f"searched, and not in the file: {fabric}"
    check_proofs(problem, found)
    return len(found)


def check_proofs(problem: Problem, found: dict[str, FloatArray]) -> None:
    """Check that no accepted design beats a front that is called exact, or the bound of a certificate."""
    if not found:
        return
    values = np.array(list(found.values())).T
    effort = effort_of(problem)
    if effort is not None and effort <= MAX_PROVEN:
        exact = whole_front(problem)
        assert exact is not None
        best = exact.objectives
        covered = (best[:, :, None] <= values[:, None] * (1 + ROUNDING)).all(axis=0).any(axis=0)
        assert covered.all(), np.array(list(found))[~covered].tolist()[:3]
    if problem.time.exact and not problem.pricing.kits and len(problem.structures) <= MAX_PROVEN:
        front = search(problem, evaluations=500, population=50)
        if not len(front):
            return
        try:
            proof = certify(problem, front, 5)
        except InputError:
            return  # nothing is claimed, as of traces
        time, cost = (front.frame[name].to_numpy() for name in ("time_ms", "cost_usd"))
        order = np.argsort(cost, kind="stable")
        known = np.append(np.inf, np.minimum.accumulate(time[order]) * 1e-3)
        at = known[np.searchsorted(cost[order], values[1] * (1 + ROUNDING), side="right")]
        dearer = np.isfinite(at)
        assert (values[0] >= proof.fastest * (1 - ROUNDING)).all()
        assert (values[0][dearer] >= at[dearer] / proof.largest_factor * (1 - ROUNDING)).all()


@pytest.mark.slow
@pytest.mark.parametrize(
    "seed", [pytest.param(seed, marks=[pytest.mark.slow] if seed >= 4 else []) for seed in range(12)]
)
def test_the_space_of_a_file_is_that_of_search_and_evaluate(tmp_path: Path, seed: int) -> None:
    check_space(tmp_path, seed, 150)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 150))
def test_ten_thousand_designs_of_a_file(tmp_path: Path, seed: int) -> None:
    check_space(tmp_path, seed, 10_000)


@pytest.mark.slow
def test_the_files_that_are_drawn_accept_designs(tmp_path: Path) -> None:
    """Otherwise the law above says nothing."""
    counts = []
    for seed in range(12):
        folder = tmp_path / str(seed)
        folder.mkdir()
        counts.append(check_space(folder, seed, 60))
    assert sum(count > 0 for count in counts) >= len(counts) // 2, counts


@pytest.mark.slow
def test_files_that_hold_no_tensor_parallel_group_are_refused(tmp_path: Path) -> None:
    refusals = 0
    for seed in range(1000, 1600):
        random, folder = np.random.default_rng(seed), tmp_path / str(seed)
        folder.mkdir()
        path = write_words(folder, lambda items, random=random: items[int(random.integers(len(items)))])  # type: ignore[misc]
        try:
            load_problem(str(path))
        except InputError as error:
            refusals += check_refusals(error, path)
    assert refusals
