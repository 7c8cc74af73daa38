"""Sentences on what an order loses by the products that it has together."""

from __future__ import annotations

from made_up import catalogue, order_of, switch_of

from evo_libra.network.orders.catalog import load_products
from evo_libra.network.orders.notation import read_order
from evo_libra.network.orders.remarks import remarks

PRODUCTS = load_products("products-2026")


def test_a_leaf_of_much_power_takes_the_place_of_a_server() -> None:
    # A Q3400-RA takes 4.84 kW and 72 x 26 W for modules, 6.712 kW: with 4 x 14 kW more than the 60 kW of a rack. With a
    # QM9700 of 0.747 kW and 32 x 17 W they are 57.3 kW.
    large = read_order("1024 hgx-b300 / 1 x 800G / q3400-ra tor 4:1", PRODUCTS)
    (said,) = remarks(large, PRODUCTS)
    assert said == (
        "a rack of 60 kW takes 3 hgx-b300 with their leaves and 4 without them because q3400-ra takes 6.71 kW with "
        "its modules; a leaf joins fewer systems, so more traffic leaves it"
    )
    assert remarks(read_order("1024 hgx-b300 / 1 x 400G / qm9700 tor 4:1", PRODUCTS), PRODUCTS) == []
    assert remarks(read_order("1024 hgx-b300 / 1 x 800G / q3400-ra fat tree 4:1", PRODUCTS), PRODUCTS) == []


def test_a_leaf_takes_units_of_a_server() -> None:
    # 6 x 8 units fill 48, so that 5 stand there with a leaf of one unit.
    small = {"npus": 8, "rails": 8, "kW": 1.0, "height_U": 8}
    products = catalogue(system=small, nic={"ports": 1, "Gbps": 400}, switch=switch_of(128))
    (said,) = remarks(order_of(products, 60, family="tor"), products)
    assert said.startswith(
        "a rack of 48 units takes 5 box with their leaves and 6 without them because switch takes 1;"
    )
