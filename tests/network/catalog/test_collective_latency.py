"""Time of small collectives against measured tables, their equation by hand, and the order of links."""

from __future__ import annotations

import numpy as np
import pytest

from evo_libra.collective import BeyondBytes, Collective, Dispatch, NextStage
from evo_libra.network.catalog.accelerators import accelerator
from evo_libra.network.catalog.collective_latency import (
    IN_SERVICE,
    KINDS,
    LINKS,
    NETWORKS,
    CollectiveSoftware,
    between,
    link_factor,
    link_kind,
)

KB = 1024.0
REDUCE = Collective.ALL_REDUCE

MEASURED = [
    ("h200-141gb", "nvlink4", (3.7, 4.9, 6.5, 8.7, 13, 20), 0.20),
    ("a100-80gb", "nvlink3", (8.4, 9.0, 11.7, 16, 54, 54), 0.60),
    ("b200", "nvlink5", (5.3, 6.2, 7.0, 8.5, 15, 19), 0.20),
    ("rtx-pro-6000", "pcie5", (28, 31, 49, 84, 134, 223), 0.50),
    ("l40s-48gb", "pcie4", (27, 73, 108, 207, 583, 2080), 0.50),
]
"""us of all-reduces of 8 among 8, 32, 64, 128 KB, 512 KB and 1 MB in graphs (aiconfigurator 0.12), and the error."""


def whole(npu: str, kind: str, size: float, npus: float = 8.0, software: CollectiveSoftware | None = None) -> float:
    """Return us of an all-reduce: beyond its bytes, and those at the rate of large ones."""
    one = accelerator(npu)
    bus = one.bus.get(kind)
    rate = one.wire_rate(kind) * (1.0 if bus is None else min(bus.large_share, 1.0))
    found = (software or CollectiveSoftware()).inside(
        kind, one, REDUCE, np.array([size]), np.array([npus]), eager=False
    )
    return float(1e6 * (found[0] + 2.0 * (npus - 1.0) / npus * size / rate))


@pytest.mark.parametrize(("npu", "kind", "microseconds", "error"), MEASURED)
def test_all_reduces_of_eight_are_near_the_measured_ones(
    npu: str, kind: str, microseconds: tuple[float, ...], error: float
) -> None:
    sizes = (8 * KB, 32 * KB, 64 * KB, 128 * KB, 512 * KB, 1024 * KB)
    found = np.array([whole(npu, kind, size) for size in sizes]) / microseconds - 1.0
    assert np.abs(found).mean() <= error / 2
    assert np.abs(found).max() <= error


def test_one_shot_by_hand() -> None:
    # 64 KB among 8 NPUs of NVLink 4: 2.3 + 8 x 0.12 + 7 x 65,536 / 150e9.
    assert whole("h100-80gb", "nvlink4", 64 * KB) == pytest.approx(2.3 + 0.96 + 7 * 65536 / 150e3, rel=1e-12)


def test_two_shots_by_hand() -> None:
    # 512 KB: 7.4 + 2 x 7 / 8 x 524,288 / 147e9, less than 2.3 + 0.96 + 24.5 in one.
    assert whole("h100-80gb", "nvlink4", 512 * KB) == pytest.approx(7.4 + 1.75 * 524288 / 147e3, rel=1e-12)


def test_collectives_of_nccl_are_its_measured_ones_in_service() -> None:
    # H100: 3.63 + 8 x 1.57 us measured alone, times 1.5, for next to no bytes.
    found = whole("h100-80gb", "nvlink4", 1.0, software=CollectiveSoftware(nccl=IN_SERVICE))
    assert found == pytest.approx(1.5 * (3.63 + 8 * 1.57), rel=1e-4)


def test_a_launch_without_a_graph_takes_at_least_23_us() -> None:
    h100, size, npus = accelerator("h100-80gb"), np.array([1.0]), np.array([8.0])
    found = [
        CollectiveSoftware().inside("nvlink4", h100, REDUCE, size, npus, eager=eager)[0] for eager in (False, True)
    ]
    assert found[0] == pytest.approx(3.26e-6, rel=1e-3)
    assert found[1] == pytest.approx(23e-6, rel=1e-3)


@pytest.mark.parametrize("operation", [REDUCE, Dispatch(8), NextStage()])
def test_links_are_in_order(operation: Collective | Dispatch | NextStage) -> None:
    h100, size, npus = accelerator("h100-80gb"), np.array([8 * KB]), np.array([8.0])
    inside = [
        float(CollectiveSoftware().inside(kind, h100, operation, size, npus, eager=False)[0])
        for kind in ("nvlink4", "pcie5")
    ]
    fabrics = [sum(between(kind, operation, eager=False)) for kind in ("infiniband", "ethernet")]
    assert inside[0] < inside[1]
    assert inside[0] < fabrics[0] < fabrics[1]


def test_two_servers_take_90_us_and_a_doubling_ten_more() -> None:
    once, doubling = between("infiniband", REDUCE, eager=False)
    assert once + doubling == pytest.approx(90e-6, rel=1e-12)
    assert doubling == pytest.approx(10e-6, rel=1e-12)


def test_kinds_of_names() -> None:
    assert [link_kind(name) for name in ("nvlink4-h800", "nvlink6", "pcie5", "xgmi4", "nvlink-c2c")] == [
        "nvlink4", "nvlink5", "pcie5", "other", "other",
    ]  # fmt: skip


def factor(link: str, *, doubling: bool, extent: list[int], kinds: list[str | None]) -> float:
    kind = np.array([[-1 if one is None else KINDS.index(one)] for one in kinds])
    outside = np.array([[one in NETWORKS] for one in kinds])
    return float(link_factor(BeyondBytes(link, doubling), np.array(extent)[:, None], kind, outside)[0])


def test_the_outermost_links_of_a_group_count() -> None:
    kinds = ["nvlink4", "infiniband"]
    assert factor("nvlink4", doubling=False, extent=[8, 1], kinds=kinds) == 1.0
    assert factor("infiniband", doubling=False, extent=[8, 1], kinds=kinds) == 0.0
    assert factor("nvlink4", doubling=False, extent=[8, 4], kinds=kinds) == 0.0
    assert factor("infiniband", doubling=False, extent=[8, 4], kinds=kinds) == 1.0
    assert factor("infiniband", doubling=True, extent=[8, 4], kinds=kinds) == 2.0
    assert factor("nvlink4", doubling=False, extent=[1, 1], kinds=kinds) == 0.0
    assert factor("infiniband", doubling=False, extent=[8, 4], kinds=["nvlink4", None]) == 0.0


def test_every_kind_has_a_source() -> None:
    assert all(one.source for one in (*LINKS.values(), *NETWORKS.values()))
