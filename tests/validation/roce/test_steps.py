"""Phases of collectives on the study's cluster by hand, and that its steps are those of the problem."""

from __future__ import annotations

import numpy as np
import pytest

from evo_libra.collective import Collective
from evo_libra.validation.roce.hashed import collisions, hashed_network, spines
from evo_libra.validation.roce.laws import LAWS
from evo_libra.validation.roce.steps import ALGORITHMS, GROUPS, communication_seconds, phases_of
from evo_libra.validation.roce.study import NPUS, STEP, Phase, network_of, run
from evo_libra.workload.layers.workload import Layer, Workload
from evo_libra.workload.layers.workload import Phase as Computed

AR, AG, A2A = Collective.ALL_REDUCE, Collective.ALL_GATHER, Collective.ALL_TO_ALL
ALL, TENSOR, DATA = GROUPS["all"], GROUPS["tp"], GROUPS["dp"]


def test_a_ring_has_254_steps_of_one_128th() -> None:
    # 2 (128 - 1) = 254 steps, of which 4 are simulated; only the first one is on new connections.
    first, *others = phases_of(AR, ALL, 128e6, "ring")
    assert first == Phase(near=1, far=1, crossing=1, size=1e6, times=63.5, fresh=True)
    assert others == [Phase(near=1, far=1, crossing=1, size=1e6, times=63.5, fresh=False)] * 3


def test_rings_of_groups() -> None:
    # Inside a leaf 2 (16 - 1) steps of 1/16; between leaves 2 (8 - 1) of 1/8, in which all of a leaf send out of it.
    assert phases_of(AR, TENSOR, 16e6, "ring")[0] == Phase(1, 0, 0, 1e6, 7.5)
    assert phases_of(AR, DATA, 8e6, "ring")[0] == Phase(0, 1, 16, 1e6, 3.5)
    # An all-gather of shards of 1 MB has half of the steps.
    assert phases_of(AG, TENSOR, 1e6, "ring")[0] == Phase(1, 0, 0, 1e6, 3.75)


def test_direct_sends_to_15_in_the_leaf_and_112_outside_twice() -> None:
    there, back = Phase(15, 112, 16, 1e6, 1.0, fresh=True), Phase(15, 112, 16, 1e6, 1.0, fresh=False)
    assert phases_of(AR, ALL, 128e6, "direct") == [there, back]
    assert phases_of(AR, TENSOR, 16e6, "direct")[0] == Phase(15, 0, 0, 1e6)
    assert phases_of(AR, DATA, 8e6, "direct")[0] == Phase(0, 7, 16, 1e6)
    # An all-to-all runs direct whatever the rest runs, once.
    assert phases_of(A2A, ALL, 128e6, "ring") == [there]
    assert phases_of(AG, ALL, 1e6, "direct") == [there]


def test_halving_doubling_leaves_the_leaf_from_a_distance_of_16() -> None:
    there_and_back = phases_of(AR, ALL, 128e6, "halving-doubling")
    assert len(there_and_back) == 14
    assert there_and_back[0] == Phase(1, 0, 0, 64e6, 1.0, fresh=True, distance=1)
    assert there_and_back[3] == Phase(1, 0, 0, 8e6, 1.0, fresh=True, distance=8)
    assert there_and_back[4] == Phase(0, 1, 16, 4e6, 1.0, fresh=True, distance=16)
    assert there_and_back[6] == Phase(0, 1, 16, 1e6, 1.0, fresh=True, distance=64)  # 1/128
    assert there_and_back[7] == Phase(0, 1, 16, 1e6, 1.0, fresh=False, distance=64)
    assert there_and_back[13] == Phase(1, 0, 0, 64e6, 1.0, fresh=False, distance=1)
    # Among the eight leaves 1/2, 1/4 and 1/8; shards of 1 MB are gathered as 1, 2, 4 and 8 MB, the far ones first.
    assert [one.size for one in phases_of(AR, DATA, 8e6, "halving-doubling")[:3]] == [4e6, 2e6, 1e6]
    gathered = phases_of(AG, TENSOR, 1e6, "halving-doubling")
    assert [(one.distance, one.size) for one in gathered] == [(8, 1e6), (4, 2e6), (2, 4e6), (1, 8e6)]
    assert all(one.fresh for one in gathered)


@pytest.mark.slow
def test_communication_is_that_of_all_collectives() -> None:
    # Two all-reduces of 16 MB in a leaf: 2 x 2 (8 + 4 + 2 + 1) MB x 1.062 / 25 GB/s = 2548.8 us, and 16 times 10 us.
    reduced = Computed(0.0, AR, 16e6, "tp")
    workload = Workload("two", (Layer("one", reduced, reduced, Computed(1.0)),))
    seconds = communication_seconds(workload, "pfc", "halving-doubling")
    assert seconds == pytest.approx(2548.8e-6 + 16 * 10e-6, abs=16 * STEP)


def test_hashed_routes_that_do_not_collide_are_even_ones() -> None:
    # Of 16 flows of a leaf two take each spine.
    even = np.arange(NPUS) % 8
    assert collisions(16, even) == 2
    network, alike = hashed_network(16, even), network_of(Phase(0, 1, 16, 1.0))
    controllers = [LAWS["pfc"].controller(one, STEP) for one in (network, alike)]
    # 100 kB at half of 25 GB/s are 8 us, and 35 us of delay.
    times = [
        run(one, controller, np.full(len(one.path), 100e3), STEP)
        for one, controller in zip((network, alike), controllers, strict=True)
    ]
    assert times == [pytest.approx(43e-6, abs=STEP)] * 2


def test_a_hash_makes_flows_collide() -> None:
    # NPU 0 of leaf 0 sends to NPU 16 of leaf 1 over spine 3: links 128 + 3, 192 + 3 x 8 + 1 and 256 + 16.
    route = hashed_network(16, np.full(NPUS, 3)).path
    assert route[0].tolist() == [0, 131, 217, 272]
    assert collisions(16, np.full(NPUS, 3)) == 16
    assert collisions(16, spines(0)) == 7
    assert ALGORITHMS == ("ring", "direct", "halving-doubling")
