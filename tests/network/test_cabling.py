"""Cables one by one: as many as the bill counts, and no port of a switch or of an NPU too many."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from evo_libra.errors import InputError
from evo_libra.network.bill import bill, fits
from evo_libra.network.blocks import ITEMS, Kit, Part, Range
from evo_libra.network.blocks.registry import BLOCKS
from evo_libra.network.cabling import cables as module
from evo_libra.network.cabling.cables import Cables, cables

SWITCH, FREE = ITEMS.index("switch"), Range(0.0, 0.0, 0.0)


def part(kind: str, ports: int | None = None) -> Part:
    return Part(kind, kind, FREE, 0.0, ports, 0.0, "a test", 2024)


def kit(block: int, radix: int, room: int, rank: int = 0) -> Kit:
    short = part("link") if room else None
    return Kit(
        "some", block, rank, 1e9, 48, None, 0.0, 0.0, part("link"), part("link"), part("transceiver"), part("nic", 2),
        part("switch", radix), short=short, room=room,
    )  # fmt: skip


def checked(kits: list[Kit], npus: list[int], ports: list[int]) -> Cables:
    items = bill(kits, np.arange(len(kits))[:, None], np.array(npus)[:, None], np.array(ports)[:, None])[:, :, 0]
    found = cables(kits, npus, ports, items)
    what = ([BLOCKS[one.block].name for one in kits], npus, ports, kits[0].radix, kits[0].room)
    for d, one in enumerate(kits):
        mine = found.dimension == d
        for i, item in enumerate(ITEMS):
            if item.endswith("link"):
                assert (mine & (found.item == i)).sum() == round(items[i, d]), (item, what)
        assert (found.switch_dimension == d).sum() == round(items[SWITCH, d]), what
        at_npus = found.ends < found.npus
        assert found.port[at_npus & mine].max() < ports[d], what
        at_switches = found.port[~at_npus & mine]
        if at_switches.size and BLOCKS[one.block].name not in ("ocs-rail", "fred-a", "fred-b", "fred-c", "fred-d"):
            assert at_switches.max() < one.radix, what
    assert (found.ends[0] != found.ends[1]).all()
    owner = np.where(found.ends < found.npus, found.ends * len(npus) + found.dimension, -found.ends)
    ends = np.stack([owner.ravel(), found.port.ravel()])
    assert np.unique(ends, axis=1).shape == ends.shape
    return found


def check_block(place: int, radixes: tuple[int, ...], rooms: tuple[int, ...]) -> int:
    tried = 0
    direct = [block.name for block in BLOCKS].index("fully-connected")
    for npus, inside, radix, room in product((2, 4, 9, 16, 24, 64), (1, 4), radixes, rooms):
        outer, inner = kit(place, radix, room, 1), kit(direct, radix, 0)
        quantum = int(BLOCKS[place].quantum(np.array([npus]), outer)[0])
        if fits(outer, np.array([npus]), np.array([inside]))[0] and 2 * quantum <= outer.ports:
            used = slice(0 if inside > 1 else 1, 2)
            checked([inner, outer][used], [inside, npus][used], [inside - 1, 2 * quantum][used])
            tried += 1
    return tried


@pytest.mark.parametrize("place", range(len(BLOCKS)), ids=lambda place: BLOCKS[place].name)
def test_cables_of_every_block_are_those_of_the_bill(place: int) -> None:
    assert check_block(place, (4, 8), (5,)) > 0


@pytest.mark.slow
@pytest.mark.parametrize("place", range(len(BLOCKS)), ids=lambda place: BLOCKS[place].name)
def test_cables_of_every_block_are_those_of_the_bill_with_larger_switches(place: int) -> None:
    assert check_block(place, (4, 6, 12, 16, 64), (0, 3, 40)) > 0


def test_every_switch_of_a_fat_tree_reaches_every_pod() -> None:
    # The fat tree of Al-Fares et al. (SIGCOMM 2008) with radix 8: a core has one link to each of its eight pods.
    place = [block.name for block in BLOCKS].index("switch")
    found = checked([kit(place, 8, 0)], [128], [1])
    tiers = np.concatenate([np.zeros(128, dtype=np.int64), found.switch_tier])
    assert [(found.switch_tier == tier).sum() for tier in (1, 2, 3)] == [32, 32, 16]
    core = tiers[found.ends[1]] == 3
    pod = (found.ends[0, core] - 128 - 32) // 4
    for switch in np.unique(found.ends[1, core]):
        assert sorted(pod[found.ends[1, core] == switch].tolist()) == list(range(8))


def test_a_block_that_nobody_has_wired_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_WIRES", {})
    with pytest.raises(InputError, match="cables of block 'ring' are not known one by one"):
        checked([replace(kit(0, 8, 0), block=[block.name for block in BLOCKS].index("ring"))], [4], [2])
