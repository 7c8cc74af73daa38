"""Exact fronts of whole ports, for any objectives, time and open choices: those of all designs, one by one."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from designs import design_file
from effort import costly
from hypothesis import given
from hypothesis import strategies as st
from whole_networks import whole_networks

from evo_libra import certify, load_problem, search
from evo_libra.arrays import FloatArray
from evo_libra.errors import InputError
from evo_libra.front.archive import non_dominated
from evo_libra.front.front import Front
from evo_libra.optimality import enumeration
from evo_libra.optimality.watch import Progress
from evo_libra.optimality.whole_designs import count_networks, effort_of, networks_of
from evo_libra.optimality.whole_front import whole_front
from evo_libra.problem.problem import Problem

PARTS = "catalog: parts-2024, domains: any, max_dimensions: 2"
FABRIC = f"fabric={{{PARTS}, technologies: [xgmi, optics-400g]}}"
BOXES = f"fabric={{{PARTS}, technologies: [nvlink4, optics-400g], blocks: [switch]}}"
STEP = (
    "workloads=[{name: small, generator: {kind: decoder, source: made up, layers: 4, hidden: 2048, heads: 16, "
    "kv_heads: 4, feed_forward: 5632, gated: true, vocabulary: 32000}, training: {sequence: 1024, global_batch: 64, "
    "micro_batch: [1, 2], tokens: 1e+9}, parallelism: {tp: [1, 4], pp: [1, 2]}}]"
)
TIMES = {
    "libra": "time=libra",
    "astra": "time={model: astra}",
    "astra, open": "time={model: astra, chunks: [1, 16], algorithms: search}",
    "themis": "time={model: themis, chunks: 4}",
    "themis, open": "time={model: themis, chunks: [4, 16], scheduler: [baseline, offline-greedy]}",
}
OBJECTIVES = ("time", "cost", "power", "energy", "tco", "time-cost", "bisection")
TRAINED = ("tokens-per-s", "memory", "energy-per-token", "system-cost")
ROBUST = ("time.p95", "cost.p95", "tco.worst", "energy.mean")


@cache
def problem_of(time: str, objectives: tuple[str, ...], constraint: str = "", fabric: str = FABRIC) -> Problem:
    """Return a problem; one of boxes has a training step whose plan is open."""
    changes = [
        fabric, "bandwidth=ports", TIMES[time], f"objectives=[{', '.join(objectives)}]",
        "tco={years: 3, usd_per_kWh: 0.1, pue: 1.2}", f"constraints=[{constraint}]",
    ]  # fmt: skip
    own = [STEP, "npu=h100-80gb", "npus=8"] if fabric is BOXES else ["workloads[0].parallelism={tp: 8}", "npus=16"]
    own += ["workloads[0].weight={low: 0.5, value: 1, high: 2}"] if any("." in name for name in objectives) else []
    found = load_problem("gpt3-4k", [*changes, *own])
    assert isinstance(found, Problem)
    return found


def distinct(objectives: FloatArray) -> FloatArray:
    """Return the points of a front that differ in more than rounding, in order."""
    rounded = np.array([[float(f"{value:.10e}") for value in row] for row in objectives])
    return np.unique(rounded[:, non_dominated(rounded)], axis=1)


def found_by(front: Front, problem: Problem) -> FloatArray:
    return np.array([front.frame[one.column].to_numpy() * one.scale for one in problem.objectives])


def agree(problem: Problem) -> None:
    best = distinct(whole_networks(problem))
    front = search(problem, engine="exhaustive")
    np.testing.assert_allclose(distinct(found_by(front, problem)), best, rtol=1e-9)
    assert len(front) == best.shape[1]


@pytest.mark.slow
@pytest.mark.parametrize("pairs", [5, 200_000])
@pytest.mark.parametrize("time", ["astra", "themis, open"])
def test_bounds_on_the_way_hold_for_what_was_seen(time: str, pairs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the plans of a network come in several parts: it is seen once all of them are."""
    monkeypatch.setattr(enumeration, "_PAIRS", pairs)
    problem = problem_of(time, ("time", "cost", "power"), fabric=BOXES)
    poor = found_by(search(problem, engine="random", evaluations=100, population=20, seed=1), problem)
    exact, heard = found_by(search(problem, engine="exhaustive"), problem), list[tuple[float, float]]()

    def watch(progress: Progress) -> bool:
        assert progress.factor is not None
        heard.append((progress.seen, progress.factor()))
        if progress.seen == 1.0:  # something known is as good as each design of the exact front
            best = np.concatenate([work.best, *work.bounds, *work.left.values()], axis=1)
            assert (best[:, :, None] <= exact[:, None, :] * (1.0 + 1e-9)).all(axis=0).any(axis=0).all()
        return False

    work = enumeration.Enumeration(problem, poor, watch, known=poor)
    structure, bandwidth = zip(*networks_of(problem), strict=True)
    work.look_at(np.concatenate(structure), np.concatenate(bandwidth, axis=1))
    assert heard[-1][0] == 1.0
    assert heard[-1][1] > 1.0
    assert all(0.0 <= seen <= 1.0 for seen, _ in heard)


