"""Reasons of systems that are on no row of a front, of figures chosen by hand."""

from __future__ import annotations

import polars as pl

from evo_libra.explain.system_views import SystemRow, _beaten
from evo_libra.front.front import Front

FRONT = Front(
    pl.DataFrame({"id": [0, 8], "time_ms": [100.0, 200.0], "order_cost_usd": [30e6, 10e6]}),
    ("time_ms", "order_cost_usd"),
)


def row(ms: float, usd: float) -> SystemRow:
    return SystemRow(
        system="hgx-h200", design="2 hgx-h200 / x | tp8", objectives={"time_ms": ms, "order_cost_usd": usd},
        network_cost_usd=1e6, order_cost_usd=usd, adds="",
    )  # fmt: skip


def test_an_order_is_compared_with_the_design_that_beats_it_by_the_least() -> None:
    sentence = _beaten(FRONT, [row(220.0, 10.5e6), row(300.0, 12e6)])
    assert sentence == (
        "hgx-h200 is on no row: its nearest order, 2 hgx-h200 / x, has +10 % time and +5 % order cost against #8"
    )


def test_an_order_that_nothing_beats_names_the_row_that_stands_for_it() -> None:
    """It is 0.5 % faster than #8 and 20 % more expensive, and #0 is 150 % more expensive than it."""
    sentence = _beaten(FRONT, [row(200.0 / 1.005, 12e6)])
    assert sentence == (
        "hgx-h200 is on no row: its nearest order, 2 hgx-h200 / x, has -0.498 % time and +20 % order cost against #8"
    )
