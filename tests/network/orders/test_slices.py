"""Slices of TPUs: their published counts, their shapes, and the bill of their rent."""

from __future__ import annotations

from pathlib import Path

import pytest

from evo_libra.errors import InputError
from evo_libra.network.blocks import Range
from evo_libra.network.orders.bill import OrderBill, bill_of
from evo_libra.network.orders.catalog import load_products
from evo_libra.network.orders.check import violations
from evo_libra.network.orders.limits import Limits
from evo_libra.network.orders.notation import read_order
from evo_libra.network.orders.slices import SliceOptics, shape_text, slice_optics, with_rents

PRODUCTS = load_products("products-2026")
RENTED = Limits(order=("rent",))


def optics(text: str) -> SliceOptics:
    order = read_order(text, PRODUCTS)
    cubes = PRODUCTS.systems[order.system].cubes
    assert cubes is not None
    return slice_optics(order, cubes, PRODUCTS)


@pytest.mark.parametrize(("text", "links", "switches"), [
    # TPU v4 (ISCA 2023): a cube has 6 faces of 4 x 4 links, 96; 64 cubes 6,144, on 3 x 16 switches of 128 ports in use.
    ("1 tpu-v4-slice-4096", 6144, 48),
    # One cube has its rings closed by the same switches, two ports of each.
    ("1 tpu-v4-slice-64", 96, 48),
    # 144 cubes of TPU7x; the ports of their switches are not published.
    ("1 tpu7x-slice-9216", 13_824, None),
    ("2 tpu7x-slice-64", 192, None),
])  # fmt: skip
def test_optical_parts_are_as_published(text: str, links: int, switches: int | None) -> None:
    assert optics(text) == SliceOptics(links, switches)


@pytest.mark.parametrize(("text", "shape"), [
    ("1 tpu-v4-slice-4096", "16 x 16 x 16"), ("1 tpu-v5p-slice-6144", "16 x 16 x 24"),
    ("1 tpu-v5p-slice-128", "4 x 4 x 8"), ("1 tpu7x-slice-2048", "8 x 16 x 16"),
    ("1 tpu7x-slice-9216", "16 x 24 x 24"), ("1 tpu-v6e-slice", "16 x 16"),
])  # fmt: skip
def test_slices_are_tori_of_whole_cubes(text: str, shape: str) -> None:
    assert shape_text(read_order(text, PRODUCTS), PRODUCTS) == shape


def bill(text: str, years: float | None = 4.0, **rents: float) -> OrderBill:
    products = with_rents(PRODUCTS, {name.replace("_", "-"): usd for name, usd in rents.items()}, years)
    return bill_of(read_order(text, products), products)


def test_a_rent_is_npu_hours_and_nothing_else() -> None:
    # 256 NPUs for 4 years of 8,760 h at 2.70 USD; no spare slice, no switch of management, no rack.
    found = bill("1 tpu-v6e-slice")
    assert [(line.section, line.pieces) for line in found.lines] == [("systems", 8_970_240.0)]
    assert found.order_usd() == Range(24_219_648.0, 24_219_648.0, 24_219_648.0)
    assert (found.network_usd(), found.watts()) == (Range(0.0, 0.0, 0.0), 0.0)


def test_optical_parts_are_in_the_rent() -> None:
    found = bill("1 tpu-v4-slice-4096", years=1.0)
    counted = [(line.product, line.pieces) for line in found.lines]
    assert counted == [("tpu-v4-slice", 35_880_960.0), ("tpu-v4-slice optics", 6144), ("palomar-136", 48)]
    assert found.order_usd().value == 115_536_691.2


def test_a_rent_that_nobody_publishes_is_asked_for() -> None:
    with pytest.raises(InputError, match=r"tpu7x-slice has no usd_per_npu_hour, .*: `rent: \{tpu7x-slice: ...\}`"):
        bill("1 tpu7x-slice-256").order_usd()
    assert bill("1 tpu7x-slice-256", years=1.0, tpu7x_slice=5.0).order_usd().value == 11_212_800.0


def test_rents_are_no_purchases() -> None:
    with pytest.raises(
        InputError, match="tpu-v6e-slice is rented by the hour, and has no price or power of a purchase"
    ):
        bill("1 tpu-v6e-slice", years=None).order_usd()


def test_the_data_centre_joins_slices() -> None:
    assert violations(read_order("4 tpu7x-slice-256", PRODUCTS), PRODUCTS, RENTED) == []
    # How TPU v4 is joined beyond a slice is not in the catalogue.
    (broken,) = violations(read_order("2 tpu-v4-slice-4096", PRODUCTS), PRODUCTS, RENTED)
    assert broken == "nothing joins 2 tpu-v4-slice of 4,096 NPUs: a network needs NICs and a switch"


@pytest.mark.parametrize(("old", "new", "message"), [
    ("order: rent", "order: buy", "slice.usd_per_npu_hour: found in a system with `order: buy`; leave this key out"),
    ("npus: 64", "npus: 64\n    price_usd: 5", "price_usd: found in a system with `order: rent`; leave this key out"),
    ("side: 4", "side: 3", "systems.slice.cubes.side: found 3, whose cubes do not divide its NPUs"),
    ("side: 4", "side: 4, ocs: palomar", "slice.cubes.ocs: unknown optical circuit switch 'palomar'; allowed: pol"),
])  # fmt: skip
def test_mistakes_of_slices(old: str, new: str, message: str, tmp_path: Path) -> None:
    text = """kind: products
name: own
source: made up
extends: products-2026
systems:
  slice:
    order: rent
    npu: tpu7x
    npus: 64
    scale_up: {technology: ici-7x, block: torus-3d, GBps: 600, ports: 6, latency_ns: 1000}
    rails: 1
    includes: [scale-up, host, rack]
    usd_per_npu_hour: 5
    cubes: {side: 4}
    source: made up
    year: 2026
"""
    (tmp_path / "own.yaml").write_text(text)
    assert load_products("own.yaml", tmp_path).systems["slice"].npus == 64
    (tmp_path / "own.yaml").write_text(text.replace(old, new))
    with pytest.raises(InputError) as caught:
        load_products("own.yaml", tmp_path)
    assert message in str(caught.value)
