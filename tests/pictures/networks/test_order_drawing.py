"""Pictures of orders, in SVG and in characters."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest

from evo_libra.exchange.graphviz import order_dot
from evo_libra.explain.drawn_order import drawn_order
from evo_libra.network.orders.catalog import load_products
from evo_libra.pictures.networks.order_characters import order_lines
from evo_libra.pictures.networks.order_svg import order_svg

PRODUCTS = load_products("products-2026")
SVG = "{http://www.w3.org/2000/svg}"
ORDERS = (
    "24 hgx-h200 / 1 x 400G / polatis-192 ocs rails",
    "112 gb300-nvl72 / 1 x 800G / q3450-ld fat tree 2:1",
    "1024 hgx-h100 / 1 x 400G / qm9700 rail-optimised 1:1",
    "1024 hgx-b300 / 2 x 400G / 2 planes / sn5600 fat tree 2:1",
    "1000 hgx-h100 / 1 x 400G / sn5600 tor 2:1",
    "128 hgx-h100 / 1 x 400G / qm9700 dragonfly 1:1",
    "112 gb300-nvl72 / 2 x 400G / 2 planes / sn5600 hyperx 1:1",
    "1 hgx-h100",
)


@pytest.mark.parametrize("text", ORDERS)
def test_an_svg_has_a_box_for_each_of_its_sketch(text: str) -> None:
    order = drawn_order(text, PRODUCTS)
    root = ET.fromstring(order_svg(order))  # noqa: S314 -- our own picture
    boxes = [box for row in order.sketch.rows for box in row if box.first]
    drawn = root.findall(f"{SVG}rect")
    assert len(drawn) >= 1 + len(boxes)
    texts = [one.text for one in root.iter(f"{SVG}text")]
    assert text in texts
    for tier in order.tiers:
        assert tier.product in texts
    wide, high = (float(root.attrib[name]) for name in ("width", "height"))
    assert all(float(one.attrib["x"]) < wide and float(one.attrib["y"]) < high for one in root.iter(f"{SVG}text"))


@pytest.mark.parametrize("width", [40, 80])
@pytest.mark.parametrize("text", ORDERS)
def test_characters_fit_the_terminal(text: str, width: int) -> None:
    lines = order_lines(drawn_order(text, PRODUCTS), width, ascii_only=True)
    assert max(map(len, lines)) <= width
    assert "\n".join(lines).isascii()


def test_a_graph_has_the_tiers_and_the_cables() -> None:
    text = order_dot(drawn_order(ORDERS[1], PRODUCTS))
    assert "84 leaves q3450-ld" in text
    assert "systems -- leaf" in text
    assert "leaf -- spine" in text
    assert "4,032 links of 800G" in text
    assert text.count("{") == text.count("}") == 1


def test_links_between_switches_are_an_edge_to_themselves() -> None:
    order = drawn_order("128 hgx-h100 / 1 x 400G / qm9700 dragonfly 1:1", PRODUCTS)
    assert 'switch -- switch [label="992 links of 400G in groups' in order_dot(order)
    texts = [one.text for one in ET.fromstring(order_svg(order)).iter(f"{SVG}text")]  # noqa: S314 -- our own picture
    assert "512 links of 400G between groups" in texts
    assert "992 links of 400G in groups" in order_lines(order, 80)[4]
