"""Times of collectives and messages on small designs by hand: a link of 10 ns, no endpoint delay, ring algorithms."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from evo_libra.arrays import Population, Schedule, no_plans
from evo_libra.collective import Collective
from evo_libra.errors import InputError
from evo_libra.network.blocks import Kit, Part, Range
from evo_libra.network.blocks.registry import BLOCK_NAMES
from evo_libra.network.fabric import parse_fabric
from evo_libra.timing.collectives.phase import Overheads
from evo_libra.timing.fidelity import NATURAL, Fidelity
from evo_libra.timing.names import ALGORITHMS, SCHEDULERS, Policy, Scheduler
from evo_libra.timing.phase_dimensions import PHASE_BLOCK, PhaseDimensions, leaves, message_latency
from evo_libra.workload.layers.iteration_time import Message

AR = Collective.ALL_REDUCE


def fidelity(**given: object) -> Fidelity:
    every = np.tile(np.array([[ALGORITHMS.index("ring")]]), (len(BLOCK_NAMES), 1))
    usual = {
        "chunks": (1,), "schedulers": (SCHEDULERS.index("baseline"),), "algorithms": every, "latency": np.array([10.0]),
        "overheads": Overheads(0.0, np.inf), "active": 1, "shrinking": True, "policy": None,
    }  # fmt: skip
    return Fidelity(**{**usual, **given})  # type: ignore[arg-type]


def designs(*dimensions: tuple[str, int, float], of: Fidelity | None = None) -> Population:
    """Return one design of blocks, sizes and B/s."""
    block = np.array([[BLOCK_NAMES.index(name)] for name, _, _ in dimensions])
    found = of or fidelity()
    genes = np.zeros((len(found.genes(len(block))), 1), dtype=np.int64)
    return Population(
        np.array([[npus] for _, npus, _ in dimensions]), block, np.zeros_like(block),
        np.array([[rate] for _, _, rate in dimensions]), found.schedule(genes, block), no_plans(1),
    )  # fmt: skip


def part(kind: str, latency: float) -> Part:
    return Part(f"some {kind}", kind, Range(1.0, 1.0, 1.0), 1.0, 4, latency, "by hand", 2026)


def kit(block: str) -> Kit:
    return Kit(
        "some", BLOCK_NAMES.index(block), 0, 1e9, 4, None, 10e-9, 0.0, links=part("link", 0.0), uplink=None,
        transceiver=None, nic=None, switch=part("switch", 100e-9),
    )  # fmt: skip


def seconds(design: Population, extent: list[int], of: Fidelity | None = None, size: int = 400) -> float:
    return float((of or fidelity()).seconds(AR, size, np.array(extent)[:, None], design).item())


def test_a_collective_of_a_group() -> None:
    # All-reduce of 400 B among 4 on a ring of 1 B/ns: 6 (100 + 10) ns; among 2 of them 2 (200 + 10).
    design = designs(("ring", 4, 1e9))
    assert seconds(design, [4]) == pytest.approx(660e-9)
    assert seconds(design, [2]) == pytest.approx(420e-9)
    assert seconds(design, [1]) == 0.0


def test_latency_keeps_a_dimension_busy_or_only_delays_a_chunk() -> None:
    # Two chunks of 400 B between two NPUs of 1 B/ns: 200 ns and 10 ns each way. Busy: 4 (200 + 10) ns one after the
    # other. Else the dimension sends 4 times 200 ns without a gap, and the last chunk is there 10 ns later.
    two = fidelity(chunks=(2,))
    assert seconds(designs(("ring", 2, 1e9), of=two), [2], two, size=800) == pytest.approx(840e-9)
    free = fidelity(chunks=(2,), occupies=False)
    assert seconds(designs(("ring", 2, 1e9), of=free), [2], free, size=800) == pytest.approx(810e-9)
    assert not free.bounded


def test_the_ideal_has_neither_order_nor_latency() -> None:
    # 2 (1 - 1/8) 800 B over 4 B/ns; of a group of the 4 NPUs in dimension 0 alone, 2 (1 - 1/4) 800 B over 3 B/ns.
    ideal = fidelity(schedulers=(SCHEDULERS.index("ideal"),))
    design = designs(("ring", 4, 3e9), ("ring", 2, 1e9), of=ideal)
    assert seconds(design, [4, 2], ideal, size=800) == pytest.approx(350e-9)
    assert seconds(design, [4, 1], ideal, size=800) == pytest.approx(400e-9)
    assert not ideal.bounded


def test_a_group_has_its_share_of_the_bandwidth() -> None:
    design = designs(("ring", 4, 1e9))
    half = fidelity().seconds(AR, 400, np.array([[4]]), design, share=np.array([[0.5]]))
    assert half.tolist() == pytest.approx([6 * 210e-9])


def test_levels_of_trees_see_to_the_bandwidth_themselves() -> None:
    # 4 NPUs under one switch of FRED, 5 ns a link: scatter and gather 3 (100 + 10) ns each, whatever the share.
    design = designs(("fred-c", 4, 1e9))
    for share in (None, np.array([[0.5]])):
        found = fidelity().seconds(AR, 400, np.array([[4]]), design, share=share)
        assert found.tolist() == pytest.approx([660e-9])


def test_a_torus_is_a_ring_for_each_axis() -> None:
    # 2 x 2 with half of 2 B/ns each: scatter 200 + 10; all-reduce of 200 B 2 (100 + 10); gather 200 + 10.
    assert seconds(designs(("torus-2d", 4, 2e9)), [4]) == pytest.approx(640e-9)


def test_messages_have_the_first_dimension_that_differs() -> None:
    design = designs(("ring", 4, 1e9), ("switch", 2, 0.5e9))
    found = [float(fidelity().message_seconds(Message(0, target, 100), design).item()) for target in (1, 2, 3, 4, 6)]
    assert found == pytest.approx([110e-9, 120e-9, 110e-9, 220e-9, 120e-9])


def test_the_slowest_dimension_of_a_group_sets_the_pace_of_stages() -> None:
    design = designs(("ring", 4, 1e9), ("switch", 2, 0.5e9))

    def time(extent: list[int], stride: list[int]) -> float:
        where = (np.array(each)[:, None] for each in (extent, stride))
        return float(fidelity().next_stage_seconds(100, *where, design).item())

    assert time([4, 1], [1, 1]) == pytest.approx(110e-9)
    assert time([2, 1], [2, 1]) == pytest.approx(120e-9)
    assert time([4, 2], [1, 1]) == pytest.approx(220e-9)
    assert time([1, 1], [1, 1]) == 0.0


def test_links_and_switches_of_a_message_have_latency() -> None:
    # A single switch: two links of 10 ns and 100 ns of the switch, over the two hops that a message is charged.
    def latency(block: str, npus: int) -> float:
        found = message_latency(
            np.array([[10.0]]), (kit(block),), np.array([[0]]), np.array([[npus]]), np.array([[npus]])
        )
        return float(found.item())

    assert latency("switch", 4) == 60.0
    # Two tiers of 4-port switches: four links and three switches.
    assert latency("switch", 8) == 170.0
    assert latency("ring", 4) == 10.0
    with_kits = fidelity(kits=(kit("switch"),))
    design = designs(("switch", 4, 1e9), of=with_kits)
    assert with_kits.link_latency(design).tolist() == [[60.0]]
    assert seconds(design, [4], with_kits) == pytest.approx(6 * 220e-9)


def test_when_libras_time_is_a_lower_bound() -> None:
    # Two ns before each message outweigh what is rounded down.
    assert not fidelity().bounded
    assert fidelity(overheads=Overheads(2.0, np.inf)).bounded
    assert not fidelity(overheads=Overheads(1.9, np.inf)).bounded
    assert not fidelity(overheads=Overheads(2.0, np.inf), active=2).bounded
    assert not fidelity(overheads=Overheads(2.0, np.inf), schedulers=(1,)).bounded


def test_choices_are_genes() -> None:
    several = fidelity(chunks=(2, 8, 64), schedulers=(0, 1))
    assert several.genes(2) == [("chunks", 2), ("scheduler", 1)]
    block = np.array([[0, 0]])
    schedule = several.schedule(np.array([[2, 0], [0, 1]]), block)
    assert (schedule.chunks.tolist(), schedule.scheduler.tolist()) == ([64, 2], [0, 1])
    assert several.genes_of(schedule, block).tolist() == [[2, 0], [0, 1]]
    unknown = Schedule(np.array([64, 3]), schedule.scheduler, schedule.algorithm)
    assert several.genes_of(unknown, block).tolist() == [[2, -1], [0, 1]]
    assert fidelity().genes(2) == []
    both = fidelity(algorithms=np.tile(np.array([[0, 1]]), (len(BLOCK_NAMES), 1)))
    assert both.genes(2) == [("algorithm0", 1), ("algorithm1", 1)]


def test_policies_that_go_with_schedulers() -> None:
    assert fidelity().policy_of(Scheduler.BASELINE) is Policy.FIFO
    assert fidelity().policy_of(Scheduler.OFFLINE_GREEDY) is Policy.SMALLEST_FIRST
    assert fidelity(policy=Policy.ALTERNATING).policy_of(Scheduler.OFFLINE_GREEDY) is Policy.ALTERNATING
    assert {name: ALGORITHMS[NATURAL[BLOCK_NAMES.index(name)]] for name in ("ring", "switch", "fully-connected")} == {
        "ring": "ring", "switch": "halving-doubling", "fully-connected": "direct",
    }  # fmt: skip


def test_options_of_a_written_design() -> None:
    several = fidelity(chunks=(2, 8))
    fabric = replace(parse_fabric("RI(4)@package:250"), options=(("chunks", "8"),))
    block = np.array([[0]])
    assert several.read([fabric], block).chunks.tolist() == [8]
    assert several.read([replace(fabric, options=())], block).chunks.tolist() == [2]
    assert several.offers(fabric, ("chunks", "2"))
    assert not several.offers(fabric, ("chunks", "3"))
    with pytest.raises(InputError, match="chunks"):
        several.read([replace(fabric, options=(("chunks", "3"),))], block)


def test_how_far_apart_npus_are() -> None:
    # On a line of 4, NPU 3 is 3 from NPU 0; on a ring, one the other way.
    codes = {name: BLOCK_NAMES.index(name) for name in ("ring", "mesh-2d")}
    size = np.array([[4, 4]])
    found = PhaseDimensions(
        PHASE_BLOCK[np.array([[codes["ring"], codes["mesh-2d"]]])], size, size, np.ones_like(size), np.ones((1, 2)),
        np.ones((1, 2)), np.zeros_like(size), size, np.ones((1, 2)),
    )  # fmt: skip
    assert found.apart(0, 3).tolist() == [[3.0, 3.0]]
    assert found.apart(3, 0).tolist() == [[1.0, 3.0]]


def test_leaves_of_groups() -> None:
    # FRED has 4 NPUs under a switch: a group of 8 next to each other has 4 there, one of 4 with stride 2 has 2.
    block = np.array([[BLOCK_NAMES.index("fred-a")] * 2 + [BLOCK_NAMES.index("ring")]])
    extent, stride = np.array([[8, 4, 8]]), np.array([[1, 2, 1]])
    assert leaves(block, extent, stride, np.array([[8, 8, 8]])).tolist() == [[4, 2, 8]]


def test_several_collectives_under_several_schedulers() -> None:
    # 800 B in two chunks of 400 B among 2 x 2 of 1 B/ns without latency. In order, a reduce-scatter takes 500 ns, and
    # round robin 300 ns; an all-to-all 600 and 400 ns, as in `collectives/test_scheduled.py`.
    several = fidelity(chunks=(2,), schedulers=(0, 1), latency=np.array([0.0]))
    one = designs(("ring", 2, 1e9), ("ring", 2, 1e9), of=several)
    block = np.repeat(one.block, 5, axis=1)
    five = replace(
        one.select(np.zeros(5, dtype=np.int64)), schedule=several.schedule(np.array([[1, 0, 1, 0, 1]]), block)
    )
    runs = {Collective.REDUCE_SCATTER: slice(0, 2), AR: slice(2, 2), Collective.ALL_TO_ALL: slice(2, 5)}
    found = several.several_seconds(runs, 800, np.full((2, 5), 2), five)
    assert found.tolist() == pytest.approx([300e-9, 500e-9, 400e-9, 600e-9, 400e-9])
