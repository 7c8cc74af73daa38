"""Times of populations in which designs have plans of their own: they are those of each plan alone."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest
from designs import design_file
from effort import costly
from hypothesis import given
from hypothesis import strategies as st

from evo_libra import load_problem
from evo_libra.arrays import FloatArray, Population
from evo_libra.collective import Collective, NextStage, SizedByPlan, SizedCollective
from evo_libra.errors import InputError
from evo_libra.problem.problem import Problem
from evo_libra.problem.time_models.loops import weighted_step
from evo_libra.timing import fidelity
from evo_libra.workload.layers.iteration_time import Load, Merging

EXACT = 1e-12
SEEDS = st.integers(0, 2**32 - 1)
TIMES = {
    "libra": "{model: libra}",
    "astra": "{model: astra, chunks: 8}",
    "themis": "{model: themis, chunks: 8}",
    "searched": "{model: themis, chunks: [4, 16], scheduler: [baseline, offline-greedy, themis-paper], "
    "algorithms: search}",
}  # fmt: skip
FABRIC = "fabric={catalog: parts-2024, technologies: [nvlink4, optics-400g], blocks: [switch], max_dimensions: 4}"
PLANS = (
    "workloads[0].training.overlap={tp: [false, true], pp: [false, true], dp: [false, true]}",
    "workloads[0].training.micro_batch=1", "workloads[0].training.recompute=none",
)  # fmt: skip
CASES = (
    ("llama3-405b-16k", "astra"), ("deepseek-v3-2k", "themis"), ("mixed-models-4k", "searched"),
    ("mixed-models-4k", "libra"),
)  # fmt: skip


@cache
def problem_of(name: str, time: str) -> Problem:
    # Gradients of tied weights and activations are messages of the same group, each of a size of its own.
    tied = ["workloads[0].generator.tied=true"] if name == "deepseek-v3-2k" else []
    found = load_problem(design_file(name), [FABRIC, f"time={TIMES[time]}", *PLANS, *tied])
    assert isinstance(found, Problem)
    assert found.time.tables
    return found


def some_designs(problem: Problem, seed: int, count: int) -> Population:
    designs = problem.decode(problem.genome.sample(np.random.default_rng(seed), count))
    return designs.select(np.flatnonzero(problem.time.fits(designs.npus, designs.plan)))


@pytest.mark.slow
@pytest.mark.parametrize(("name", "time"), CASES)
@given(seed=SEEDS)
@costly(5)
def test_each_design_has_the_time_of_its_plan_alone(name: str, time: str, seed: int) -> None:
    problem = problem_of(name, time)
    designs = some_designs(problem, seed, 20)
    found = np.array(problem.time.workload_times(designs))
    for n in range(len(designs)):
        alone = problem.time.pinned(designs.plans[:, n].tolist()).workload_times(designs.select([n]))
        np.testing.assert_allclose(found[:, n], np.ravel(alone), rtol=EXACT)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "time"), CASES)
@given(seed=SEEDS)
@costly(5)
def test_a_design_has_the_same_time_whatever_is_beside_it(name: str, time: str, seed: int) -> None:
    problem, random = problem_of(name, time), np.random.default_rng(seed)
    designs = some_designs(problem, seed, 60)
    found = problem.time(designs)
    some = np.flatnonzero(random.random(len(designs)) < 0.5)
    for mine in (random.permutation(len(designs)), some, np.repeat(some, 2), *np.split(some[:5], len(some[:5]))):
        np.testing.assert_array_equal(problem.time(designs.select(mine)), found[mine])


@pytest.mark.slow
@pytest.mark.parametrize("time", ["astra", "themis"])
def test_designs_of_many_plans_are_timed_at_once(time: str, monkeypatch: pytest.MonkeyPatch) -> None:
    timed: list[Collective] = []
    collective_time = fidelity.collective_time

    def counted(collective: Collective, *arguments: object, **options: object) -> FloatArray:
        timed.append(collective)
        return collective_time(collective, *arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(fidelity, "collective_time", counted)
    problem = problem_of("mixed-models-4k", time)
    designs = some_designs(problem, 0, 500)
    assert len(np.unique(designs.plans, axis=1).T) > 200
    problem.time(designs)
    assert sorted(what.value for what in timed) == ["all-gather", "all-to-all", "reduce-scatter"]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["llama3-405b-16k", "deepseek-v3-2k"])
def test_operations_of_a_table_are_those_of_each_of_its_plans(name: str) -> None:
    random = np.random.default_rng(0)
    for table in problem_of(name, "astra").time.tables:
        time = table.time(Merging.NONE)
        assert {table.setup[plan] for plan in random.integers(0, len(table), 40)} == set(range(len(table.setups)))
        for plan in random.integers(0, len(table), 60).tolist():
            alone = weighted_step(table.step(plan), 1.0, merging=Merging.NONE).time
            expected = alone([any_seconds(*stream) for stream in alone.streams])
            found = time([seconds_under(plan, *stream) for stream in time.streams], np.array([plan]))
            np.testing.assert_allclose(found, np.ravel(expected), rtol=EXACT)


def any_seconds(group: str, load: Load) -> FloatArray:
    """Return any seconds of an operation, which a byte or another group or kind changes."""
    assert isinstance(load, SizedCollective | NextStage)
    kind = load.collective.value if isinstance(load, SizedCollective) else "next stage"
    return np.random.default_rng([load.size, *f"{group} {kind}".encode()]).random(1) * 1e-3


def seconds_under(plan: int, group: str, load: Load) -> FloatArray:
    assert isinstance(load, SizedByPlan)
    if not load.sent[plan]:
        return np.full(1, 1e300)  # nothing of it may be in the time
    size, what = int(load.size[plan]), load.operation
    return any_seconds(group, NextStage(size) if isinstance(what, NextStage) else SizedCollective(what, size))


def test_a_plan_whose_all_gather_has_fewer_bytes_than_chunks_is_told(tmp_path: Path) -> None:
    file = tmp_path / "small.yaml"
    file.write_text(
        "name: small\nnpus: 64\nnpu: h100-80gb\n"
        "fabric: {catalog: parts-2024, technologies: [nvlink4, optics-400g], blocks: [switch], max_dimensions: 2}\n"
        "workloads:\n"
        "  - name: tiny\n"
        "    generator: {kind: decoder, layers: 2, hidden: 64, heads: 4, feed_forward: 256, gated: false,\n"
        "                vocabulary: 512}\n"
        "    training: {sequence: 64, global_batch: 64, zero: [0, 1]}\n"
        "    parallelism: {tp: [1, 2]}\n"
        "time: {model: astra, chunks: 6000}\nobjectives: [time, cost]\nbandwidth: ports\n"
    )
    with pytest.raises(InputError) as caught:
        load_problem(str(file))
    # 163,840 weights of two bytes, shared by 64.
    told = (
        "the all-gather of 5120 bytes in the group cp+dp under the plan dp64 mb1 zero1 cannot be cut into 6000 chunks"
    )
    assert str(caught.value).endswith(f"small.yaml:6:5: workloads[0]: {told}")
