"""Exact fronts of problems of parts, and what is counted on them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from effects_off import edited, in_boxes, load, variants, with_free_optics, without_domain_sizes
from every_design import designs_of, exact_front
from real_fabrics import combination_of, exact, in_any_fraction, reached, topology_of

from evo_libra import search
from evo_libra.front.archive import non_dominated
from evo_libra.problem.pricing.catalog import kits_of
from evo_libra.problem.problem import Problem


@pytest.fixture(scope="module")
def small() -> Problem:
    return load("dense-1k", ["npus=32", "workloads[0].parallelism.tp=4", "fabric.max_dimensions=3"])


def test_every_design_is_there_once_and_can_be_built(small: Problem) -> None:
    seen = set()
    for structure, bandwidth in designs_of(small):
        seen |= {(int(s), *column) for s, column in zip(structure, bandwidth.T.tolist(), strict=True)}
    count = sum(bandwidth.shape[1] for _, bandwidth in designs_of(small))
    assert len(seen) == count
    # Random legal designs are among them.
    genes = small.genome.sample(np.random.default_rng(0), 500)
    legal = np.flatnonzero(small.evaluate_genes(genes).violation <= 0)
    designs = small.decode(genes[:, legal])
    for n, gene in enumerate(legal):
        bandwidth = np.where(designs.npus[:, n] > 1, designs.bandwidth[:, n], 0.0)
        assert (int(genes[0, gene]), *bandwidth.tolist()) in seen


def test_the_exact_front_is_that_of_all_designs_under_the_problems_own_time(small: Problem) -> None:
    """LIBRA's time leaves out designs only that another one beats."""
    designs, worth, count = exact_front(small)
    assert count > 1000
    every = []
    for structure, bandwidth in designs_of(small):
        topologies = small.pricing.topologies(structure, np.zeros_like(small.structures.look_up(structure)[0]))
        level, share = bandwidth.sum(axis=0), bandwidth / bandwidth.sum(axis=0)
        with np.errstate(divide="ignore"):
            head = np.vstack([structure, np.zeros_like(topologies.npus), np.log(level), np.log(share)])
        found = small.evaluate_genes(small.genome.repair(head))
        every.append(found.objectives[:, found.violation <= 0])
    together = np.concatenate(every, axis=1)
    best = np.unique(together[:, non_dominated(together)].round(12), axis=1)
    _, first = np.unique(best[1], return_index=True)
    np.testing.assert_allclose(np.sort(worth[1]), np.sort(best[1, first]), rtol=1e-9)
    np.testing.assert_allclose(np.sort(worth[0]), np.sort(best[0, first]), rtol=1e-9)
    np.testing.assert_allclose(small.evaluate(designs).objectives, worth, rtol=1e-9)


@pytest.mark.parametrize("name", ["wafer-20", "dense-32k"])
def test_a_search_finds_no_more_than_there_is(name: str) -> None:
    problem = load(name)
    front = search(problem, evaluations=2000, population=100, seed=0)
    known = problem.evaluate(front.frame["design"].to_list()).objectives
    base = exact("", problem)
    # What is known spares work, and changes nothing.
    assert exact("", problem, known).designs == base.designs
    time = np.array([base.objectives[0, base.objectives[1] <= usd * (1 + 1e-9)].min() for usd in known[1]])
    assert (time <= known[0] * (1 + 1e-9)).all()
    assert 0.5 < reached(known, base.objectives) <= 1 + 1e-9


def test_the_wafer_has_33_designs_and_two_shapes() -> None:
    base = exact("", load("wafer-20"))
    assert base.every == 33
    assert base.topologies == {"ME(20)@wafer-mesh": 1, "WD(20)@wafer-fred": 4}


def test_effects_are_off(tmp_path: Path) -> None:
    problem, others = load("wafer-20"), variants("wafer-20", tmp_path)
    assert set(others) == {"shares", "whole parts", "domain sizes"}
    # FRED's mesh gives 8 of 20 NPUs a part of its links; without shares it gives all.
    mesh = "ME(20)@wafer-mesh:3000"
    assert others["shares"].evaluate(mesh).objectives[0] < problem.evaluate(mesh).objectives[0]
    # Six switches of a tree serve four ports; with one port a quarter of them is enough where parts are not whole.
    tree = "WD(20)@wafer-fred:750"
    assert others["whole parts"].evaluate(tree).objectives[1] < problem.evaluate(tree).objectives[1]
    unlimited = edited("dense-1k", tmp_path, without_domain_sizes)
    assert {kit.domain_size for kit in kits_of(unlimited.catalog)} == {None}
    boxes = {kit.technology: kit.domain_size for kit in kits_of(edited("dense-1k", tmp_path, in_boxes).catalog)}
    assert (boxes["nvlink4"], boxes["copper-400g"]) == (8, 72)
    free = edited("dense-1k", tmp_path, with_free_optics)
    kits = [kit for kit in kits_of(free.catalog) if kit.technology == "optics-400g"]
    assert {part.price.value for kit in kits for part in (kit.nic, kit.transceiver) if part} == {0.0}


def test_no_design_of_whole_lanes_is_below_the_best_of_any_fraction() -> None:
    problem = load("dense-32k")
    base = exact("", problem)
    ideal = in_any_fraction(problem, base.objectives[1])
    at = np.searchsorted(np.sort(base.objectives[1]), ideal.objectives[1] * (1 + 1e-9), side="right") - 1
    own = np.minimum.accumulate(base.objectives[0, np.argsort(base.objectives[1])])[at]
    assert (ideal.objectives[0] <= own * (1 + 1e-9)).all()


def test_names_of_topologies_and_combinations() -> None:
    design = "FC(2)@near:25_FC(8)@near:175_SW(64)@far:100"
    assert topology_of(design) == "RI(2)@near FC(8)@near SW(64)@far"
    assert combination_of(design) == "near + far"
