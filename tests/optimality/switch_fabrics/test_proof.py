"""The exact front of fabrics against brute force, and its bounds by hand."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
import pytest

from evo_libra import load_problem, search
from evo_libra.arrays import FloatArray
from evo_libra.errors import InputError
from evo_libra.front.archive import front
from evo_libra.network.fabrics.bits import TIES
from evo_libra.network.fabrics.traffic import Traffic
from evo_libra.optimality.switch_fabrics.certificate import prove_fabrics, topologies
from evo_libra.optimality.switch_fabrics.cuts import Step, TimeBound, steps_of
from evo_libra.optimality.switch_fabrics.proof import ExactFront, _beaten, _Search, _Sides, exact_front
from evo_libra.optimality.switch_fabrics.wirings import graphs, wirings
from evo_libra.optimality.watch import Progress
from evo_libra.problem.switch_fabrics.bill import fabric_parts
from evo_libra.problem.switch_fabrics.genes import FIELDS, GENES
from evo_libra.problem.switch_fabrics.identity import _signatures
from evo_libra.problem.switch_fabrics.problem import FabricProblem

SMALL = ("npus=64", "workloads[0].parallelism={tp: 8, pp: 4, vp: 3}")
FEW_PORTS = (*SMALL, "limits={switch_Tbps: 1.6, nic_ports: 2, npu_Tbps: 0.4}")
"""With 8 ports of a switch and 2 of an NPU."""


def problem_of(*assignments: str) -> FabricProblem:
    problem = load_problem("fabric-256", assignments)
    assert isinstance(problem, FabricProblem)
    return problem


def test_steps_by_hand() -> None:
    """Eight stages of 32 NPUs: half of the messages change bit 5 only, a quarter bit 6, a quarter all up to bit 7.

    Four replicas in bits 3 and 4 exchange 2/3 of their bytes in the first step and 1/3 in the second one. Of an
    all-to-all among 16 NPUs from bit 2 on, in servers of 8, 14 of 15 messages leave the server: all but the one that
    changes bit 2 alone. 8 of 15 change bit 3.
    """
    assert steps_of(Traffic("pipeline", 32, 8), 3) == [Step(1.0, ((1.0, 1 << 5), (0.5, 3 << 5), (0.25, 7 << 5)))]
    weights = [(one.weight, one.cuts) for one in steps_of(Traffic("data", 8, 4), 3)]
    assert weights == [(pytest.approx(2 / 3), ((1.0, 8),)), (pytest.approx(1 / 3), ((1.0, 16),))]
    (step,) = steps_of(Traffic("experts", 4, 16), 3)
    differ = pytest.approx(8 / 15)
    assert step.cuts == ((pytest.approx(14 / 15), 0), (differ, 8), (differ, 16), (differ, 32))


def test_a_time_bound_by_hand() -> None:
    """One port of 25 GB/s to switches that decide bit 4, and 6.25 GB/s per NPU from these to others.

    Messages of the first step stay below a switch; those of the second one cross, at 6.25 GB/s. Stages differ in bits
    above, so that theirs do not cross.
    """
    problem = problem_of()
    bound = TimeBound(problem.times[0], 3, knows_switches=True)
    found = bound(np.array([[25e9]]), np.array([[1 << 4]]), np.array([[6.25e9]]))
    data, pipeline = 2 / 3 / 25e9 + 1 / 3 / 6.25e9, 1 / 25e9
    kinds = {"data": data, "pipeline": pipeline}
    seconds = np.array([[kinds[one.kind]] for one in problem.times[0].traffic])
    assert found == pytest.approx(problem.times[0](seconds))


@pytest.mark.slow
@pytest.mark.parametrize("routing", ["paths: striped, forwarding: server", "paths: shortest, forwarding: none"])
def test_times_are_nowhere_below_their_bounds(routing: str) -> None:
    """Random fabrics: the cuts of their own links bound their times."""
    problem = problem_of(f"routing={{{routing}}}")
    genes = problem.genome.sample(np.random.default_rng(5), 400)
    evaluated, fabrics = problem.evaluate_genes(genes), problem.fabrics(genes)
    usable = np.flatnonzero(evaluated.violation <= 0.0)
    assert len(usable) > 25
    parts, signature = fabric_parts(fabrics), _signatures(fabrics)[0][0]
    down = (fabrics.joined * fabrics.parallel << fabrics.links)[:3] * fabrics.rate[:3]
    nodes = 2.0 ** (fabrics.bits[1:] - problem.space.npus)
    onward = np.maximum(parts.throughput[1:] * nodes - down, 0.0)
    tied = np.array([
        sum((signature[bit] >> TIES + pair & 1) << bit for bit in range(3, problem.space.npus)) for pair in range(3)
    ])  # fmt: skip
    found = TimeBound(problem.times[0], 3, knows_switches=True)(down, tied, onward)
    ratio = evaluated.objectives[0, usable] / found[usable]
    assert (ratio >= 1 - 1e-12).all()
    assert (ratio < 1 + 1e-9).mean() > 0.3


def every_design(problem: FabricProblem, rates: int) -> FloatArray:
    """Return genes of all fabrics of two layers that keep the limits of ports of NPUs, without parallel links.

    Of links between two layers each wiring is there once, at up to `rates` times 200 Gb/s.
    """
    npus, found = problem.space.npus, []
    for one, other in product(range(1, npus + 1), repeat=2):
        ends = ((npus, one), (npus, other), (one, other))
        choices = [
            _choices(problem, 3 * (pair > 1), sizes, rates, none=pair > 0) for pair, sizes in enumerate(ends)
        ]  # fmt: skip
        places = np.indices([part.shape[1] for part in choices]).reshape(3, -1)
        rows = np.zeros((GENES + 1, places.shape[1]))
        rows[:3] = np.array([[one], [other], [1.0]])
        for pair, part, place in zip((0, 1, 3), choices, places, strict=True):
            rows[3 + pair * len(FIELDS) : 3 + (pair + 1) * len(FIELDS)] = part[:, place]
        found.append(rows)
    return np.concatenate(found, axis=1)


def _choices(problem: FabricProblem, pair: int, sizes: tuple[int, int], rates: int, *, none: bool) -> FloatArray:
    genes = wirings(problem.space, pair, sizes).genes
    genes = genes[:, (genes[3] <= rates) & (genes[4] == 0)]
    joined = np.concatenate([np.ones((1, genes.shape[1])), genes])
    return np.concatenate([joined, np.zeros((len(FIELDS), int(none)))], axis=1)


def assert_nothing_is_new(exact: ExactFront, problem: FabricProblem, genes: FloatArray) -> None:
    """No design is better than all of the exact front, whose designs are as they are said to be."""
    evaluated = problem.evaluate_genes(genes)
    usable = evaluated.objectives[:, evaluated.violation <= 0.0]
    best = usable[:, front(usable)]
    reached = (exact.objectives[:, :, None] <= best[:, None] * (1 + 1e-9)).all(axis=0).any(axis=0)
    assert reached.all()


EXACT = exact_front(problem_of(*FEW_PORTS))


def test_the_exact_front_is_attained_and_proven() -> None:
    problem = problem_of(*FEW_PORTS)
    again = problem.evaluate_genes(EXACT.genes)
    assert np.array_equal(again.objectives, EXACT.objectives)
    assert (again.violation <= 0.0).all()
    assert EXACT.waiting == 0
    assert not EXACT.bound.size


def test_no_fabric_of_one_or_two_layers_is_better() -> None:
    """Fabrics of two layers at 64 NPUs and 200 Gb/s, 3,000 of them by chance."""
    problem = problem_of(*FEW_PORTS)
    genes = every_design(problem, 1)
    chosen = np.random.default_rng(0).choice(genes.shape[1], 3000, replace=False)
    assert_nothing_is_new(EXACT, problem, genes[:, chosen])


@pytest.mark.slow
def test_brute_force_finds_nothing_else() -> None:
    """All fabrics of one and two layers at 64 NPUs, at 200 and 400 Gb/s."""
    problem = problem_of(*SMALL)
    exact, genes = exact_front(problem), every_design(problem, 2)
    for start in range(0, genes.shape[1], 100_000):
        assert_nothing_is_new(exact, problem, genes[:, start : start + 100_000])


@pytest.mark.slow
def test_a_front_is_compared_with_the_exact_one() -> None:
    """A poor front lacks designs; one that has all of them is proven."""
    problem = problem_of(*FEW_PORTS)
    poor = search(problem, evaluations=200, population=40, seed=0)
    found = prove_fabrics(problem, poor)
    assert (found.waiting, found.exact) == (0, EXACT.objectives.shape[1])
    assert found.missing > 0
    assert found.missed_hypervolume > 0.0
    known = exact_front(problem, EXACT.objectives)
    assert np.array_equal(known.objectives, EXACT.objectives)


def test_a_proof_that_is_ended_says_what_it_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without time, sides whose switches may have other links wait, and their bounds stand for them."""
    problem = problem_of(*SMALL, "limits={switch_Tbps: 12.8, nic_ports: 2, npu_Tbps: 0.8}")
    began, join = list[bool](), _Search.join

    def noted(search: _Search, some: _Sides, others: Sequence[_Sides]) -> None:
        began.append(True)
        join(search, some, others)

    monkeypatch.setattr(_Search, "join", noted)
    ended = exact_front(problem, watch=lambda _progress: bool(began))
    assert ended.waiting == ended.bound.shape[1] > 0


