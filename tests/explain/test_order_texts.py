"""Texts of orders: they name orders, the cost of the whole order, and products in place of bandwidths."""

from __future__ import annotations

import pytest
from order_results import bill_of_row, order_front, orders

from evo_libra import load_problem, search
from evo_libra.errors import InputError
from evo_libra.explain.advice import advice, advised
from evo_libra.explain.candidates import candidates_of
from evo_libra.explain.comparison import compared, comparison
from evo_libra.explain.design_record import design_record, position_on_front
from evo_libra.explain.labels import value_text
from evo_libra.report.data import Source, report_document


def test_the_order_stands_where_designs_have_their_bandwidths() -> None:
    found = candidates_of(order_front())
    for one, record in zip(
        advised(order_front(), (all_of := advice(order_front(), found, orders()))), all_of, strict=True
    ):
        network, _, plan = str(record.design).partition(" | ")
        assert one.parts[1] == f"{network}; {plan}"


def test_sentences_are_of_orders() -> None:
    found = candidates_of(order_front())
    texts = [str(part) for one in advised(order_front(), advice(order_front(), found)) for part in one.parts]
    texts += [sentence for row in range(len(order_front())) for sentence in position_on_front(found, row)]
    assert any("order" in text for text in texts)
    assert not any("design" in text for text in texts)


def test_the_record_has_both_costs() -> None:
    row = order_front().rows()[0]
    figures = design_record(orders(), row["design"], alternatives=False).figures
    bill = bill_of_row(row["design"])
    assert figures["order_cost_usd"] == bill.order_usd().value
    assert figures["network_cost_usd"] == pytest.approx(bill.network_usd().value, abs=0.005)
    assert "cost_usd" not in figures


def test_a_difference_names_the_two_costs_and_the_parts_of_orders() -> None:
    one, two = (design_record(orders(), row["design"], alternatives=False) for row in order_front().rows()[:2])
    found = comparison((one, two), (orders(), orders()))
    assert "in network cost" in found.second_is
    assert "in order cost" in found.second_is
    head = compared(found)[0]
    assert "('systems', " in str(head)
    assert "dim 0" not in str(head)


def test_a_limit_is_told_with_its_article() -> None:
    values = sorted(order_front().frame["order_cost_usd"].to_list())
    found = candidates_of(order_front(), {"order_cost_usd": values[-2]})
    texts = str(advised(order_front(), advice(order_front(), found)))
    assert f"has an order cost of {value_text('order_cost_usd', values[-1])}" in texts


def test_one_report_is_of_one_question() -> None:

    design = search(load_problem("gpt3-4k"), evaluations=200)
    with pytest.raises(InputError, match="a asks for an order and b for a design"):
        report_document([Source("a", order_front()), Source("b", design)], title="both")
