"""Proofs over networks and plans together: what they say is what problems that pin each plan say together."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st
from whole_networks import whole_networks

from evo_libra import certify, load_problem, optimize, search
from evo_libra.arrays import FloatArray
from evo_libra.collective import Pattern
from evo_libra.errors import InputError
from evo_libra.front.archive import non_dominated
from evo_libra.optimality import bounds as bounds_module
from evo_libra.optimality import certificate as certificate_module
from evo_libra.optimality.bounds import bound_variants
from evo_libra.optimality.ideal_bandwidth import ideal_of, levels
from evo_libra.optimality.whole_ports import whole_ideal
from evo_libra.problem.plans import fitting, useful_plans
from evo_libra.problem.problem import Problem
from evo_libra.workload.plans.dominance import clustered, smallest, undominated
from evo_libra.workload.plans.tabulated import TabulatedRace, TabulatedTime

SEEDS = st.integers(0, 2**32 - 1)
DENSE = {
    "kind": "decoder", "layers": 8, "hidden": 2048, "heads": 16, "kv_heads": 4, "feed_forward": 5632, "gated": True,
    "vocabulary": 32000,
}  # fmt: skip
ROUTED = {**DENSE, "experts": {"count": 8, "per_token": 2, "feed_forward": 2816}}
LIBRA = {
    "fabric": {"catalog": "libra", "max_dimensions": 2},
    "bandwidth": {"mode": "optimal", "min_GBps": 5, "max_GBps": 700},
}
PARTS = {
    "fabric": {"catalog": "luwu-2024", "technologies": ["nvlink4", "smart-100g"], "blocks": ["switch", "ring"],
               "max_dimensions": 2, "domains": "any"},
    "bandwidth": "ports",
}  # fmt: skip
MACHINE = {"memory_GB": 64, "memory_GBps": 200, "GFLOPS": 800, "ssds": 4, "ssd_GBps": 2, "price_usd": 9000,
           "ssd_price_usd": 300, "source": "drawn, 2026"}  # fmt: skip


def offloaded(random: np.random.Generator, training: dict[str, Any]) -> dict[str, Any]:
    """Return how a model is trained, with the optimizer in one of some places."""
    places = random.choice(["npu", "host", "nvme", "network"], size=random.integers(1, 5), replace=False).tolist()
    return {
        **training, "zero": [1, 3], "recompute": "full", "micro_batch": "any",
        "optimizer": {
            "placement": ["npu", *(place for place in places if place != "npu")],
            "server": {"host": MACHINE, "count": 2, "link_GBps": 25}, "checkpoints": random.choice(["npu", "host"]),
        },
    }  # fmt: skip


def data_of(random: np.random.Generator, **changes: Any) -> dict[str, Any]:
    def some(*options: Any) -> list[Any]:
        return sorted(random.choice(options, size=random.integers(1, len(options) + 1), replace=False).tolist())

    routed, moved = (bool(random.random() < 0.5) for _ in range(2))
    training: dict[str, Any] = {
        "sequence": 4096, "global_batch": 64, "micro_batch": some(1, 2), "zero": some(0, 3),
        "recompute": some("none", "full")[:1], "overlap": {"tp": [False, True]},
        "order": [["tp", "cp", "dp", "pp"], ["tp", "pp", "cp", "dp"]],
    }  # fmt: skip
    parallelism: dict[str, Any] = {"tp": some(1, 4), "pp": some(1, 2)}
    if routed:
        parallelism["ep"] = some(1, 4)
    if moved:
        training = offloaded(random, training)
    workload = {
        "name": "small", "generator": ROUTED if routed else DENSE, "training": training, "parallelism": parallelism,
    }  # fmt: skip
    # So little memory of its own that some plans need the expansion, and others do not fit even with it.
    expansion = {"capacity_GB": [0, 64], "bandwidth_GBps": float(random.choice([50, 1000]))}
    memory = {"memory": {"reserve": 0.95, "expansion": expansion}} if random.random() < 0.5 else {}
    return {
        "name": "planned", "npus": 16, "npu": "h100-80gb", **memory, "workloads": [workload],
        "objectives": ["time", "cost"],
        **({"system": {"host": {**MACHINE, "npus": 4, "link_GBps": 20}}} if moved else {}), **changes,
    }  # fmt: skip


def problem_of(folder: Path, data: dict[str, Any]) -> Problem:
    (folder / "p.yaml").write_text(json.dumps(data))
    try:
        found = load_problem(str(folder / "p.yaml"))
    except InputError as error:
        # One example in a hundred has too little memory for any plan.
        if re.search(r"none of the \d+ plans fits", str(error)) is None:
            raise
        reject()
    assert isinstance(found, Problem)
    assert found.time.tables
    return found


def pinned(problem: Problem) -> Iterator[tuple[int, Problem]]:
    """Yield the problem under each plan that fits the memory, with the structures that hold its groups."""
    (table,) = problem.time.tables
    any_ = problem.decode(problem.genome.sample(np.random.default_rng(0), 1))
    for plan in fitting(table, problem.constraints).tolist():
        one = problem.pinned(replace(any_, plan=np.array([[plan]])))
        structures = one.structures.table
        assert structures is not None
        fits = one.time.fits(structures.npus, technology=structures.technology)
        if fits.any():
            yield plan, replace(one, structures=structures.select(fits))


def random_time(random: np.random.Generator, plans: int) -> TabulatedTime:
    # Few values, so that plans are equal or beat each other.
    def some(*shape: int) -> FloatArray:
        return random.integers(0, 3, (*shape, plans)).astype(np.float64)

    races = tuple(TabulatedRace(some(), some(chains), some(chains, 2)) for chains in (2, 3))
    streams = (("tp", Pattern.SHRINKING), ("dp", Pattern.SHRINKING))
    return TabulatedTime(streams, some(), some(2), races)


@given(SEEDS)
def test_a_plan_that_is_left_out_is_beaten_by_one_on_every_network(seed: int) -> None:
    random = np.random.default_rng(seed)
    time, count = random_time(random, 60), 60
    time = replace(time, compute=time.compute * random.integers(0, 2), races=time.races[: random.integers(0, 3)])
    group, among = random.integers(0, 3, count), np.flatnonzero(random.random(count) < 0.8)
    kept = undominated(time, group, among)
    per_unit = [np.broadcast_to(random.random(40)[:, None], (40, count)) for _ in range(2)]

    def timed(one: TabulatedTime) -> FloatArray:
        return np.broadcast_to(one(per_unit, np.arange(count)), (40, count))

    seconds = timed(time)
    for plan in np.setdiff1d(among, kept).tolist():
        others = kept[group[kept] == group[plan]]
        assert (seconds[:, others] <= seconds[:, [plan]] * (1 + 1e-12)).all(axis=0).any()
    assert set(kept.tolist()) <= set(among.tolist())
    label = clustered(time, group, among)
    for part in (group, label):
        bound = timed(smallest(time, part, among))
        assert (bound[:, among] <= seconds[:, among] * (1 + 1e-12)).all()
    for cluster in np.unique(label[among]).tolist():
        mine = among[label[among] == cluster]
        assert len(mine) <= 4
        assert len(np.unique(group[mine])) == 1


@given(SEEDS)
@pytest.mark.slow
@settings(max_examples=4)
def test_the_ideal_is_the_best_of_all_plans_for_themselves(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    random = np.random.default_rng(seed)
    kind = LIBRA if random.random() < 0.5 else PARTS
    problem = problem_of(tmp_path_factory.mktemp("ideal"), data_of(random, **kind)).relaxed()
    bounds = bound_variants(problem)
    cost = levels(problem, bounds, 12)
    ideal = ideal_of(problem, cost, bounds)
    best = np.full(len(cost), np.inf)
    for _, one in pinned(problem):
        best = np.minimum(best, ideal_of(one, cost).time)
    np.testing.assert_allclose(ideal.time, best, rtol=1e-8)
    assert (ideal.bound <= ideal.time * (1 + 1e-12)).all()
    assert len(useful_plans(problem.time, problem.constraints)) <= len(problem.time.tables[0])


@given(SEEDS)
@pytest.mark.slow
@settings(max_examples=2)
def test_the_ideal_of_whole_ports_is_that_of_every_network_under_every_plan(
    tmp_path_factory: pytest.TempPathFactory, seed: int
) -> None:
    random = np.random.default_rng(seed)
    problem = problem_of(tmp_path_factory.mktemp("whole"), data_of(random, **PARTS))
    time, cost = np.concatenate([whole_networks(one) for _, one in pinned(problem)], axis=1)
    at = np.unique(cost)
    best = np.array([time[cost <= one * (1 + 1e-9)].min() for one in at])
    known = random.integers(0, len(time), 3)
    for some in (known[:0], known):
        ideal = whole_ideal(problem, cost[some], time[some])
        assert ideal is not None
        np.testing.assert_allclose(ideal.at(at), best, rtol=1e-8)
    front = search(problem, evaluations=300, population=40, seed=0)
    proof = certify(problem, front)
    assert proof.networks > 0
    assert proof.plans == len(fitting(problem.time.tables[0], problem.constraints))
    reached = front.frame["time_ms"].to_numpy() * 1e-3
    exact = np.array([time[cost <= one * (1 + 1e-9)].min() for one in front.frame["cost_usd"].to_numpy()])
    np.testing.assert_allclose(proof.factor, reached / exact, rtol=1e-7)
    assert proof.fastest == pytest.approx(time.min(), rel=1e-9)


@given(SEEDS)
@pytest.mark.slow
@settings(max_examples=2)
def test_certificates_hold_whichever_way_they_are_found(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    random = np.random.default_rng(seed)
    problem = problem_of(tmp_path_factory.mktemp("proof"), data_of(random, **LIBRA))
    exact = search(problem, engine="exhaustive", population=15)
    front = search(problem, evaluations=300, population=40, seed=0)
    enumerated = certify(problem, front)
    assert (certify(problem, exact).factor <= 1 + 1e-8).all()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(certificate_module, "_MANY_PAIRS", 0)
        branched = certify(problem, front)
        assert (certify(problem, exact).factor <= 1 + 1e-6).all()
    assert branched.waiting == 0
    # Branch and bound proves a staircase; at the costs of designs it is as tight.
    np.testing.assert_allclose(branched.factor, enumerated.factor, rtol=1e-6)
    assert enumerated.missed_hypervolume <= branched.missed_hypervolume * (1 + 1e-3) + 1e-6
    assert branched.plans == enumerated.plans > 1


@given(SEEDS, st.sampled_from(["time", "time-cost"]))
@pytest.mark.slow
@settings(max_examples=3)
def test_the_best_plan_of_a_network_is_the_best_of_all_plans_for_themselves(
    tmp_path_factory: pytest.TempPathFactory, seed: int, goal: str
) -> None:
    random = np.random.default_rng(seed)
    limits = {"constraints": [str(random.choice(["sum(bw) <= 300 GB/s", "sum(bw) <= 500 GB/s"]))]}
    searched = {"bandwidth": {**LIBRA["bandwidth"], "mode": "search"}}
    data = data_of(random, **{**LIBRA, **searched, "objectives": [goal, "cost"], **limits})
    problem = problem_of(tmp_path_factory.mktemp("best"), data)
    found = optimize(problem, objective=goal)
    best = [optimize(one, objective=goal) for _, one in itertools.islice(pinned(problem), 0, None, 5)]
    values = [one.time * one.cost if goal == "time-cost" else one.time for one in [found, *best]]
    assert values[0] <= min(values[1:]) * (1 + 1e-9)
    assert found.gap <= 1e-6
    own = problem.read(found.design)
    assert problem.time(own)[0] == pytest.approx(found.time, rel=1e-9)
    again = optimize(problem.pinned(own), objective=goal)
    value = again.time * again.cost if goal == "time-cost" else again.time
    assert values[0] == pytest.approx(value, rel=1e-8)
    engine = search(problem, engine="optimize").frame
    assert len(engine) == 1
    assert problem.evaluate(engine["design"].to_list()).objectives[0, 0] == pytest.approx(values[0], rel=1e-8)


@pytest.mark.slow
def test_budgets_reach_the_fastest_design_of_every_plan(tmp_path: Path) -> None:
    problem = problem_of(tmp_path, data_of(np.random.default_rng(3), **LIBRA))
    low, high = problem.budgets()
    each = [one.budgets() for _, one in pinned(problem)]
    assert high == pytest.approx(max(top for _, top in each), rel=1e-12)
    assert low <= min(bottom for bottom, _ in each) * (1 + 1e-12)


def test_more_pairs_than_can_be_looked_at_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = problem_of(tmp_path, data_of(np.random.default_rng(3), **LIBRA))
    monkeypatch.setattr(bounds_module, "MAX_PAIRS", 3)
    with pytest.raises(InputError, match="pairs of a topology and a plan, too many"):
        bound_variants(problem)


SMALL = {
    "name": "whole", "npus": 64, "npu": "h100-80gb", "objectives": ["time", "cost"],
    "workloads": [{
        "name": "small", "generator": ROUTED, "parallelism": {"tp": [1, 2, 4], "pp": [1, 2, 4], "ep": [1, 2, 8]},
        "training": {"sequence": 4096, "global_batch": 128, "zero": [0, 1, 3], "overlap": {"tp": [False, True]}},
    }],
}  # fmt: skip


def one_by_one(objectives: FloatArray) -> FloatArray:
    """Return the distinct points of the front of some designs, the fastest first."""
    front = objectives[:, non_dominated(objectives)]
    kept: list[FloatArray] = []
    for point in front[:, np.lexsort(front)].T:
        if not kept or not np.allclose(kept[-1], point, rtol=1e-11, atol=0.0):
            kept.append(point)
    return np.array(kept).T


@pytest.mark.slow
def test_search_and_exhaustive_find_every_best_pair_of_a_network_of_whole_ports_and_a_plan(tmp_path: Path) -> None:
    problem = problem_of(tmp_path, {**SMALL, **PARTS})
    every = whole_networks(problem)
    assert 100_000 < every.shape[1] < 1_000_000
    best = one_by_one(every)
    assert best.shape[1] > 15
    for front in (search(problem, evaluations=60_000, seed=0), search(problem, engine="exhaustive")):
        found = one_by_one(np.array([front.frame["time_ms"].to_numpy() * 1e-3, front.frame["cost_usd"].to_numpy()]))
        np.testing.assert_allclose(found, best, rtol=1e-11)
        proof = certify(problem, front)
        # A step of the front counts from just below its cost.
        assert proof.hypervolume == pytest.approx(proof.max_hypervolume, rel=1e-8)


@pytest.mark.slow
def test_a_proof_of_whole_ports_that_runs_out_of_time_still_bounds_every_pair(tmp_path: Path) -> None:
    problem = problem_of(tmp_path, {**SMALL, **PARTS})
    front = search(problem, evaluations=500, population=50, seed=0)
    cost, time = front.frame["cost_usd"].to_numpy(), front.frame["time_ms"].to_numpy() * 1e-3
    exact, cut = whole_ideal(problem, cost, time), whole_ideal(problem, cost, time, lambda *_: True)
    assert exact is not None
    assert cut is not None
    assert cut.timed < exact.timed
    assert cut.waiting > exact.waiting == 0
    assert (cut.at(exact.cost) <= exact.time * (1 + 1e-12)).all()
    assert (cut.time > 0).all()
