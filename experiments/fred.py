"""FRED's wafer (Rashidi et al., arXiv 2406.19580, ISCA 2025): its mesh and its trees, with the blocks of this package.

Effective bandwidths of an NPU, what switches that reduce save, and the end-to-end speed-ups of tree D over the mesh.
The tables that hold the NPUs' speed and the models' sizes are pictures that could not be read; what they leave open,
the part of the mesh's time that is communication, is taken from the published speed-up of tree C.
"""

from __future__ import annotations

from collections.abc import Sequence

from common import bars, markdown, picture

from evo_libra.arrays import GIGA
from evo_libra.validation.fred import (
    GROUPS,
    MESH,
    NETWORKS,
    NPUS,
    WORKLOADS,
    FredWorkload,
    alone,
    effective,
    saved,
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


def draw(workloads: Sequence[FredWorkload]) -> None:
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
