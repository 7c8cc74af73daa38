"""Exact fronts of problems of parts, and what is counted on them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from effects_off import edited, in_boxes, load, variants, with_free_optics, without_domain_sizes
from real_fabrics import combination_of, exact, in_any_fraction, reached, topology_of

from evo_libra import search
from evo_libra.problem.pricing.catalog import kits_of


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
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
