"""Checks that any building block must pass; for the tests of this package and of other people's blocks.

In a test of your own: ``assert faults(MyBlock()) == []``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from evo_libra.arrays import BoolArray, IntArray
from evo_libra.collective import Collective, Pattern
from evo_libra.network.blocks.block import ITEMS, STEPS, Block
from evo_libra.network.blocks.kit import Kit, Part, Range

_CLOSE = 1e-12
_ROUNDING = 1e-9
_HALF = 0.5


def sample_kit(block: Block, ports: int = 24, radix: int = 16) -> Kit:
    """Return a kit of every kind of part: some ports of an NPU and of a switch, 16 times as many of an OCS.

    The index of the block, which it does not know itself, is 0.
    """

    def part(kind: str, count: int | None = None) -> Part:
        return Part(
            name=f"sample-{kind}", kind=kind, price=Range(1.0, 2.0, 3.0), power=1.0, ports=count, latency=1e-7,
            source="made up", year=2024,
        )  # fmt: skip

    kind = block.switch_kind
    switch = None if kind is None else part(kind, 16 * radix if kind == "ocs" else radix)
    link, ends = part("link"), part("transceiver")
    return Kit(
        technology="sample", block=0, rank=0, port_rate=1e9, ports=ports, domain_size=None, latency=1e-8, energy=1e-12,
        links=link, uplink=link, transceiver=ends, nic=part("nic", 4), switch=switch,
    )  # fmt: skip


def groups(block: Block, kit: Kit, most: int = 36) -> tuple[IntArray, IntArray, IntArray]:
    """Return extent, stride and NPUs of every group there can be in dimensions of up to some NPUs."""
    npus = np.arange(2, most + 1)
    sizes = npus[block.allowed(npus, kit)].tolist()
    found = [
        (extent, stride, size)
        for size in sizes
        for extent in range(1, size + 1)
        for stride in range(1, size // extent + 1)
        if size % (extent * stride) == 0
    ]
    extent, stride, size = np.array(found, dtype=np.int64).reshape(-1, 3).T
    return extent, stride, size


def faults(block: Block, kit: Kit | None = None) -> list[str]:
    """Return what is wrong with a block that is built of a kit, `sample_kit` when None, a sentence each."""
    kit = sample_kit(block) if kit is None else kit
    extent, stride, npus = groups(block, kit)
    if not len(npus):
        return [f"no dimension of up to 36 NPUs can be built of {kit.ports} ports"]
    sizes, block = np.unique(npus), block.at(kit, np.ones(1, dtype=np.int64))
    return [
        *_names(block),
        *_sizes(block, kit, sizes),
        *_shares(block, extent, stride, npus),
        *(_inner(block, extent, stride, npus) if block.divided or block.timed_as == "tree" else ()),
        *_steps(block, np.unique(extent)),
        *_counts(block, kit, sizes),
    ]


def _names(block: Block) -> Iterator[str]:
    if not re.fullmatch("[A-Z]+[0-9]*", block.code):
        yield f"the code '{block.code}' is not of capital letters, with digits behind them if any"
    if block.algorithm not in STEPS:
        yield f"there is no algorithm '{block.algorithm}'"
    if block.switch_kind not in (None, "switch", "ocs"):
        yield f"no part of kind '{block.switch_kind}' can be its switch"
    if block.timed_as not in (None, "ring", "line", "fully-connected", "switch", "tree"):
        yield f"no phases are known on '{block.timed_as}'"


def _sizes(block: Block, kit: Kit, npus: IntArray) -> Iterator[str]:
    quantum = block.quantum(npus, kit)
    yield from _at("quantum is below 1", npus, quantum < 1)
    yield from _at("more ports than there are come at a time", npus, quantum > kit.ports)
    links, switches = block.hops(npus, kit)
    yield from _at("no link is passed", npus, links < 1)
    yield from _at("more switches than links between them are passed", npus, (switches < 0) | (switches >= links))
    cut = block.cut(npus)
    yield from _at("the cut is not above 0, or more than half of the NPUs send", npus, (cut <= 0) | (cut > npus / 2))
    exchanged = (npus // 2) * (npus - npus // 2) / (npus - 1)
    share = block.share(Pattern.ALL_TO_ALL, npus, np.ones_like(npus), npus)
    yield from _at(
        "an all-to-all sends more over the cut than it carries", npus, share * exchanged > cut + _CLOSE * npus
    )
    if block.switch_kind is None:
        yield from _at("a switch is passed where there is none", npus, switches > 0)


def _shares(block: Block, extent: IntArray, stride: IntArray, npus: IntArray) -> Iterator[str]:
    found = {pattern: block.share(pattern, extent, stride, npus) for pattern in Pattern}
    for pattern, share in found.items():
        if share.shape != npus.shape:
            yield f"the share of {len(npus)} groups has the shape {share.shape}"
            return
        where = f"the share of {pattern.value}"
        yield from _at(f"{where} is not in (0, 1]", npus, ~((share > 0) & (share <= 1 + _CLOSE)))
        yield from _at(f"{where} of a single NPU is not 1", npus, (extent == 1) & (share != 1))
        alone = [float(block.share(pattern, *group)[0]) for group in _single(extent, stride, npus)]
        yield from _at(f"{where} depends on other groups", npus, ~np.isclose(alone, share, rtol=_CLOSE))
        for collective in Collective:
            factor = block.traffic_factor(pattern, extent, collective)
            yield from _at("the factor of traffic is not in [1/2, 1]", npus, (factor < _HALF) | (factor > 1))
    # A reduce-scatter can be run as an all-to-all of the parts.
    less = found[Pattern.SHRINKING] < found[Pattern.ALL_TO_ALL] * (1 - _CLOSE)
    yield from _at("the share of shrinking is below that of all-to-all", npus, less)


def _inner(block: Block, extent: IntArray, stride: IntArray, npus: IntArray) -> Iterator[str]:
    inner = block.inner(extent, stride, npus)
    used = inner.extent > 1
    yield from _at("a group is not on its inner dimensions", npus, np.not_equal(inner.extent.prod(axis=0), extent))
    yield from _at("a group is larger than an inner dimension", npus, np.any(inner.extent > inner.npus, axis=0))
    # Levels of a tree take turns.
    sent = np.where(used & block.divided, inner.share, 0.0).sum(axis=0)
    yield from _at("the shares of inner dimensions are not in (0, 1] together", npus, np.greater(sent, 1 + _CLOSE))
    yield from _at("an inner dimension has no share", npus, np.any(used & (inner.share <= 0), axis=0))


def _steps(block: Block, extent: IntArray) -> Iterator[str]:
    for collective in Collective:
        steps = block.steps(collective, extent)
        yield from _at(f"the steps of {collective.value} of one NPU are not 0", extent, (extent == 1) & (steps != 0))
        yield from _at(f"{collective.value} takes less than a step", extent, (extent > 1) & (steps < 1))
        yield from _at(f"{collective.value} takes half steps", extent, steps != np.rint(steps))
    both = block.steps(Collective.ALL_REDUCE, extent) < block.steps(Collective.REDUCE_SCATTER, extent)
    yield from _at("an all-reduce takes fewer steps than a reduce-scatter", extent, both)


def _counts(block: Block, kit: Kit, npus: IntArray) -> Iterator[str]:
    counts = block.counts(npus, kit)
    for name, array in vars(counts).items():
        if array.shape != (len(ITEMS), len(npus)):
            yield f"the {name} of the counts of {len(npus)} sizes has the shape {array.shape}"
            return
        yield from _at(f"the {name} of the counts is negative", npus, (array < 0).any(axis=0))
    for times in (1, 2, 3):
        ports = times * block.quantum(npus, kit)
        parts = counts.at(ports)
        broken = np.asarray((np.abs(parts - np.rint(parts)) > _ROUNDING * (1 + parts)).any(axis=0))
        yield from _at(f"{times} times the least ports take parts in fractions", npus, broken)
    links = counts.linear[ITEMS.index("link")]
    yield from _at("there are no links, or more than ports to tie them to", npus, (links <= 0) | (links > npus))
    switches = counts.relaxed[ITEMS.index("switch")]
    yield from _at("switches do not fit the kind of switch", npus, (switches > 0) != (block.switch_kind is not None))
    nics = counts.at(np.ones_like(npus))[ITEMS.index("nic")]
    yield from _at("an NPU has no NIC", npus, (nics < npus) & (kit.nic is not None))


def _single(*arrays: IntArray) -> list[list[IntArray]]:
    return [[array[n : n + 1] for array in arrays] for n in range(len(arrays[0]))]


def _at(message: str, npus: IntArray, wrong: BoolArray) -> Iterator[str]:
    if np.any(wrong):
        yield f"{message}, with {npus[np.flatnonzero(wrong)[0]]} NPUs"
