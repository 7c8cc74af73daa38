"""Transports of RoCE: the closed form."""

from __future__ import annotations

import itertools

import pytest

from evo_libra.network.transport import (
    HEADERS,
    LABEL,
    PAYLOAD,
    TRANSPORTS,
    approximation,
)

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
    assert {name: (one.telemetry, one.target, one.lossless) for name, one in TRANSPORTS.items()} == {
        "pfc": (0, 1.0, True), "dcqcn": (0, 1.0, True), "dctcp": (0, 1.0, False),
        "timely": (0, 1.0, True), "hpcc": (48, 0.95, False), "hpcc-pint": (1, 0.95, False),
    }  # fmt: skip


def test_what_headers_and_targets_leave() -> None:
    # 1,000 B of payload and 62 B of headers, of Ethernet with preamble and gap, IP, UDP and InfiniBand's transport;
    # HPCC adds 48 B and PINT one, and both aim at 95 % of the link.
    assert (PAYLOAD, HEADERS) == (1000, 62)
    assert TRANSPORTS["hpcc"].factor == pytest.approx(0.95 * 1062 / 1110, rel=1e-12)
    assert TRANSPORTS["hpcc-pint"].factor == pytest.approx(0.95 * 1062 / 1063, rel=1e-12)


def test_outputs_say_that_a_transport_is_an_approximation() -> None:
    plain, named = "SW(8)@nvlink4:450", "SW(8)@nvlink4:450_SW(16)@roce-400g.dctcp:50"
    assert approximation([plain]) == {}
    assert approximation([plain, named]) == {"approximation": LABEL}
    assert approximation(["SW(8)@some.other:450"]) == {}
