"""FRED's published figures of a wafer (Rashidi et al., arXiv 2406.19580): bandwidths, bisections, gains of trees."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from evo_libra.arrays import GIGA
from evo_libra.collective import Pattern
from evo_libra.network.bill import bill, power_by_item
from evo_libra.network.blocks.fred import LEAF, FredTree
from evo_libra.network.blocks.registry import BLOCKS
from evo_libra.network.catalog.parts import load_parts
from evo_libra.validation.fabrics import value
from evo_libra.validation.fred_runs import MESH, NPUS, RUNS, SWEEPS
from evo_libra.validation.source import Basis, PublishedRow, PublishedSource

SHORT = 4
"""NPUs along the shorter side of the mesh."""
TREES = ("fred-a", "fred-b", "fred-c", "fred-d")
NETWORKS = (MESH, *TREES)
_BLOCKS = {block.name: block for block in BLOCKS}

CHANNELS, CHANNEL, LINK = 18, 128.0, 750.0
"""I/O channels of the wafer, GB/s of each of them and of a link of the mesh."""


@dataclass(frozen=True)
class Group:
    """A process group, as the paper's micro-benchmarks have it.

    Attributes
    ----------
    name : what it is for.
    extent, stride : its NPUs, and how far apart they are.
    published : GB/s of each network of `NETWORKS`, as far as it is published.
    """

    name: str
    extent: int
    stride: int
    published: tuple[float | None, ...]


GROUPS = (
    Group("MP of 20", 20, 1, (1500, 1875, 1500, 3000, 3000)),
    Group("MP of 2", 2, 1, (750, 3000, 3000, 3000, 3000)),
    Group("DP of 5", 5, 4, (750, 375, None, 3000, 3000)),
    Group("PP of 2", 2, 2, (750, 3000, 3000, 3000, 3000)),
)
"""MP(20) and MP(2)-DP(5)-PP(2), workers of one MP group on consecutive NPUs, then PP, then DP."""

PRINTED = {("MP of 20", "fred-a"): 1850.0}
"""Printed figure of the paper, whose expression, 375 + 4 x 375, gives another one."""


def injection() -> float:
    """Return the GB/s that an NPU can send."""
    kit = next(kit for kit in load_parts("wafer").kits if kit.technology == "wafer-fred")
    return kit.ports * kit.port_rate / GIGA


def effective(network: str, group: Group) -> float:
    """Return the GB/s of each NPU while all groups of a kind communicate."""
    extent, stride, npus = (np.array([one]) for one in (group.extent, group.stride, NPUS))
    return injection() * float(_BLOCKS[network].share(Pattern.SHRINKING, extent, stride, npus)[0])


def alone(network: str, group: Group) -> float:
    """Return the GB/s of each NPU of a single group, as the paper counts them.

    On the mesh, a group on one axis has a link to itself. Pipelined stages send from one worker of an MP group only, so
    that theirs are alone, too. In tree A, what an NPU sends within its switch is taken as four times what it sends
    above it, where it is 3/4 of the message to 1/5 of it: 375 + 4 x 375 GB/s.
    """
    if network == MESH:
        stride = 1 if group.stride < SHORT else group.stride
        return effective(network, Group(group.name, group.extent, stride, ()))
    tree = _BLOCKS[network]
    assert isinstance(tree, FredTree)  # noqa: S101 - they are
    if group.extent == NPUS and not tree.in_network:
        return min((1 + LEAF) * tree.upper, 1.0) * injection()
    return effective(network, group)


def saved(extent: int) -> float:
    """Return the part of an all-reduce's traffic that switches save which reduce."""
    return 1 - float(_BLOCKS["fred-d"].traffic_factor(Pattern.SHRINKING, np.array([extent]))[0])


def hottest_link() -> float:
    """Return the GB/s that the worst link of the mesh would carry while all I/O channels broadcast."""
    return LINK * CHANNELS * CHANNEL / (injection() * float(_BLOCKS[MESH].stream_share(np.array([NPUS]))[0]))


def bisection(network: str) -> float:
    """Return the TB/s between two halves of the wafer."""
    return injection() / 1e3 * float(_BLOCKS[network].cut(np.array([NPUS]))[0])


