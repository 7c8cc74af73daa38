"""Best bandwidths of two dimensions by hand: 8 and 2 bytes of one pattern, 1 and 2 USD per B/s."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from evo_libra.bandwidth.program import BandwidthProgram
from evo_libra.problem.allocate import cheapest, min_time_of, shrunk

PRICE = np.array([[1.0], [2.0]])


def program(*rows: tuple[list[float], float, bool], high: float = 10.0) -> BandwidthProgram:
    """Return the program of 3 s and one byte of a pattern, with rows of coefficients, limit and equality."""
    return BandwidthProgram(
        base=np.array([3.0]), size=np.array([[1.0]]), traffic=np.array([[[8.0], [2.0]]]), price=np.zeros((2, 1)),
        low=np.full((2, 1), 0.5), high=np.full((2, 1), high),
        rows=np.array([row for row, _, _ in rows]).reshape(len(rows), 2, 1),
        limit=np.array([limit for _, limit, _ in rows]).reshape(len(rows), 1),
        equality=np.array([equal for _, _, equal in rows], dtype=np.bool_),
    )  # fmt: skip


def test_bandwidths_that_no_pattern_needs_are_given_back() -> None:
    # 8 / 10 s is the slowest: 2.5 B/s carry the 2 bytes of the other dimension as fast, and 0.5 B/s at least.
    assert shrunk(program(), np.array([[10.0], [10.0]])).tolist() == [[10.0], [2.5]]
    assert shrunk(program(), np.array([[1.0], [10.0]])).tolist() == [[1.0], [0.5]]
    # Nothing is given back where a row asks for bandwidth.
    for row in (([1.0, 1.0], 20.0, True), ([0.0, -1.0], -10.0, False)):
        assert shrunk(program(row), np.array([[10.0], [10.0]])).tolist() == [[10.0], [10.0]]


def test_the_cheapest_bandwidths_meet_the_rows_that_are_held() -> None:
    # b0 + b1 >= 4 is cheapest with 3.5 of the first one at 1 USD; the budget behind it is not held.
    some = program(([-1.0, -1.0], -4.0, False), ([1.0, 2.0], 1.0, False))
    assert cheapest(some, PRICE, 1)[:, 0].tolist() == pytest.approx([3.5, 0.5], rel=1e-6)
    assert cheapest(some, PRICE, 0).tolist() == [[0.5], [0.5]]
    # What cannot be met gets the least of the box.
    assert cheapest(program(([-1.0, -1.0], -99.0, False)), PRICE, 1).tolist() == [[0.5], [0.5]]


def test_no_bandwidths_undercut_the_box_and_each_row() -> None:
    # 3 + 8 / 10; with b0 + 2 b1 <= 6 the best has b0 = 4 b1: b0 = 4 and 3 + 8 / 4.
    assert min_time_of(program()).tolist() == pytest.approx([3.8])
    assert min_time_of(program(([1.0, 2.0], 6.0, False))).tolist() == pytest.approx([5.0], rel=1e-3)
    assert min_time_of(program(high=np.inf)).tolist() == pytest.approx([3.0])
    # A row with a minus limits nothing by itself.
    assert min_time_of(program(([1.0, -2.0], 1.0, False))).tolist() == pytest.approx([3.8])
    assert replace(program(), base=np.array([4.0])).time(np.array([[8.0], [2.0]])).tolist() == [5.0]
