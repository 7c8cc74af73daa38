"""What is open of how collectives run, as genes and as options of written designs, by hand."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from evo_libra.arrays import Population, Schedule, no_plans
from evo_libra.errors import InputError
from evo_libra.network.blocks.registry import BLOCK_NAMES
from evo_libra.network.fabric import parse_fabric
from evo_libra.timing.names import (
    ALGORITHMS,
    ASTRA_POLICIES,
    ASTRA_SCHEDULERS,
    POLICIES,
    SCHEDULERS,
    CollectiveAlgorithm,
    Policy,
    Scheduler,
)
from evo_libra.timing.schedule_choices import NoSchedules, ScheduleChoices

RING, SWITCH = BLOCK_NAMES.index("ring"), BLOCK_NAMES.index("switch")


def choices(chunks: tuple[int, ...] = (4, 16), schedulers: tuple[int, ...] = (0, 2),
            algorithms: tuple[int, ...] = (2, 1)) -> ScheduleChoices:  # fmt: skip
    """Return choices in which rings have ring alone, and other blocks some algorithms."""
    rows = np.tile(np.array([algorithms]), (len(BLOCK_NAMES), 1))
    rows[RING] = 0
    return ScheduleChoices(chunks, schedulers, rows)


def test_genes_of_what_is_open() -> None:
    assert choices().genes(2) == [("chunks", 1), ("scheduler", 1), ("algorithm0", 1), ("algorithm1", 1)]
    assert choices(chunks=(4,), algorithms=(2,)).genes(2) == [("scheduler", 1)]
    assert choices((4,), (0,), (2,)).genes(3) == []
    assert choices((1, 2, 3), (0,), (2, 1, 0)).genes(1) == [("chunks", 2), ("algorithm0", 2)]


def test_schedules_of_genes_and_back() -> None:
    block = np.array([[RING, SWITCH], [SWITCH, SWITCH]])
    genes = np.array([[1, 0], [0, 1], [1, 1], [0, 1]])
    found = choices().schedule(genes, block)
    # Gene 0 of two designs is 16 and 4 chunks, gene 1 the first and the second scheduler.
    assert (found.chunks.tolist(), found.scheduler.tolist()) == ([16, 4], [0, 2])
    assert found.algorithm.tolist() == [[0, 1], [2, 1]]
    # The first of equal choices stands for a ring.
    assert choices().genes_of(found, block).tolist() == [[1, 0], [0, 1], [0, 1], [0, 1]]
    one = choices((4,), (2,), (1,)).schedule(np.empty((0, 2), dtype=np.int64), block)
    assert (one.chunks.tolist(), one.scheduler.tolist(), one.algorithm.tolist()) == ([4], [2], [[0, 1], [1, 1]])
    assert choices((4,), (2,), (1,)).genes_of(one, block).shape == (0, 2)
    other = Schedule(np.array([5, 4]), np.array([1, 0]), np.array([[0, 0], [2, 1]]))
    assert choices().genes_of(other, block).tolist() == [[-1, 0], [-1, 0], [0, -1], [0, 1]]


def test_genes_that_matter() -> None:
    genes = np.array([[1, -1, 0, 0], [0, 0, 0, 0], [0, 0, -1, 0], [0, 0, 0, -1]])
    # The second dimension of the last design is not used: its algorithm does not matter.
    npus = np.array([[4, 4, 4, 4], [2, 2, 2, 1]])
    assert choices().covers(genes, npus).tolist() == [True, False, False, True]
    assert choices(algorithms=(2,)).covers(genes[:2], npus).tolist() == [True, False, True, True]


def test_options_of_written_designs() -> None:
    fabrics = [parse_fabric("RI(4)_SW(2) chunks=16 scheduler=offline-greedy algorithms=ring,direct"),
               parse_fabric("SW(4)_SW(2)")]  # fmt: skip
    found = choices().read(fabrics, np.array([[RING, SWITCH], [SWITCH, SWITCH]]))
    assert (found.chunks.tolist(), found.scheduler.tolist()) == ([16, 4], [2, 0])
    assert found.algorithm.tolist() == [[0, 2], [1, 2]]
    assert choices().offers(fabrics[0], ("algorithms", "ring,halving-doubling"))
    assert not choices().offers(fabrics[0], ("algorithms", "direct,direct"))
    assert not choices().offers(fabrics[0], ("scheduler", "round-robin"))


@pytest.mark.parametrize(("options", "words"), [
    ("chunks=8", "unknown chunks '8'"), ("scheduler=themis-paper", "unknown scheduler 'themis-paper'"),
    ("algorithms=ring", "1 algorithms are named for 2 dimensions"),
    ("algorithms=direct,direct", "unknown algorithm of RI(4) 'direct'"),
    ("algorithms=ring,ring", "unknown algorithm of SW(2) 'ring'"),
])  # fmt: skip
def test_options_that_are_none_of_the_choices(options: str, words: str) -> None:
    with pytest.raises(InputError, match=re.escape(words)):
        choices().read([parse_fabric(f"RI(4)_SW(2) {options}")], np.array([[RING], [SWITCH]]))


def population(schedule: Schedule) -> Population:
    npus, block = np.array([[4, 4], [2, 1]]), np.array([[RING, SWITCH], [SWITCH, RING]])
    return Population(npus, block, np.zeros_like(npus), np.ones(npus.shape), schedule, no_plans(2))


def test_columns_and_names_of_what_is_open() -> None:
    schedule = Schedule(np.array([16, 4]), np.array([0, 2]), np.array([[0, 2], [1, 0]]))
    found = choices().columns(population(schedule))
    # Of a dimension that is not used, there is no algorithm.
    assert found == {
        "chunks": [16, 4], "scheduler": ["baseline", "offline-greedy"], "algorithm[0]": ["ring", "halving-doubling"],
        "algorithm[1]": ["direct", ""],
    }  # fmt: skip
    fabrics = [parse_fabric("RI(4)_SW(2)"), parse_fabric("SW(4)")]
    named = choices().named(fabrics, population(schedule))
    assert [str(one) for one in named] == [
        "RI(4)_SW(2) chunks=16 scheduler=baseline algorithms=ring,direct",
        "SW(4) chunks=4 scheduler=offline-greedy algorithms=halving-doubling",
    ]
    few = choices((4,), (0,), (2,))
    assert few.columns(population(schedule)) == {}
    assert few.named(fabrics, population(schedule)) == fabrics


def test_a_time_without_schedules() -> None:
    none, fabric = NoSchedules("LIBRA's time"), parse_fabric("RI(4)")
    block = np.array([[RING, RING]])
    assert (none.scheduled, choices().scheduled) == (False, True)
    assert (none.genes(3), none.schedule(np.empty((0, 2), np.int64), block), none.read([fabric], block)) == (
        [],
        None,
        None,
    )
    assert none.genes_of(None, block).shape == (0, 2)
    assert none.covers(np.empty((0, 2)), block).tolist() == [True, True]
    assert not none.offers(fabric, ("chunks", "4"))
    with pytest.raises(InputError, match="has options; under LIBRA's time there are none"):
        none.read([replace(fabric, options=(("chunks", "4"),))], block)


def test_tables_of_names() -> None:
    assert SCHEDULERS == ("baseline", "round-robin", "offline-greedy", "offline-greedy-flex", "themis-paper", "ideal")
    assert ALGORITHMS == ("ring", "direct", "halving-doubling")
    assert tuple(POLICIES) == ("first-come", "alternate", "smallest-first", "fewest-phases-first")
    assert tuple(Scheduler)[:4] == ASTRA_SCHEDULERS
    assert tuple(Policy)[:4] == ASTRA_POLICIES
    assert CollectiveAlgorithm.of("halvingDoubling") is CollectiveAlgorithm.HALVING_DOUBLING
    assert [one.greedy for one in Scheduler] == [False, False, True, True, False, False]
    assert [one.default_policy is Policy.FIFO for one in Scheduler] == [True, True, False, False, False, True]
    assert [one for one in Scheduler if one.of_paper] == [Scheduler.THEMIS_PAPER, Scheduler.IDEAL]
    assert Scheduler.THEMIS_PAPER.policies == (Policy.FIFO, Policy.SMALLEST_FIRST)
    assert Scheduler.BASELINE.policies == tuple(POLICIES.values())
