"""Transports of RoCE: the closed form."""

from __future__ import annotations

import itertools

import pytest

from evo_libra.network.transport import TRANSPORTS

STATED = {"pfc": 1.0, "dcqcn": 1.0, "dctcp": 1.0, "timely": 1.0, "hpcc": 0.909, "hpcc-pint": 0.949}
"""Factors over PFC, by headers and utilisation."""


def test_factors_are_those_of_headers_and_targets() -> None:
    assert {name: one.factor for name, one in TRANSPORTS.items()} == pytest.approx(STATED, abs=5e-4)


def test_order_and_range() -> None:
    order = [TRANSPORTS[name].factor for name in ("pfc", "dcqcn", "dctcp", "timely", "hpcc-pint", "hpcc")]
    assert all(first >= second for first, second in itertools.pairwise(order))
    assert order[1] == order[2] == order[3]
    assert all(0.9 <= factor <= 1.0 for factor in order)
