"""Reference orders: each is sold in its time, and has the switches that were published."""

from __future__ import annotations

import pytest

from evo_libra.network.catalog.clusters import reference_orders
from evo_libra.network.catalog.designs import StepsSpec
from evo_libra.network.orders.catalog import load_products
from evo_libra.network.orders.check import violations
from evo_libra.network.orders.limits import Limits
from evo_libra.network.orders.notation import read_order
from evo_libra.network.orders.order import Order
from evo_libra.network.orders.tree import tree_of

PRODUCTS = load_products("products-2026")
MONTHS = {"deepseek-v3": "2023-06"}


def ordered(name: str, npus: int) -> Order:
    reference = reference_orders()[name]
    each = read_order(reference.order.replace("N ", "2 ", 1), PRODUCTS).npus
    return read_order(reference.at(npus // each, npus), PRODUCTS)


def sizes(name: str) -> list[int]:
    npus = reference_orders()[name].npus
    return list(range(npus.multiple_of, npus.at_most + 1, npus.multiple_of)) if isinstance(npus, StepsSpec) else [*npus]


@pytest.mark.parametrize("name", reference_orders())
def test_every_cluster_can_be_ordered(name: str) -> None:
    limits = Limits(order=("buy", "rent"), month=MONTHS.get(name, "2026-11"))
    for npus in sizes(name):
        order = ordered(name, npus)
        assert order.active_npus == npus
        assert violations(order, PRODUCTS, limits) == [], npus


@pytest.mark.parametrize("name", reference_orders())
def test_every_cluster_has_a_source_and_a_year(name: str) -> None:
    reference = reference_orders()[name]
    assert len(reference.source) > 40
    assert 2020 <= reference.year <= 2026
    assert reference.order.startswith("N ")
    assert reference.at(1, 7) == ""


@pytest.mark.parametrize(("name", "npus", "switches"), [
    # docs.nvidia.com, DGX SuperPOD with DGX B300 and XDR, table 3: 1, 2, 4, 8 and 18 units.
    ("dgx-b300-superpod", 576, (8, 4, 0)), ("dgx-b300-superpod", 1152, (16, 8, 0)),
    ("dgx-b300-superpod", 2304, (32, 18, 0)), ("dgx-b300-superpod", 4608, (64, 36, 0)),
    ("dgx-b300-superpod", 10_368, (144, 72, 0)),
    # With Spectrum-4, table 3: 1, 2, 4, 8 and 16 units.
    ("dgx-b300-spectrum", 512, (16, 8, 0)), ("dgx-b300-spectrum", 1024, (32, 16, 0)),
    ("dgx-b300-spectrum", 2048, (64, 32, 0)), ("dgx-b300-spectrum", 4096, (128, 64, 0)),
    ("dgx-b300-spectrum", 8192, (256, 128, 0)),
    # DGX SuperPOD with DGX H100, 4 units, and with DGX B200, 32 units.
    ("dgx-h100-superpod", 1024, (32, 16, 0)), ("dgx-b200-superpod", 8192, (256, 256, 128)),
    # HPN (SIGCOMM 2024), and MRC (arXiv 2605.04333): 512 + 256 switches in each of eight planes.
    ("hpn-7", 15_360, (240, 120, 0)), ("mrc-131k", 131_072, (4096, 2048, 0)),
    # Llama 3 and Gangidi et al. (SIGCOMM 2024): 1,536 racks with a leaf of 16 GPUs. The rest follows:
    # of 128 ports, pods have 112 leaves and 16 spines with 16 uplinks, and a last pod of 16 leaves has 4 spines.
    ("meta-roce-24k", 24_576, (1536, 14 * 16, 28)), ("meta-roce-24k", 16_384, (1024, 9 * 16 + 4, 19)),
    # DeepSeek-AI (arXiv 2505.09343): each of eight planes has 256 ports, so 8 + 4 switches of 64 ports.
    ("deepseek-v3", 2048, (64, 32, 0)),
])  # fmt: skip
def test_switches_are_those_that_were_published(name: str, npus: int, switches: tuple[int, int, int]) -> None:
    tree = tree_of(ordered(name, npus), PRODUCTS)
    assert (tree.leaves, tree.spines, tree.cores) == switches


def test_colossus_has_three_tiers() -> None:
    """Across all three tiers of the network (vmblog.com, Oct 2024)."""
    assert tree_of(ordered("xai-colossus", 100_000), PRODUCTS).tiers == 3
