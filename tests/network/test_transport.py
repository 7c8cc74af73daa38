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


def test_schemes_as_published() -> None:
    # HPCC's packets carry 48 B of telemetry and PINT's one; both aim at 95 % of a link (SIGCOMM 2019, section 5.1, and
    # 2020). DCQCN and TIMELY run on links that PFC pauses; DCTCP and HPCC keep queues short without.
    assert {
        name: (one.telemetry, one.target, one.ramped, one.lossless) for name, one in TRANSPORTS.items()
    } == {
        "pfc": (0, 1.0, False, True), "dcqcn": (0, 1.0, True, True), "dctcp": (0, 1.0, True, False),
        "timely": (0, 1.0, True, True), "hpcc": (48, 0.95, True, False), "hpcc-pint": (1, 0.95, True, False),
    }  # fmt: skip
