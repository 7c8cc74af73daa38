"""The table of the networks of each system."""

from __future__ import annotations

from evo_libra.explain.system_views import SystemRow
from evo_libra.ui.tables.systems import _some


def test_some_rows_are_the_first_of_each_system_and_those_that_sentences_name() -> None:
    names = ["a0", "a1", "a2", "a3", "b0", "b1"]
    rows = [
        SystemRow(system=name[0], design=name, objectives={}, network_cost_usd=0.0, order_cost_usd=0.0, adds="")
        for name in names
    ]
    assert [row.design for row in _some(rows, 4, ())] == ["a0", "a1", "b0", "b1"]
    assert [row.design for row in _some(rows, 2, ["a3"])] == ["a0", "a3", "b0"]
