"""Genes of structures and blocks of 4 NPUs, and the designs that they stand for, by hand."""

from __future__ import annotations

from typing import Any

import numpy as np

from evo_libra.arrays import Population, no_plans
from evo_libra.network.blocks.registry import BLOCK_NAMES
from evo_libra.network.catalog.technologies import Catalog, Technology, part_prices
from evo_libra.problem.pricing.per_bandwidth import PerBandwidth
from evo_libra.problem.pricing.pricing import DimensionChoice, choice_tables
from evo_libra.problem.sections.network import BlockSection, StructureSection
from evo_libra.problem.sections.section import Draft, Rules
from evo_libra.problem.space import Structures

RING, SWITCH = BLOCK_NAMES.index("ring"), BLOCK_NAMES.index("switch")
CATALOG = Catalog("by-hand", "by hand", (
    Technology("node", 2.0, None, None, None, None, ("ring",)),
    Technology("pod", 3.0, 10.0, 7.0, None, None, ("ring", "switch")),
))  # fmt: skip
SPACE = Structures(np.array([[4, 2, 4], [1, 2, 1]]), np.array([[0, 0, 1], [0, 1, 1]]))


def rules() -> Rules:
    choice = DimensionChoice(((RING,), (RING, SWITCH)), np.array([1.0, 2.0]), np.array([5.0, 6.0]))
    pricing = PerBandwidth(SPACE, 4, *choice_tables((choice, choice)), part_prices(CATALOG))
    none: Any = None
    return Rules((choice, choice), pricing, none, none, (), optimal=False, budgets=None)


def designs() -> Population:
    """Return node 2 x pod 2 with a switch outside, and pod 4 inside of nothing as a torus, which none offers."""
    block = np.array([[RING, BLOCK_NAMES.index("torus-2d")], [SWITCH, RING]])
    npus, technology = np.array([[2, 4], [2, 1]]), np.array([[0, 1], [1, 0]])
    return Population(npus, block, technology, np.ones((2, 2)), None, no_plans(2))


def test_a_structure_is_one_gene() -> None:
    section = StructureSection(rules())
    (gene,) = section.genes()
    assert (gene.name, gene.lower, gene.upper, gene.ordered) == ("structure", 0.0, 2.0, True)
    assert section.decode(np.array([[2.0, 0.0]]), Draft()).structure.tolist() == [2, 0]
    found = section.recognise(designs(), Draft())
    assert section.encode(found).tolist() == [[1, 2]]
    other = Population(np.array([[4], [1]]), np.zeros((2, 1), np.int64), np.array([[0], [0]]), np.ones((2, 1)), None,
                       no_plans(1))  # fmt: skip
    assert section.encode(section.recognise(other, Draft())).tolist() == [[0]]
    assert section.covers(np.array([[0, -1]]), designs()).tolist() == [True, False]


def test_a_block_is_a_gene_of_each_dimension() -> None:
    section = BlockSection(rules())
    assert [(gene.name, gene.lower, gene.upper, gene.ordered) for gene in section.genes()] == [
        ("block0", 0.0, 1.0, False), ("block1", 0.0, 1.0, False),
    ]  # fmt: skip
    draft = section.decode(np.array([[0.0], [1.0]]), Draft(structure=np.array([1])))
    assert draft.networks.block.tolist() == [[RING], [SWITCH]]
    assert section.encode(draft).tolist() == [[0], [1]]
    genes = section.encode(section.recognise(designs(), Draft()))
    assert genes.tolist() == [[0, -1], [1, 0]]
    # Of an unused dimension the gene does not matter.
    assert section.covers(genes, designs()).tolist() == [True, False]
    assert section.covers(np.array([[0, 0], [1, -1]]), designs()).tolist() == [True, True]
