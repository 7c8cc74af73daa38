"""FRED's wafer (Rashidi et al., arXiv 2406.19580, ISCA 2025): its mesh and its trees, with the blocks of this package.

Effective bandwidths of an NPU, what switches that reduce save, and the end-to-end speed-ups of tree D over the mesh.
The tables that hold the NPUs' speed and the models' sizes are pictures that could not be read; what they leave open,
the part of the mesh's time that is communication, is taken from the published speed-up of tree C.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from common import bars, markdown, picture

from evo_libra.arrays import GIGA
from evo_libra.collective import Pattern
from evo_libra.network.blocks.fred import LEAF, FredTree
from evo_libra.network.blocks.registry import BLOCKS
from evo_libra.network.catalog.parts import load_parts

NPUS, SHORT = 20, 4
"""NPUs of the wafer, and along the shorter side of the mesh."""
MESH, TREES = "mesh-2d", ("fred-a", "fred-b", "fred-c", "fred-d")
NETWORKS = (MESH, *TREES)
_BLOCKS = {block.name: block for block in BLOCKS}

WIDTH, CHANNEL, LINK = 5, 128.0, 750.0
"""NPUs along the longer side, GB/s of an I/O channel and of a link of the mesh."""


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
"""MP(20) and MP(2)-DP(5)-PP(2), workers of one MP group on consecutive NPUs, then PP, then DP. The paper prints 1850
for the first of tree A, whose expression 375 + 4 x 375 is 1875."""


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


def streaming_factor() -> float:
    """Return at which part of their rate the I/O channels of a mesh can broadcast: its worst link carries 2 N - 1."""
    return min(1.0, LINK / ((2 * WIDTH - 1) * CHANNEL))


@dataclass(frozen=True)
class Workload:
    """A workload that the paper runs from end to end.

    Attributes
    ----------
    name, strategy : of the paper.
    extent : of the groups that its exposed all-reduces run in; 1 where it has none that counts.
    streams : whether weights are streamed, which is what its time is exposed to.
    published : speed-ups of trees C and D over the mesh.
    """

    name: str
    strategy: str
    extent: int
    streams: bool
    published: tuple[float, float]

    def times(self) -> tuple[float, float]:
        """Return the time of its communication on trees C and D, over that on the mesh."""
        if self.streams:
            return streaming_factor(), streaming_factor()
        group = Group(self.name, self.extent, 1, ())
        # A group that is not the whole wafer is a logical ring on the mesh, one link.
        pair = Group("", 2, 1, ())
        mesh = effective(MESH, group if self.extent == NPUS else pair)
        return mesh / effective("fred-c", group), mesh / effective("fred-d", group) * (1 - saved(self.extent))

    def communication(self) -> float:
        """Return the part of the mesh's time that is communication, from the published speed-up of tree C."""
        return (1 - 1 / self.published[0]) / (1 - self.times()[0])

    def speedup(self) -> float:
        """Return the speed-up of tree D over the mesh."""
        share = self.communication()
        return 1 / (1 - share + share * self.times()[1])

    def limit(self) -> float:
        """Return the speed-up of tree D if there were nothing but communication."""
        return 1 / self.times()[1]


WORKLOADS = (
    Workload("ResNet-152", "MP1-DP20-PP1", NPUS, streams=False, published=(1.41, 1.76)),
    Workload("Transformer-17B", "MP3-DP3-PP2", 3, streams=False, published=(1.75, 1.87)),
    Workload("GPT-3", "MP2-DP5-PP2", 1, streams=True, published=(1.34, 1.34)),
    Workload("Transformer-1T", "MP1-DP20-PP1", 1, streams=True, published=(1.40, 1.40)),
)


def communication_of_resnet_at_h100_speed() -> float:
    """Return the part of the mesh's time of ResNet-152 that is communication, if NPUs compute as fast as an H100 can.

    60.2 million gradients of 2 B in one all-reduce; 16 images on each NPU, 11.3e9 multiply-adds each (He et al., CVPR
    2016), three times with the gradients, at 989 TFLOP/s; none of it overlaps.
    """
    group = GROUPS[0]
    traffic = 2 * (NPUS - 1) / NPUS * 60.2e6 * 2
    busy, compute = traffic / (effective(MESH, group) * GIGA), 16 * 3 * 2 * 11.3e9 / 989e12
    return busy / (busy + compute)


def draw(workloads: Sequence[Workload]) -> None:
    """Draw the speed-ups of tree D."""
    with picture("fred", 2.6) as figure:
        axes = figure.subplots()
        series = [
            ("published", [one.published[1] for one in workloads]),
            ("here", [one.speedup() for one in workloads]),
        ]
        bars(axes, [one.name for one in workloads], series)
        axes.set(ylabel="tree D over the mesh", ylim=(1, None))
        axes.legend()


def _bandwidth(value: float | None) -> str:
    return "" if value is None else f"{value:.0f}"


if __name__ == "__main__":
    print(
        markdown(
            ("group", "network", "published", "alone", "all at a time"),
            [
                [group.name, network, _bandwidth(published), _bandwidth(alone(network, group)),
                 f"{effective(network, group):.0f}"]
                for group in GROUPS
                for network, published in zip(NETWORKS, group.published, strict=True)
            ],
        )
    )  # fmt: skip
    print()
    sizes = (2, 4, 5, 20)
    print(markdown(("NPUs", "saved [%]"), [[str(extent), f"{100 * saved(extent):.1f}"] for extent in sizes]))
    print()
    print(
        markdown(
            ("workload", "strategy", "C published", "communication [%]", "D here", "D published", "D at most"),
            [
                [one.name, one.strategy, f"{one.published[0]:.2f}", f"{100 * one.communication():.0f}",
                 f"{one.speedup():.2f}", f"{one.published[1]:.2f}", f"{one.limit():.2f}"]
                for one in WORKLOADS
            ],
        )
    )  # fmt: skip
    print(f"\nResNet-152 at the speed of an H100: {100 * communication_of_resnet_at_h100_speed():.0f} % communication")
    draw(WORKLOADS)
