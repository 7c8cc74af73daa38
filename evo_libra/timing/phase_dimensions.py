"""The dimensions that phases run in: those of a design, or a ring for each axis of a torus, and so on.

What a block says of its inner dimensions decides: see `evo_libra.network.blocks.block.Block.inner`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evo_libra.arrays import BoolArray, FloatArray, IntArray, cases
from evo_libra.network.blocks.registry import BLOCKS
from evo_libra.timing.algorithms import link_bandwidth
from evo_libra.timing.collectives.phase import FULLY_CONNECTED, LINE, RING, SWITCH, Link
from evo_libra.workload.parallelism import offsets

_KNOWN = {"ring": RING, "fully-connected": FULLY_CONNECTED, "switch": SWITCH, "line": LINE}
TIMED_BLOCKS = {block.code: _KNOWN[block.timed_as] for block in BLOCKS if block.timed_as is not None}
"""Blocks that have phases, by their codes, as what these are timed: a Clos network is a switch, a torus are rings."""
PHASE_BLOCK = np.array([TIMED_BLOCKS.get(block.code, -1) for block in BLOCKS])
"""(b,) what the phases of each block are timed as; -1 for those without phases."""
ONE_ALGORITHM = tuple(np.flatnonzero(np.isin(PHASE_BLOCK, (RING, LINE))).tolist())
"""Blocks that run one algorithm, whatever is asked for: rings and lines run ring."""
OPTICAL = np.array([block.switch_kind == "ocs" for block in BLOCKS])
"""(b,) whether the circuits of a block are set for each kind of group."""
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
    """

    block: IntArray
    npus: IntArray
    extent: IntArray
    stride: IntArray
    bandwidth: FloatArray
    latency: FloatArray
    algorithm: IntArray

    def select(self, designs: IntArray) -> PhaseDimensions:
        """Return the dimensions of some designs."""
        return PhaseDimensions(**{name: values[:, designs] for name, values in vars(self).items()})

    def links(self) -> list[Link]:
        """Return the links of messages that run no collective."""
        bandwidth = link_bandwidth(self.bandwidth, self.algorithm, self.block, self.npus)
        return [Link(*row) for row in zip(self.block, self.npus, bandwidth, self.latency, strict=True)]

    def apart(self, source: int, target: int) -> FloatArray:
        """Return (d, n) how far apart two NPUs are in the first dimension in which they differ, on a line both ways."""
        found = offsets(source, target, self.npus)
        inside = np.cumprod(self.npus, axis=0) // self.npus
        place = source // inside % self.npus
        along = np.abs((place + found) % self.npus - place)
        return np.where(self.block == LINE, along, found).astype(np.float64)

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
        stacked = {name: np.array([row[name] for row in rows]) for name in vars(self)}
        # Few designs use all of the rows: what follows is quicker with as few as the one with most of them needs.
        unused = stacked["extent"] == 1
        order = np.argsort(unused, axis=0, kind="stable")[: max(int((~unused).sum(axis=0).max()), 1)]
        return PhaseDimensions(**{name: np.take_along_axis(values, order, axis=0) for name, values in stacked.items()})

    def _row(
        self, d: int, block: IntArray, bandwidth: FloatArray, mine: BoolArray
    ) -> list[dict[str, IntArray | FloatArray]]:
        """Return a dimension as the rows that its inner dimensions take, one where no design has any."""
        plain = {name: values[d] for name, values in vars(self).items()}
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
