"""Genes of the open choices of how collectives run, on two networks of two dimensions."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from evo_libra.problem.sections.section import Draft, Rules
from evo_libra.problem.sections.workload import CollectiveSection
from evo_libra.timing.schedule_choices import NoSchedules, ScheduleChoices

ALGORITHMS = np.array([[0, 3], [1, 2]])
"""Of two blocks, two algorithms each."""

CHOICES = ScheduleChoices((4, 16, 64), (2,), ALGORITHMS)


def section(choices: Any = CHOICES) -> CollectiveSection | None:
    return CollectiveSection.of(
        Rules(
            choices=(None, None), pricing=None, time=SimpleNamespace(schedules=choices), traffic=None, constraints=(),
            optimal=False, budgets=None,
        )  # type: ignore[arg-type]
    )  # fmt: skip


def draft() -> Any:
    return Draft(topologies=SimpleNamespace(block=np.array([[0, 1], [1, 1]])))  # type: ignore[arg-type]


def found() -> CollectiveSection:
    one = section()
    assert one is not None
    return one


def test_what_is_open_is_a_gene_and_only_chunks_have_an_order() -> None:
    assert [(gene.name, gene.lower, gene.upper, gene.ordered) for gene in found().genes()] == [
        ("chunks", 0.0, 2.0, True), ("algorithm0", 0.0, 1.0, False), ("algorithm1", 0.0, 1.0, False),
    ]  # fmt: skip
    assert section(NoSchedules("LIBRA's time")) is None


def test_genes_are_places_among_the_choices_of_a_block() -> None:
    # The first network has 64 chunks, and block 0 and 1 run their second and first algorithm.
    genes = np.array([[2.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    one = found().decode(genes, draft())
    assert one.schedule is not None
    assert one.schedule.chunks.tolist() == [64, 4]
    assert one.schedule.scheduler.tolist() == [2]
    assert one.schedule.algorithm.tolist() == [[3, 1], [1, 2]]
    assert found().encode(one).tolist() == genes.tolist()
    assert found().covers(genes, SimpleNamespace(npus=np.full((2, 2), 4))).tolist() == [True, True]  # type: ignore[arg-type]
    assert found().covers(genes - 1.0, SimpleNamespace(npus=np.full((2, 2), 4))).tolist() == [False, False]  # type: ignore[arg-type]


def test_a_schedule_is_that_of_a_design() -> None:
    schedule = found().decode(np.zeros((3, 2)), draft()).schedule
    assert found().recognise(SimpleNamespace(schedule=schedule), draft()).schedule is schedule  # type: ignore[arg-type]
