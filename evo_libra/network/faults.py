"""Effects of failing parts on a network: stops of a job, parts in repair, and the NPUs that wait for them.

A failure that cuts NPUs off stops the job. Spare NPUs are wired to the network of the outermost technology, where it
has switches. A unit is all that is inside it, such as a server or a rack, however many dimensions that network has. A
spare unit stands in for a unit that a failure cuts off. The job waits for the repair of what cuts off several units,
and of all where places are fixed, as in a ring; in part it waits for what only takes bandwidth.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evo_libra.arrays import FloatArray, IntArray, cases
from evo_libra.network.bill import counting, inner_npus, parts_in
from evo_libra.network.blocks import ITEMS, Kit
from evo_libra.network.blocks.blast import STATED
from evo_libra.network.blocks.registry import BLOCKS
from evo_libra.network.catalog.failures import Failures

FIGURES = ("stops", "spared", "waits", "slows")
"""First axis of figures: stops of the job per second; and what is in repair at a time, in the mean: units that spares
can stand in for, failures that wait, and shares of bandwidth that are gone."""


@dataclass(frozen=True)
class Sparing:
    """Position of the spares of (n,) networks.

    Attributes
    ----------
    level : innermost dimension of the network that they are wired to; -1 where they can take no place in it.
    unit : NPUs that a spare unit has, those of a host at least.
    """

    level: IntArray
    unit: IntArray

    def units(self, spares: IntArray) -> FloatArray:
        """Return the (n,) units of (n,) spare NPUs; 0 where they can take no place."""
        return np.where(self.level >= 0, spares // self.unit, 0).astype(np.float64)


def sparing(kits: Sequence[Kit], kit_index: IntArray, npus: IntArray, host: int) -> Sparing:
    """Return where spares of networks of (d, n) sizes and kits are, whose hosts have some NPUs."""
    outermost = np.where(npus > 1, np.arange(len(npus))[:, None], 0).max(axis=0)
    every = np.arange(npus.shape[1])
    swaps = np.array([BLOCKS[kit.block].swaps for kit in kits])[kit_index]
    names = [kit.technology for kit in kits]
    technology = np.array([names.index(name) for name in names])[kit_index]
    first = outermost.copy()
    for d in range(len(npus) - 1, -1, -1):
        # The same technology further inside is the same network, as long as nothing else is between.
        joins = (d == first - 1) & swaps[d] & (npus[d] > 1) & (technology[d] == technology[outermost, every])
        first -= joins
    level = np.where(swaps[outermost, every], first, -1)
    return Sparing(level, np.maximum(inner_npus(npus)[np.maximum(level, 0), every] * (level >= 0), host))


def fault_figures(
    kits: Sequence[Kit], kit_index: IntArray, npus: IntArray, ports: FloatArray, failures: Failures, *, whole: bool
) -> FloatArray:
    """Return (figure, item, d, n) what failures of networks do, in the order of `FIGURES` and `ITEMS`.

    Parameters
    ----------
    kit_index, npus : (d, n) kits and sizes of the dimensions, 1 where one is unused.
    ports : (d, n) ports of an NPU.
    whole : whether parts come in whole pieces, or in any fraction.
    """
    counts = counting(kits, kit_index, npus)
    pieces = counts.at(ports.astype(np.int64)) if whole else counts.relaxed * ports
    one, many, slowed = _by_item(blasts(kits, kit_index, npus), counts.relaxed)
    rate, repair = _rates(kits, failures)[:, :, kit_index]
    level = sparing(kits, kit_index, npus, 1).level
    place = np.arange(len(npus))[:, None]
    inside, at = place < level, (place >= level) & (level >= 0)
    spared = np.where(inside, one + many, np.where(at, one, 0.0))
    failing = pieces * rate
    in_repair = failing * repair
    # A piece takes its share of a port's network, and that port is one of all ports: the pieces per port count.
    gone = counts.relaxed * rate * repair * slowed
    return np.stack([failing * (one + many), in_repair * spared, in_repair * (one + many - spared), gone])


def _rates(kits: Sequence[Kit], failures: Failures) -> FloatArray:
    """Return (2, item, kit) failures per second and seconds of repair."""
    found = [[failures.of(part) for part in parts_in(kit)] for kit in kits]
    figures = [[(one.rate, one.repair) for one in row] for row in found]
    return np.array(figures).transpose(2, 1, 0)


def _by_item(blasts: FloatArray, pieces: FloatArray) -> FloatArray:
    """Return (3, item, d, n) what failures of (item, d, n) pieces do, from that of the items that blocks know."""
    link, uplink, nic, switch = np.moveaxis(blasts, 1, 0)
    ends, up = pieces[ITEMS.index("transceiver")], 2.0 * pieces[ITEMS.index("uplink")]
    above = np.divide(up, ends, out=np.zeros_like(ends), where=ends > 0)
    found = {"link": link, "uplink": uplink, "nic": nic, "switch": switch, "short link": link, "short uplink": uplink}
    found["transceiver"] = link * (1.0 - above) + uplink * above
    return np.stack([found[item] for item in ITEMS], axis=1)


def blasts(kits: Sequence[Kit], kit_index: IntArray, npus: IntArray) -> FloatArray:
    """Return (3, item, d, n) what failures do in each dimension, of what blocks know; 0 in unused ones."""
    if not npus.size:
        return np.zeros((3, len(STATED), *npus.shape))
    chosen, sizes, inside = np.where(npus > 1, kit_index, -1).ravel(), npus.ravel(), inner_npus(npus).ravel()
    first, kind = cases(chosen, sizes, inside)
    found = np.zeros((3, len(STATED), len(first)))
    for index in np.unique(chosen[first]).tolist():
        if index >= 0:
            mine = np.flatnonzero(chosen[first] == index)
            some = first[mine]
            blast = BLOCKS[kits[index].block].blast(sizes[some], kits[index], inside[some])
            found[:, :, mine] = np.stack([blast.one, blast.many, blast.slowed])
    return found[:, :, kind].reshape(3, len(STATED), *npus.shape)