def tree_power() -> float:
    """Return the watts of tree D's switches."""
    kits = [kit for kit in load_parts("wafer").kits if BLOCKS[kit.block].name == "fred-d"]
    index, npus = np.array([[0]]), np.array([[NPUS]])
    return float(power_by_item(bill(kits, index, npus, np.array([[kits[0].ports]])), kits, index).sum())


def _bandwidths(ours: Callable[[str, Group], float]) -> Iterator[PublishedRow]:
    for group in GROUPS:
        for network, figure in zip(NETWORKS, group.published, strict=True):
            if figure is not None:
                printed = PRINTED.get((group.name, network), figure)
                yield PublishedRow(f"{group.name}, {network}", printed, ours(network, group), "GB/s")


def _bisections() -> Iterator[PublishedRow]:
    for network in NETWORKS:
        figure = value("fred.bisection.CD" if network in ("fred-c", "fred-d") else "fred.bisection.mesh")
        yield PublishedRow(network, figure, bisection(network), "TB/s")


def _wafer() -> Iterator[PublishedRow]:
    yield PublishedRow("traffic saved, groups of 5", value("fred.innet.traffic_cut.5peers"), 100 * saved(5), "percent")
    yield PublishedRow("link of the mesh while I/O broadcasts", value("fred.mesh.io_hotspot"), hottest_link(), "GB/s")
    yield PublishedRow("switches of tree D", value("fred.hw.power"), tree_power(), "W")


def _speedups() -> Iterator[PublishedRow]:
    for run in RUNS:
        for tree, figure, ours in zip("CD", run.published, run.speedups(), strict=True):
            yield PublishedRow(f"{run.name} {run.strategy}, tree {tree}", figure, ours, "x")
    gpt = next(run for run in RUNS if run.name == "GPT-3")
    yield PublishedRow("GPT-3, MP and PP communication, tree D", value("fred.gpt3.comm"), gpt.exposed_gain(), "x")


def _strategies() -> Iterator[PublishedRow]:
    for sweep in SWEEPS:
        time, exposed = sweep.gains()
        yield PublishedRow(f"{sweep.name}, time", sweep.speedup, time, "x")
        yield PublishedRow(f"{sweep.name}, exposed communication", sweep.exposed, exposed, "x")
        yield PublishedRow(f"{sweep.name}, {sweep.best} over the fastest strategy", 1.0, sweep.beside_fastest(), "x")


_ASSUMED = (
    "from problem files, with an H100's peak rate, FLOP as the only compute, and sequences and times of the same "
    "authors' LIBRA and Themis where the paper's tables are pictures; no figure was fitted, but that reading was "
    "chosen with these rows in sight. The page of the study says how much compute explains each difference"
)


def _source(
    name: str, title: str, rows: Callable[[], Iterator[PublishedRow]], note: str = "", *,
    basis: Basis = Basis.UNSEEN,
) -> PublishedSource:  # fmt: skip
    title = f"FRED (Rashidi et al. 2024), {title}"
    return PublishedSource(f"fred-{name}", "networks", title, rows, note=note, basis=basis)


FRED = (
    _source("bandwidth", "section 8.1: bandwidth of an NPU, one group", partial(_bandwidths, alone),
            "counted as the paper does, which takes tree A's inner bandwidth as four times the outer one",
            basis=Basis.EQUATIONS),
    _source("shared-bandwidth", "section 8.1: the same, all groups at a time", partial(_bandwidths, effective),
            "what searches use; the paper counts one group"),
    _source("bisection", "section 7: bisection of the wafer", _bisections, basis=Basis.EQUATIONS),
    _source("wafer", "sections 3, 7 and 8.1: traffic saved, I/O of the mesh, power", _wafer,
            "the catalogue takes the power of a switch from the same paper", basis=Basis.EQUATIONS),
    _source("speedup", "section 8.2: speed-ups of trees C and D over the mesh", _speedups, _ASSUMED,
            basis=Basis.FITTED),
    _source("strategies", "section 8.3: gains of tree D over all strategies", _strategies, _ASSUMED,
            basis=Basis.FITTED),
)  # fmt: skip
