"""Genes of a design and the decisions that they stand for, on networks of 4 NPUs worked by hand."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from evo_libra.arrays import Population, no_plans
from evo_libra.problem.pricing.per_bandwidth import PricedTopologies
from evo_libra.problem.pricing.pricing import DimensionChoice
from evo_libra.problem.sections.network import SearchedBandwidths, SolvedBandwidths, SparesSection, bandwidth_section
from evo_libra.problem.sections.section import Draft, Rules

CHOICES = tuple(DimensionChoice(((0,),), np.array([low]), np.array([high])) for low, high in ((2.0, 8.0), (1.0, 4.0)))


def rules(**given: Any) -> Rules:
    """Return rules of two dimensions on networks of 4 NPUs."""
    return Rules(
        **{"choices": CHOICES, "pricing": SimpleNamespace(npus=4), "time": None, "traffic": None, "constraints": (),
           "optimal": False, "budgets": None} | given
    )  # fmt: skip


def networks(count: int) -> PricedTopologies:
    """Return networks of 2 x 2 NPUs at 10 and 20 USD per B/s."""
    two = np.ones((2, count))
    return PricedTopologies(
        np.full(count, -1), np.full((2, count), 2), np.zeros((2, count), dtype=np.int64),
        np.zeros((2, count), dtype=np.int64), np.array([[10.0], [20.0]]) * two, np.array([[2.0], [1.0]]) * two,
        np.array([[8.0], [4.0]]) * two, two, no_plans(count),
    )  # fmt: skip


def section() -> SparesSection:
    found = SparesSection.of(rules(spares=(0, 1, 3)))
    assert found is not None
    return found


def test_a_network_costs_as_much_as_that_of_all_npus_with_the_spare_ones() -> None:
    # 3 spares of 4 NPUs: 7/4 of 10 and 20 USD per B/s.
    found = section().decode(np.array([[0.0, 1.0, 2.0]]), Draft(topologies=networks(3)))
    assert found.spares is not None
    assert found.spares.tolist() == [0, 1, 3]
    assert found.networks.price.tolist() == [[10.0, 12.5, 17.5], [20.0, 25.0, 35.0]]


def test_spares_are_one_gene_that_reads_back() -> None:
    (gene,) = section().genes()
    assert (gene.name, gene.lower, gene.upper, gene.ordered) == ("spares", 0.0, 2.0, True)
    draft = Draft(structure=np.zeros(4, dtype=np.int64), topologies=networks(4), spares=np.array([3, 0, 1, 2]))
    genes = section().encode(draft)
    assert genes.tolist() == [[2, 0, 1, -1]]
    assert section().covers(genes, SimpleNamespace()).tolist() == [True, True, True, False]  # type: ignore[arg-type]
    assert section().encode(replace(draft, spares=None)).tolist() == [[0, 0, 0, 0]]
    assert SparesSection.of(rules(spares=(0,))) is None


def test_a_level_is_shared_out() -> None:
    # A level of 8 B/s in the proportion 3 : 1, and one beyond what the dimensions can have.
    genes = np.log(np.array([[8.0, 80.0], [0.75, 0.5], [0.25, 0.5]]))
    found = SearchedBandwidths(rules()).decode(genes, Draft(topologies=networks(2)))
    assert found.bandwidth.tolist() == [[pytest.approx(6.0), 8.0], [pytest.approx(2.0), 4.0]]
    # Of an unused dimension the other one has all of it.
    one = replace(
        networks(1), used=np.array([[1.0], [0.0]]), low=np.array([[2.0], [0.0]]), high=np.array([[8.0], [0.0]])
    )
    assert SearchedBandwidths(rules()).decode(genes[:, :1], Draft(topologies=one)).bandwidth.tolist() == [
        [pytest.approx(8.0)], [0.0],
    ]  # fmt: skip


def test_genes_of_bandwidths_reach_every_corner() -> None:
    level, *shares = SearchedBandwidths(rules()).genes()
    # From the smallest bandwidth of all to a hundred times the largest one in both dimensions.
    assert [level.lower, level.upper] == pytest.approx([0.0, np.log(1600.0)])
    assert [gene.name for gene in shares] == ["share0", "share1"]
    # A technology that a dimension cannot have has no bandwidth.
    other = DimensionChoice(((0,), ()), np.array([2.0, 0.0]), np.array([8.0, 0.0]))
    assert SearchedBandwidths(rules(choices=(other,))).genes()[0].lower == pytest.approx(np.log(2.0))
    assert [(gene.lower, gene.upper) for gene in shares] == [(pytest.approx(-np.log(8.0)), 0.0)] * 2
    bandwidth = np.array([[6.0], [2.0]])
    assert SearchedBandwidths(rules()).encode(Draft(bandwidth=bandwidth)).tolist() == [
        [pytest.approx(np.log(8.0))], [0.0], [pytest.approx(np.log(1 / 3))],
    ]  # fmt: skip


def test_a_budget_is_the_cost_of_the_bandwidths() -> None:
    solved = SolvedBandwidths(rules(optimal=True, budgets=(10.0, 1000.0)))
    (gene,) = solved.genes()
    assert [gene.lower, gene.upper] == pytest.approx([np.log(10.0), np.log(1000.0)])
    one = Population(np.full((2, 1), 2), np.zeros((2, 1), dtype=np.int64), np.zeros((2, 1), dtype=np.int64),
                     np.array([[6.0], [2.0]]), None, no_plans(1))  # fmt: skip
    draft = solved.recognise(one, Draft(topologies=networks(1)))
    assert draft.budget.tolist() == [100.0]  # 6 x 10 + 2 x 20 USD
    assert solved.encode(draft).tolist() == [[pytest.approx(np.log(100.0))]]
    assert SolvedBandwidths(rules()).genes() == []
    assert SolvedBandwidths(rules()).encode(draft).shape == (0, 1)
    assert isinstance(bandwidth_section(rules(optimal=True)), SolvedBandwidths)
    assert isinstance(bandwidth_section(rules()), SearchedBandwidths)