def test_the_bound_on_the_way_is_that_of_a_proof_that_ends_there() -> None:
    problem = problem_of(*SMALL, "limits={switch_Tbps: 12.8, nic_ports: 2, npu_Tbps: 0.8}")
    poor = search(problem, evaluations=200, population=40, seed=0)
    heard: list[float] = []

    def watch(progress: Progress) -> bool:
        heard.extend([] if progress.factor is None else [progress.factor()])
        return bool(heard)

    found = prove_fabrics(problem, poor, watch)
    assert found.waiting > 0
    assert heard[0] == pytest.approx(found.largest_factor, rel=1e-9)


def test_a_proof_that_is_ended_before_it_has_all_sides_proves_nothing() -> None:
    with pytest.raises(InputError, match="nothing is proven: 0 ways to join NPUs to switches were examined, and more"):
        exact_front(problem_of(*FEW_PORTS), watch=lambda _progress: True)


def test_wrong_questions_are_said() -> None:
    with pytest.raises(InputError, match="proven for time and cost; the problem has hops, cost"):
        exact_front(problem_of("objectives=[hops, cost]"))


def test_topologies_are_counted() -> None:
    assert topologies(6) == 59_063_471_437
    assert len(graphs(8, 1)) == 9


def test_a_known_design_that_is_as_fast_but_for_a_rounding_and_costs_more_is_not_on_the_front() -> None:
    objectives = np.array([[1.0, 1.0 + 1e-15, 2.0], [3.0, 2.0, 1.0]])
    assert _beaten(objectives).tolist() == [True, False, False]
    assert not _beaten(np.array([[1.0, 2.0], [2.0, 1.0]])).any()
