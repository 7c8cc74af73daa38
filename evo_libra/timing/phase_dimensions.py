"""The dimensions that phases run in, and the algorithm that runs in each where one was asked for.

They are those of a design, or a ring for each axis of a torus, and so on. The inner dimensions that a block names
decide: see `evo_libra.network.blocks.block.Block.inner`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from evo_libra.arrays import BoolArray, FloatArray, IntArray, Population, cases
from evo_libra.collective import Collective
from evo_libra.network.bill import inner_npus
from evo_libra.network.blocks import Kit
from evo_libra.network.blocks.block import Levels
from evo_libra.network.blocks.fat_tree import even_tree
from evo_libra.network.blocks.registry import BLOCKS
from evo_libra.network.routing import ROUTINGS
from evo_libra.timing.collectives.block_phase import IN_NETWORK
from evo_libra.timing.collectives.phase import FULLY_CONNECTED, LINE, RING, SWITCH, UPPER, Link
from evo_libra.units import nanoseconds
from evo_libra.workload.parallelism import offsets

RING_ALGORITHM, DIRECT, HALVING_DOUBLING = range(3)
"""Indices into `ALGORITHMS`."""


def runnable(algorithm: IntArray, collective: Collective, block: IntArray, extent: IntArray) -> IntArray:
    """Return the (d, n) algorithms that run where others were asked for.

    On rings and lines, ring always: what sends farther than to a neighbour shares links there, which this model does
    not see. Halving-doubling has no all-to-all: direct runs it; and it needs a power of two of NPUs: on others, ring
    runs.
    """
    halving = algorithm == HALVING_DOUBLING
    if collective is Collective.ALL_TO_ALL:
        found = np.where(halving, DIRECT, algorithm)
    else:
        found = np.where(halving & ((extent & (extent - 1)) != 0), RING_ALGORITHM, algorithm)
    found = np.where((block == RING) | (block == LINE), RING_ALGORITHM, found)
    tree = UPPER[block] > 0
    # Each level of a tree has its own number of NPUs.
    return np.where(tree, algorithm, found) if tree.any() else found


def link_bandwidth(bandwidth: FloatArray, algorithm: IntArray, block: IntArray, extent: IntArray) -> FloatArray:
    """Return the (d, n) bandwidth of a link from that of an NPU, in the same unit.

    An NPU's bandwidth is all it sends in a dimension. Direct algorithms send to all other NPUs at a time, and a fully
    connected dimension has a link to each of them; elsewhere a message has all of it. Of a tree it is all of an NPU.
    """
    spread = ((algorithm == DIRECT) & (UPPER[block] == 0)) | (block == FULLY_CONNECTED)
    return np.asarray(np.where(spread, bandwidth / np.maximum(extent - 1, 1), bandwidth))


def leaving(levels: Levels, algorithm: IntArray, extent: IntArray) -> FloatArray:
    """Return the (d, n) share of an NPU's bandwidth that messages have on fat trees while all groups send.

    Direct algorithms send to all members at a time, and rings to the next one. Halving and doubling sends to one
    member after the other, near ones and far ones: see `evo_libra.timing.collectives.phase.Link.step`.
    """
    near = np.where(algorithm == RING_ALGORITHM, levels.ring_share(extent), 1.0)
    return np.where(algorithm == DIRECT, levels.exchange_share(extent), near)


_CODES = [block.code for block in BLOCKS]
_KNOWN = {"ring": RING, "fully-connected": FULLY_CONNECTED, "switch": SWITCH, "line": LINE}
TIMED_BLOCKS = {
    block.code: _KNOWN.get(block.timed_as, _CODES.index(block.code)) for block in BLOCKS if block.timed_as is not None
}
"""Blocks that have phases, by their codes, as what these are timed: a Clos network is a switch, a torus are rings."""
PHASE_BLOCK = np.array([TIMED_BLOCKS.get(block.code, -1) for block in BLOCKS])
"""(b,) what the phases of each block are timed as; -1 for those without phases."""
ONE_ALGORITHM = tuple(np.flatnonzero(np.isin(PHASE_BLOCK, (RING, LINE)) | IN_NETWORK).tolist())
"""Blocks that run one algorithm, whatever is asked for: rings and lines run ring, and switches reduce."""
OPTICAL = np.array([block.switch_kind == "ocs" for block in BLOCKS])
"""(b,) whether the circuits of a block are set for each kind of group."""
SITED = np.array([block.sited for block in BLOCKS])
"""(b,) whether groups in a block have levels that depend on what it is built of."""
DIVIDED = np.array([block.divided for block in BLOCKS])
"""(b,) whether a block has inner dimensions."""


@dataclass(frozen=True)
class PhaseDimensions:
    """Groups on the dimensions that their phases run in, the innermost first; one of extent 1 is passed over.

    Attributes
    ----------
    block : (d, n) what a dimension is timed as.
    npus : (d, n) of the dimension; `extent` : those of a group; `stride` : how far apart these are.
    bandwidth : (d, n) B/s that a group has of an NPU.
    latency : (d, n) ns of a link.
    algorithm : (d, n) index into `evo_libra.timing.names.ALGORITHMS`.
    leaf : (d, n) NPUs of a group in each first-level switch of a tree; `leaf_latency` : (d, n) ns of a message there.
    pod, upper, top, uniform : (d, n), with `leaf` the `levels` of groups, where there are fat trees; and the slowdowns
        where flows are hashed there.
    """

    block: IntArray
    npus: IntArray
    extent: IntArray
    stride: IntArray
    bandwidth: FloatArray
    latency: FloatArray
    algorithm: IntArray
    leaf: IntArray
    leaf_latency: FloatArray
    pod: IntArray | None = None
    upper: FloatArray | None = None
    top: FloatArray | None = None
    uniform: FloatArray | None = None
    ring_slowdown: FloatArray | None = None
    exchange_slowdown: FloatArray | None = None
    pair_slowdown: FloatArray | None = None

    @property
    def levels(self) -> Levels | None:
        """The levels of groups on fat trees; None where there are none."""
        if self.pod is None or self.upper is None or self.top is None or self.uniform is None:
            return None
        names = ("ring_slowdown", "exchange_slowdown", "pair_slowdown")
        slower = {name: values for name in names if (values := getattr(self, name)) is not None}
        return Levels(self.leaf, self.pod, self.upper, self.top, self.uniform, **slower)

    @property
    def arrays(self) -> dict[str, Any]:
        """Its arrays, by name."""
        return {name: values for name, values in vars(self).items() if values is not None}

    def select(self, designs: IntArray | slice) -> PhaseDimensions:
        """Return the dimensions of some designs."""
        return PhaseDimensions(**{name: values[:, designs] for name, values in self.arrays.items()})

    def link(self) -> Link:
        """Return the (d, n) links of collectives; the bandwidth of an NPU is shared among what it sends at a time."""
        levels, parts = self.levels, dict[str, Any]()
        whole = self.bandwidth if levels is None else self.bandwidth * leaving(levels, self.algorithm, self.extent)
        bandwidth = link_bandwidth(whole, self.algorithm, self.block, self.extent)
        if levels is not None:
            # Of rings and direct algorithms, the bandwidth says all.
            parts = {
                name: np.where(self.algorithm == HALVING_DOUBLING, getattr(levels, name) / levels.pair_slowdown, 1.0)
                for name in ("upper", "top")
            }
            parts["pod"] = levels.pod
        if levels is not None or (UPPER[self.block] > 0).any():
            parts.update(leaf=self.leaf, leaf_latency=self.leaf_latency)
        return Link(self.block, self.extent, bandwidth, self.latency, **parts)

    def message_links(self, near: BoolArray) -> list[Link]:
        """Return the links of messages that run no collective; of trees, (d, n) whether these stay below a switch."""
        algorithm = self.algorithm
        if (algorithm != RING_ALGORITHM).any():  # a link of a network file has what the all-reduce needs
            algorithm = runnable(algorithm, Collective.ALL_REDUCE, self.block, self.npus)
        bandwidth = link_bandwidth(self.bandwidth, algorithm, self.block, self.npus)
        latency = np.where((UPPER[self.block] > 0) & near, self.leaf_latency, self.latency)
        return self._plain(self.npus, bandwidth, latency)

    def _plain(self, npus: IntArray, bandwidth: FloatArray, latency: FloatArray) -> list[Link]:
        return [Link(*row) for row in zip(self.block, npus, bandwidth, latency, strict=True)]

    def apart(self, source: int, target: int) -> FloatArray:
        """Return (d, n) how far apart two NPUs are in the first dimension in which they differ, on a line both ways."""
        found = offsets(source, target, self.npus)
        inside = np.cumprod(self.npus, axis=0) // self.npus
        place = source // inside % self.npus
        along = np.abs((place + found) % self.npus - place)
        return np.where(self.block == LINE, along, found).astype(np.float64)

    def links_between(self, source: int, target: int) -> list[Link]:
        """Return the links of a message between two NPUs; between the switches of a tree it has an NPU's part."""
        inside = np.cumprod(self.npus, axis=0) // self.npus
        places = [npu // inside % self.npus for npu in (source, target)]
        first, second = (place // np.maximum(self.leaf, 1) for place in places)
        near = first == second
        part = np.where((UPPER[self.block] > 0) & ~near, UPPER[self.block], 1.0)
        if (levels := self.levels) is not None:
            first, second = (place // np.maximum(levels.pod, 1) for place in places)
            part *= np.where(near, 1.0, np.where(first == second, levels.upper, levels.top))
        return replace(self, bandwidth=self.bandwidth * part).message_links(near)

    def divided(self, block: IntArray, bandwidth: FloatArray) -> PhaseDimensions:
        """Return the inner dimensions in place of those that have some.

        The (d, n) blocks are what these are built as, and the (d, n) bandwidths all that their NPUs have.
        """
        mine = DIVIDED[block] & (self.extent > 1)
        if not mine.any():
            return self
        rows: list[dict[str, IntArray | FloatArray]] = []
        for d in range(len(block)):
            rows += self._row(d, block[d], bandwidth[d], mine[d])
        stacked = {name: np.array([row[name] for row in rows]) for name in self.arrays}
        # Few designs use all of the rows: what follows is quicker with as few as the one with most of them needs.
        unused = stacked["extent"] == 1
        order = np.argsort(unused, axis=0, kind="stable")[: max(int((~unused).sum(axis=0).max()), 1)]
        return PhaseDimensions(**{name: np.take_along_axis(values, order, axis=0) for name, values in stacked.items()})

    def _row(
        self, d: int, block: IntArray, bandwidth: FloatArray, mine: BoolArray
    ) -> list[dict[str, IntArray | FloatArray]]:
        """Return a dimension as the rows that its inner dimensions take, one where no design has any."""
        plain = {name: values[d] for name, values in self.arrays.items()}
        if not mine.any():
            return [plain]
        rows = [{name: values.copy() for name, values in plain.items()}]
        for kind in np.unique(block[mine]).tolist():
            designs = np.flatnonzero(mine & (block == kind))
            group = [values[designs] for values in (plain["extent"], plain["stride"], plain["npus"])]
            first, case = cases(*group)
            inner = BLOCKS[kind].inner(*(values[first] for values in group))
            while len(rows) < len(inner.extent):
                rows.append({**{name: values.copy() for name, values in plain.items()}, "extent": np.ones_like(block)})
            for row, *figures in zip(rows, inner.npus, inner.extent, inner.stride, inner.share, strict=False):
                for name, values in zip(("npus", "extent", "stride"), figures, strict=False):
                    row[name][designs] = values[case]
                row["bandwidth"][designs] = bandwidth[designs] * figures[-1][case]
        return rows


def leaves(block: IntArray, extent: IntArray, stride: IntArray, npus: IntArray) -> IntArray:
    """Return (d, n) the NPUs of groups in each first-level switch of the trees among (d, n) blocks; else all."""
    tree = (UPPER[block] > 0) & (extent > 1)
    if not tree.any():
        return extent
    found = extent.copy()
    for kind in np.unique(block[tree]).tolist():
        mine = tree & (block == kind)
        found[mine] = BLOCKS[kind].inner(extent[mine], stride[mine], npus[mine]).extent[0]
    return found


def levels_of(
    designs: Population, kits: Sequence[Kit], extent: IntArray, stride: IntArray, leaf: IntArray
) -> dict[str, Any]:
    """Return `Levels` of (d, n) groups on the fat trees of some kits, by name; nothing where there are none.

    Elsewhere groups are in one pod and have (d, n) NPUs under a leaf.
    """
    sited = (SITED[designs.block] | _hashed(designs, kits)) & (extent > 1)
    if not sited.any():
        return {}
    whole, inside = np.ones(extent.shape), inner_npus(designs.npus)
    found: dict[str, Any] = {"leaf": leaf.copy(), "pod": extent.copy(), "upper": whole, "top": whole.copy()}
    found["uniform"] = np.zeros(extent.shape)
    for k in np.unique(designs.technology[sited]).tolist():
        mine = sited & (designs.technology == k)
        block = (even_tree(BLOCKS[kits[k].block].name) or BLOCKS[kits[k].block]).at(kits[k], inside[mine])
        for name, values in vars(block.levels(extent[mine], stride[mine], designs.npus[mine])).items():
            if name not in found and isinstance(values, float):
                continue  # nothing is hashed
            found.setdefault(name, np.ones(extent.shape))[mine] = values
    return found


def _hashed(designs: Population, kits: Sequence[Kit]) -> BoolArray:
    """Return (d, n) whether flows are hashed on trees of 1:1, which have no levels else."""
    hashed = [
        bool(kit.routing) and ROUTINGS[kit.routing].hashed and even_tree(BLOCKS[kit.block].name) is not None
        for kit in kits
    ]
    if not any(hashed):
        return np.zeros(designs.npus.shape, dtype=np.bool_)
    return np.array(hashed, dtype=np.bool_)[designs.technology]


def message_latency(
    latency: FloatArray, kits: Sequence[Kit], technology: IntArray, npus: IntArray, reached: IntArray
) -> FloatArray:
    """Return (d, n) ns of a message between neighbours over the hops that it is charged, from those of a link.

    Dimensions are of (d, n) NPUs and technologies; the message stays among (d, n) of their NPUs.
    """
    inside, found = inner_npus(npus), latency.copy()
    for k in np.unique(technology[npus > 1]).tolist():
        mine, kit = np.nonzero((technology == k) & (npus > 1)), kits[k]
        links, switches = BLOCKS[kit.block].hops(reached[mine], kit, inside[mine])
        passing = 0.0 if kit.switch is None else nanoseconds(kit.switch.latency)
        hops = 2.0 if PHASE_BLOCK[kit.block] == SWITCH else 1.0
        found[mine] = (links * latency[mine] + switches * passing) / hops
    return found