@pytest.mark.slow
@given(
    st.sampled_from(sorted(TIMES)),
    st.lists(st.sampled_from(OBJECTIVES), min_size=1, max_size=4, unique=True),
    st.sampled_from(["", "", "power <= 2 kW", "time <= 500 ms", "bisection >= 200 GB/s", "energy >= 0.5 kJ"]),
)
@costly(10)
def test_the_front_is_that_of_every_design(time: str, objectives: list[str], constraint: str) -> None:
    agree(problem_of(time, tuple(objectives), constraint))


@pytest.mark.slow
@given(
    st.sampled_from(["libra", "astra", "themis"]),
    st.lists(st.sampled_from((*OBJECTIVES, *TRAINED)), min_size=1, max_size=3, unique=True),
    st.sampled_from(["", "", "tokens-per-s <= 300 ktoken/s", "memory >= 2 GB", "time >= 0.1 s"]),
)
@costly(6)
def test_the_front_is_that_of_every_network_with_every_plan(time: str, objectives: list[str], constraint: str) -> None:
    agree(problem_of(time, tuple(objectives), constraint, BOXES))


@pytest.mark.slow
@pytest.mark.parametrize("time", ["libra", "astra"])
@pytest.mark.parametrize("fabric", [FABRIC, BOXES], ids=["layers", "plans"])
def test_the_front_over_scenarios_is_that_of_every_design(time: str, fabric: str) -> None:
    agree(problem_of(time, ("time.p95", "cost.p95"), fabric=fabric))


@pytest.mark.slow
@pytest.mark.parametrize("time", ["libra", "astra", "astra, open", "themis"])
@pytest.mark.parametrize("fabric", [FABRIC, BOXES], ids=["layers", "plans"])
def test_a_proof_agrees(time: str, fabric: str) -> None:
    problem = problem_of(time, ("time", "cost"), fabric=fabric)
    front = search(problem, engine="exhaustive")
    proof = certify(problem, front)
    assert proof.largest_factor == pytest.approx(1.0, rel=1e-8)
    assert proof.hypervolume == pytest.approx(proof.max_hypervolume, rel=1e-7)
    assert proof.networks > 0
    fewer = Front(front.frame.gather_every(3), front.objectives)
    every, worse = whole_networks(problem), certify(problem, fewer)
    for factor, (ms, usd) in zip(worse.factor, fewer.frame.select("time_ms", "cost_usd").rows(), strict=True):
        best = every[0, every[1] <= usd * (1 + 1e-9)].min()
        assert factor == pytest.approx(ms * 1e-3 / best, rel=1e-8)
    assert worse.missed_hypervolume > 0


@pytest.mark.slow
@pytest.mark.parametrize("name", ["wafer-20", "gpt3-175b-1536"])
def test_the_front_of_a_shipped_problem_is_that_of_every_network(name: str) -> None:
    problem = load_problem(design_file(name))
    assert isinstance(problem, Problem)
    agree(problem)


def test_every_network_is_there_once_and_can_be_built() -> None:
    problem = problem_of("libra", ("time", "cost"))
    seen, count = set(), 0
    for structure, bandwidth in networks_of(problem):
        count += len(structure)
        seen |= {(int(s), *column) for s, column in zip(structure, bandwidth.T.tolist(), strict=True)}
    assert len(seen) == count == count_networks(problem) > 100
    # Random legal designs are among them.
    genes = problem.genome.sample(np.random.default_rng(0), 500)
    designs = problem.decode(genes)
    bandwidth = np.where(designs.npus > 1, designs.bandwidth, 0.0)
    for n in np.flatnonzero(problem.evaluate_genes(genes).violation <= 0).tolist():
        assert (int(genes[0, n]), *bandwidth[:, n].tolist()) in seen


def test_known_designs_spare_work_and_change_nothing() -> None:
    problem = problem_of("astra", ("time", "cost"))
    alone = whole_front(problem)
    assert alone is not None
    some = found_by(search(problem, evaluations=500, population=50, engine="nsga2"), problem)
    known = whole_front(problem, some)
    assert known is not None
    np.testing.assert_array_equal(known.objectives, alone.objectives)
    assert known.timed <= alone.timed


def test_too_many_designs_are_refused_with_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = problem_of("themis", ("time", "power"))
    monkeypatch.setattr("evo_libra.optimality.whole_designs.MAX_TIMED", 10)
    assert effort_of(problem) is None
    with pytest.raises(InputError, match="more designs of whole ports than exhaustive evaluates"):
        search(problem, engine="exhaustive")
