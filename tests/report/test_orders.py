"""The report of a front of orders: products for columns, a picture for each order, and the networks of each system."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest
from order_results import bill_of_row, order_front, orders

from evo_libra.explain.system_views import system_rows
from evo_libra.report.data import Source, report_document
from evo_libra.report.orders import order_frame, systems_chart
from evo_libra.report.records import Document


def reported() -> Document:
    return report_document([Source("orders", order_front(), orders(), "results/orders")], title="orders")


@pytest.mark.slow
def test_columns_are_products_and_no_dimensions() -> None:
    document = reported()
    keys = [column.key for column in document.columns]
    assert not [key for key in keys if "[" in key or key == "system"]
    frame = order_frame(order_front(), orders())
    for row, design in enumerate(document.rows.design):
        parts = design.partition(" | ")[0].split(" / ")
        assert frame["ports"][row] == parts[1]
        assert f"{frame['switch'][row]} {frame['network'][row]}" == parts[-1]
        assert frame["network_cost_usd"][row] == bill_of_row(design).network_usd().value
    (cost,) = [column for column in document.columns if column.key == "network_cost_usd"]
    assert (cost.label, cost.kind) == ("network cost [MUSD]", "other")


@pytest.mark.slow
def test_each_order_has_its_own_picture() -> None:
    document = reported()
    assert {family.drawing for family in document.families} == {""}
    for row, design in enumerate(document.rows.design):
        root = ET.fromstring(document.details[str(row)].drawing)  # noqa: S314 -- our own picture
        assert root.attrib["aria-label"] == design.partition(" | ")[0]


@pytest.mark.slow
def test_texts_and_commands_are_of_orders() -> None:
    document = reported()
    assert document.noun == "order"
    assert document.rule == "Every order has its waterfall, bill and explanation here."
    assert not any("astra" in command for command in document.commands.values())
    texts = " ".join(text for detail in document.details.values() for text in detail.sentences)
    assert "dimension" not in texts
    assert "the scale-up network is the slowest one" in texts


def test_the_networks_of_each_system_are_a_chart() -> None:
    rows = system_rows(orders())
    chart = systems_chart(rows, "time_ms")
    assert chart is not None
    root = ET.fromstring(chart.drawing)  # noqa: S314 -- our own picture
    dots = [one for one in root if one.tag.endswith("circle")]
    assert len(dots) == len(rows) + len({row.system for row in rows})
    assert systems_chart([], "time_ms") is None
