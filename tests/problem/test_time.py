"""The time of a problem file: fidelities, their genes, and a front looked at under another one."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from designs import design_file
from hypothesis import given, settings
from hypothesis import strategies as st

from evo_libra import certify, load_problem, search
from evo_libra.arrays import FloatArray, Population
from evo_libra.collective import Collective, SizedCollective
from evo_libra.errors import InputError
from evo_libra.explain.rescore import rescore
from evo_libra.problem import allocate
from evo_libra.problem.evaluator import Evaluator
from evo_libra.problem.file.registry import with_time
from evo_libra.problem.pricing.pricing import Topologies
from evo_libra.problem.problem import Problem
from evo_libra.problem.protocol import Evaluation
from evo_libra.timing.names import ALGORITHMS
from evo_libra.timing.phase_dimensions import link_bandwidth, runnable

SETTINGS = settings(max_examples=25)
SEEDS = st.integers(0, 2**32 - 1)
OPEN = (
    "time={model: themis, latency_ns: {chiplet: 10, package: 50, node: 100, pod: 500}, chunks: [4, 16], "
    "scheduler: [baseline, round-robin, offline-greedy, offline-greedy-flex, themis-paper], algorithms: search}"
)


def load(*assignments: str) -> Problem:
    problem = load_problem("gpt3-4k", assignments)
    assert isinstance(problem, Problem)
    return problem


def astra(**keys: object) -> str:
    rows = ", ".join(f"{key}: {value}" for key, value in {"model": "astra", "latency_ns": 0, **keys}.items())
    return f"time={{{rows}}}"


CASES = (
    ("gpt3-4k", OPEN), ("dense-4k", None), ("moe-4k", "time={model: themis}"),
    ("wafer-20", "time={model: astra, latency_ns: 20}"),
)  # fmt: skip
LIBRA = load()
EVERYTHING = load(OPEN)


def test_what_is_left_open_are_genes() -> None:
    names = EVERYTHING.genome.names
    assert names[1:11] == (
        *(f"block{d}" for d in range(4)),
        "chunks",
        "scheduler",
        *(f"algorithm{d}" for d in range(4)),
    )
    assert EVERYTHING.genome.categorical[:11].all()
    assert load(astra()).genome.names == LIBRA.genome.names


@pytest.mark.slow
@given(SEEDS)
@settings(max_examples=10)
def test_designs_read_back_are_equal(seed: int) -> None:
    genes = EVERYTHING.genome.sample(np.random.default_rng(seed), 40)
    worth = EVERYTHING.evaluate_genes(genes)
    described = EVERYTHING.describe(genes)
    again = EVERYTHING.evaluate(described["design"])
    np.testing.assert_allclose(again.objectives, worth.objectives, rtol=1e-12)
    alone = EVERYTHING.evaluate_genes(genes[:, 7:8])
    np.testing.assert_array_equal(alone.objectives, worth.objectives[:, 7:8])
    assert {"chunks", "scheduler", "algorithm[0]", "algorithm[3]"} <= described.keys()
    for design, chunks, scheduler in zip(described["design"], described["chunks"], described["scheduler"], strict=True):
        assert f" chunks={chunks} scheduler={scheduler} algorithms=" in design


@pytest.mark.slow
@given(SEEDS, st.sampled_from([64, 256, 1024]))
@SETTINGS
def test_libra_is_the_limit_of_many_chunks_without_latency(seed: int, chunks: int) -> None:
    exact = load(astra(chunks=chunks, endpoint_delay_ns=0, shares="libra"))
    designs = LIBRA.decode(LIBRA.genome.sample(np.random.default_rng(seed), 50))
    limit, time = LIBRA.time(designs), exact.time(exact_schedule(exact, designs))
    compute = sum(loop.workload.compute for loop in LIBRA.time.loops)
    # Each phase is rounded down by less than a nanosecond a step; a step is a message, and rings have the most of them.
    phases = 7 * chunks * sum(sum(loop.time.size) for loop in exact.time.loops)
    rounding = 1e-9 * phases * 2 * designs.npus.max(axis=0)
    assert (time >= limit - rounding).all()
    assert (time - compute <= (limit - compute) * (1 + 14 / chunks) + rounding).all()


@pytest.mark.parametrize(("name", "time"), CASES)
def test_channels_timed_together_take_as_long_as_each_alone(name: str, time: str | None) -> None:
    problem = load_problem(design_file(name), [time] if time else [])
    assert isinstance(problem, Problem)
    designs = problem.decode(problem.genome.sample(np.random.default_rng(0), 80))
    placed, found = problem.time.placed(designs.npus), problem.time.channel_times(designs)
    assert len(found) > 2
    for (layout, group, load), together in found.items():
        assert isinstance(load, SizedCollective)
        alone = problem.time.seconds(load.collective, load.size, placed[layout, group], designs)
        np.testing.assert_array_equal(together, alone)


@pytest.mark.parametrize(("name", "time"), CASES)
def test_what_is_looked_up_of_topologies_is_what_is_computed(
    name: str, time: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    known, computed = (load_problem(design_file(name), [time] if time else []) for _ in range(2))
    assert isinstance(known, Problem)
    assert isinstance(computed, Problem)
    genes = known.genome.sample(np.random.default_rng(0), 80)
    found, listed = known.evaluate_genes(genes).objectives, known.traffic.listed
    assert listed is not None
    assert listed.shape[0] == 6
    assert listed.shape[-1] == len(known.structures)
    monkeypatch.setattr(allocate, "_MAX_FIGURES", 0)
    np.testing.assert_array_equal(computed.evaluate_genes(genes).objectives, found)
    assert computed.traffic.listed is None


@pytest.mark.parametrize("time", ["time={model: libra}", OPEN])
def test_designs_are_evaluated_in_tiles(time: str, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = load(time)
    designs = problem.decode(problem.genome.sample(np.random.default_rng(0), 90))
    whole, seen = problem.evaluate(designs), list[int]()
    evaluated = Evaluator.evaluate_tile

    def watched(
        evaluator: Evaluator, designs: Population, topologies: Topologies, traffic: FloatArray | None
    ) -> Evaluation:
        seen.append(len(designs))
        return evaluated(evaluator, designs, topologies, traffic)

    monkeypatch.setattr(Evaluator, "evaluate_tile", watched)
    monkeypatch.setattr("evo_libra.problem.evaluator.TILE", 40)
    np.testing.assert_array_equal(problem.evaluate(designs).objectives, whole.objectives)
    assert seen == [40, 40, 10]


def exact_schedule(problem: Problem, designs: Population) -> Population:
    return replace(
        designs, schedule=problem.time.schedules.schedule(np.empty((0, len(designs)), dtype=np.int64), designs.block)
    )


def test_times_differ_by_what_was_chosen() -> None:
    network = "RI(4)@chiplet:250_FC(8)@package:125_RI(4)@node:60_SW(32)@pod:20"
    options = (
        "chunks=4 scheduler=baseline algorithms=ring,direct,ring,halving-doubling",
        "chunks=16 scheduler=baseline algorithms=ring,direct,ring,halving-doubling",
        "chunks=16 scheduler=baseline algorithms=ring,ring,ring,ring",
        "chunks=16 scheduler=offline-greedy algorithms=ring,direct,ring,halving-doubling",
        "chunks=16 scheduler=themis-paper algorithms=ring,direct,ring,halving-doubling",
    )
    times = EVERYTHING.evaluate([f"{network} {option}" for option in options]).objectives[0]
    assert len(set(times.tolist())) == len(times)
    # What a design leaves out is the first choice, and the natural algorithms.
    assert EVERYTHING.evaluate(network).objectives[0, 0] == times[0]


@given(SEEDS)
@SETTINGS
def test_algorithms_that_cannot_run_are_replaced(seed: int) -> None:
    random = np.random.default_rng(seed)
    algorithm, block = random.integers(0, 3, (4, 50)), random.integers(0, 3, (4, 50))
    extent = random.integers(1, 20, (4, 50))
    for collective in Collective:
        names = np.array(ALGORITHMS)[runnable(algorithm, collective, block, extent)]
        assert (names[block == 0] == "ring").all()
        halving = names == "halving-doubling"
        assert (np.log2(extent[halving]) % 1 == 0).all()
        assert collective is not Collective.ALL_TO_ALL or not halving.any()


def test_an_npu_never_sends_more_than_its_bandwidth() -> None:
    algorithm, block = np.array([[0, 1, 2, 0, 1, 2, 0]]), np.array([[0, 1, 1, 2, 2, 2, 1]])
    link = link_bandwidth(np.full((1, 7), 60.0), algorithm, block, np.array([[4, 4, 4, 4, 4, 4, 1]]))
    assert link.tolist() == [[60.0, 20.0, 20.0, 60.0, 20.0, 60.0, 60.0]]


@pytest.mark.parametrize(
    ("assignment", "part"),
    [
        ("time=astra", "the latency of chiplet, package, node, pod is required"),
        ("time={model: astra, latency_ns: {chiplet: 1}}", "the latency of package, node, pod is required"),
        ("time={model: astra, latency_ns: {chip: 1}}", "did you mean 'chiplet'?"),
        ("time={model: libra, chunks: 4}", "belongs to astra and themis"),
        ("time={model: astra, latency_ns: 1, chunks: 0}", "chunks"),
        ("time={model: astra, latency_ns: 1, chunks: []}", "chunks"),
        ("time={model: astra, latency_ns: -1}", "latency_ns"),
        ("time={model: astra, latency_ns: 1, scheduler: themis}", "scheduler"),
        ("time={model: astra, latency_ns: 1, algorithms: {ring: direct}}", "a ring runs ring"),
        ("time={model: astr, latency_ns: 1}", "astra"),
        ("time=thems", "themis"),
    ],
)
def test_wrong_times_are_told(assignment: str, part: str) -> None:
    with pytest.raises(InputError, match=re.escape(part)):
        load(assignment)


def test_solved_bandwidths_are_of_libras_time() -> None:
    with pytest.raises(InputError, match="solved for under LIBRA's time"):
        load(astra(), "bandwidth=optimal")
    with pytest.raises(InputError, match="exhaustive solves for bandwidths under LIBRA's time"):
        search(load(astra()), engine="exhaustive", evaluations=10)


@pytest.mark.slow
def test_libras_time_bounds_chunks_in_order_and_nothing_else() -> None:
    ordered = load(astra(latency_ns=100))
    proof = certify(ordered, search(ordered, evaluations=300, population=60, seed=1))
    exact = certify(LIBRA, search(LIBRA, engine="exhaustive", evaluations=5000, population=60))
    # The same bound: what is bought is the same, and LIBRA's time is the least there is.
    assert proof.largest_factor > exact.largest_factor >= 1.0
    planned = load(astra(latency_ns=100, scheduler="offline-greedy"))
    with pytest.raises(InputError, match="may be faster than LIBRA's time, which bounds them"):
        certify(planned, search(planned, evaluations=100, population=20))


@pytest.mark.parametrize("option", ["chunks=5", "scheduler=themis", "algorithms=ring", "algorithms=direct,ring", "x=1"])
def test_options_that_are_no_choices_are_told(option: str) -> None:
    with pytest.raises(InputError, match="in the design"):
        EVERYTHING.evaluate(f"RI(4)@chiplet:250_SW(1024)@pod:20 {option}")
    with pytest.raises(InputError, match="options"):
        LIBRA.evaluate("RI(4)@chiplet:250_SW(1024)@pod:20 chunks=4")


def test_an_all_gather_of_fewer_bytes_than_chunks_is_told(tmp_path: Path) -> None:
    text = "HYBRID_TRANSFORMER\n1\nlayer -1 1 ALLGATHER 8 1 NONE 0 1 NONE 0 1\n"
    (tmp_path / "small.txt").write_text(text)
    (tmp_path / "small.yaml").write_text(
        "name: small\nnpus: 16\nfabric: {catalog: libra}\n"
        "workloads: [{file: small.txt, parallelism: {tp: 16}}]\ntime: {model: astra, latency_ns: 1, chunks: 16}\n"
    )
    with pytest.raises(InputError, match="all-gather of 8 bytes in layer layer cannot be cut into 16 chunks"):
        load_problem(str(tmp_path / "small.yaml"))


def test_a_front_is_rescored() -> None:
    front = search(LIBRA, evaluations=3000, seed=1)
    same = rescore(front, LIBRA)
    assert same.agreement == pytest.approx(1.0)
    assert same.frame["on_front"].all()
    assert (same.frame["rank"] == same.frame["rank_rescored"]).all()
    np.testing.assert_allclose(same.frame["time_ms"], same.frame["time_ms_rescored"], rtol=1e-12)
    slow = rescore(front, load(astra(latency_ns=20000, chunks=64)))
    assert slow.agreement is not None
    assert slow.agreement < 1.0
    assert (slow.frame["time_ms_rescored"] > slow.frame["time_ms"]).all()
    assert (slow.frame["cost_usd_rescored"] == slow.frame["cost_usd"]).all()
    assert sorted(slow.frame["rank"]) != slow.frame["rank_rescored"].to_list()
    kept = slow.frame.filter(slow.frame["on_front"]).select("time_ms_rescored", "cost_usd").to_numpy()
    others = slow.frame.select("time_ms_rescored", "cost_usd").to_numpy()
    better = (others[None] <= kept[:, None]).all(axis=2) & (others[None] < kept[:, None]).any(axis=2)
    assert not better.any()
    assert 0 < len(kept) < len(others)


@pytest.mark.slow
def test_chunks_scheduler_and_algorithms_are_searched() -> None:
    front = search(EVERYTHING, evaluations=1500, population=100, seed=0)
    assert {"chunks", "scheduler", "algorithm[0]"} <= set(front.frame.columns)
    assert set(front.frame["scheduler"]) <= {
        "baseline", "round-robin", "offline-greedy", "offline-greedy-flex", "themis-paper",
    }  # fmt: skip
    again = EVERYTHING.evaluate(front.frame["design"].to_list())
    np.testing.assert_allclose(again.objectives[0] * 1e3, front.frame["time_ms"].to_numpy(), rtol=1e-12)


def test_a_front_whose_schedules_were_searched_is_rescored_where_they_are_not_offered() -> None:
    front = search(load(astra(chunks=[4, 16], algorithms="search", latency_ns=500)), evaluations=300, population=50)
    plain = rescore(front, LIBRA)
    assert set(plain.dropped) == {"chunks", "algorithms"}
    assert plain.frame["design"].to_list() == front.frame["design"].to_list()
    assert set(plain.frame.columns) >= {"time_ms", "time_ms_rescored"}
    fixed = rescore(front, load(astra(chunks=64, algorithms="search", latency_ns=500)))
    assert fixed.dropped == ("chunks",)
    again = rescore(front, load(astra(chunks=[16, 4], algorithms="search", latency_ns=500)))
    assert again.dropped == ()
    np.testing.assert_allclose(again.frame["time_ms"], again.frame["time_ms_rescored"], rtol=1e-12)


def test_a_front_of_solved_bandwidths_is_rescored() -> None:
    solved = load("bandwidth={mode: optimal, min_GBps: 0, max_GBps: 700}")
    front = search(solved, evaluations=300, population=60, seed=1)
    other = load_problem("gpt3-4k", ["bandwidth=optimal", *with_time(solved, "astra"), "time.latency_ns=500"])
    assert isinstance(other, Problem)
    assert (rescore(front, other).frame["time_ms_rescored"] > front.frame["time_ms"]).all()


def test_bandwidths_too_low_to_be_timed_are_told() -> None:
    slow = load(astra(latency_ns=1), "bandwidth={min_GBps: 1e-12, max_GBps: 700}")
    with pytest.raises(InputError, match=r"bandwidth\.min_GBps has to be higher"):
        slow.evaluate("RI(2)@chiplet:1e-12_RI(2)@package:1e-12_RI(16)@node:1_SW(64)@pod:1")


@pytest.mark.parametrize("scheduler", ["themis-paper", "[baseline, themis-paper]"])
@pytest.mark.parametrize("policy", ["alternate", "fewest-phases-first"])
def test_a_policy_that_themis_paper_lacks_is_refused(scheduler: str, policy: str, tmp_path: Path) -> None:
    shipped = (Path(__file__).parents[2] / "problems" / "gpt3-4k.yaml").read_text().splitlines()
    text = "\n".join(line for line in shipped if not line.startswith("time:"))
    file = tmp_path / "problem.yaml"
    file.write_text(f"{text}\ntime:\n  model: themis\n  latency_ns: 0\n  scheduler: {scheduler}\n  policy: {policy}\n")
    with pytest.raises(InputError) as caught:
        load_problem(str(file))
    line = len(file.read_text().splitlines())
    assert str(caught.value) == (
        f"{file}:{line}:3: time.policy: found {policy}; allowed with the scheduler themis-paper: first-come, "
        "smallest-first"
    )


@pytest.mark.parametrize("policy", ["first-come", "smallest-first"])
def test_policies_of_themis_paper(policy: str) -> None:
    design = "RI(4)@chiplet:100_RI(4)@package:50_RI(4)@node:50_SW(64)@pod:20"
    paper, left_out = (
        load(astra(model="themis", latency_ns=500, scheduler="themis-paper", chunks=8, **more))
        for more in ({"policy": policy}, {})
    )
    same = paper.evaluate(design).objectives[0] == left_out.evaluate(design).objectives[0]
    # The paper's own policy is to take the smallest chunk first.
    assert same == (policy == "smallest-first")
