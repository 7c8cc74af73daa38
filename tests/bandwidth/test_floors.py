"""Bandwidths of one budget above floors and below caps, and what proves them: two dimensions by hand, 3 B/s in all."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from random_programs import one

from evo_libra.bandwidth.floors import with_floors

APART = [[1.0, 0.0], [0.0, 1.0]]
"""A byte of each pattern is one of its own dimension."""


@pytest.mark.parametrize(("traffic", "given", "bandwidth", "share", "pressure"), [
    # One pattern gives each dimension what it sends: of 5 B/s 4 and 1. A byte takes 2 s, 2 / 5 for each B/s.
    ([[8, 2]], {"limit": [5.0]}, [4, 1], [[0.8, 0.2]], 2 / 5),
    # At a floor of 2 the second one waits: 3 B/s are left for the first, 8 / 3 s, of which a B/s is 1/3.
    ([[8, 2]], {"limit": [5.0], "low": [0.0, 2.0]}, [3, 2], [[1, 0]], 8 / 9),
    # T = 4 / b0 + 1 / b1 is least where b is as sqrt(4) to sqrt(1): 4 / 2^2 = 1 / 1^2 = 1 s per B/s.
    (APART, {"size": [4.0, 1.0]}, [2, 1], [[1, 0], [0, 1]], 1.0),
    # At a floor of 2 of the second one, 1 B/s is left: 4 / 1^2.
    (APART, {"size": [4.0, 1.0], "low": [0.0, 2.0]}, [1, 2], [[1, 0], [0, 1]], 4.0),
    # At a cap of 1.5 of the first one, the second one has the rest: 1 / 1.5^2.
    (APART, {"size": [4.0, 1.0], "high": [1.5, np.inf]}, [1.5, 1.5], [[1, 0], [0, 1]], 4 / 9),
    # With prices of 2 and 1 each dimension costs as much: 4 / b0^2 / 2 = 1 / b1^2, b0 = sqrt(2) b1.
    (APART, {"size": [4.0, 1.0], "rows": [[2.0, 1.0]], "limit": [2 * np.sqrt(2) + 1]},
     [np.sqrt(2), 1], [[1, 0], [0, 1]], 1.0),
    # T = max(1 / b0, 1 / b1) + 1 / b0: best at a corner. Twice 1 / 1.5 s are 4 / 9 for each of 3 B/s, and of what the
    # first one costs all is for the second pattern.
    ([[1, 1], [1, 0]], {"size": [1.0, 1.0]}, [1.5, 1.5], [[0, 1], [1, 0]], 4 / 9),
    # T = max(4 / b0, 4 / b1) + 1 / b0: the first one takes a part of the money of the first pattern, too. 5 / 1.5 s are
    # 10 / 9 for each B/s; 1.5 of them are 5 / 3 s, of which 1 / 1.5 are the second pattern's, of 8 / 3 s in all.
    ([[1, 1], [1, 0]], {"size": [4.0, 1.0]}, [1.5, 1.5], [[3 / 8, 5 / 8], [1, 0]], 10 / 9),
])  # fmt: skip
def test_bandwidths_with_their_proof(
    traffic: list[list[float]], given: dict[str, Any], bandwidth: list[float], share: list[list[float]], pressure: float
) -> None:
    found, shares, price = with_floors(one(traffic, **{"rows": [[1.0, 1.0]], "limit": [3.0], **given}))
    assert found[:, 0].tolist() == pytest.approx(bandwidth, rel=1e-9)
    for row, expected in zip(shares[: len(share), :, 0].tolist(), share, strict=True):
        assert row == pytest.approx(expected, rel=1e-9, abs=1e-12)
    assert price.tolist() == pytest.approx([pressure], rel=1e-9)


@pytest.mark.parametrize(("low", "limit", "bandwidth"), [
    # Floors of 1 and 2 take the whole budget of 3; of a budget of 2 they are beyond it.
    ([1.0, 2.0], 3.0, [1, 2]), ([1.0, 2.0], 2.0, [1, 2]),
])  # fmt: skip
def test_floors_stay(low: list[float], limit: float, bandwidth: list[float]) -> None:
    found, _, _ = with_floors(one(APART, size=[4.0, 1.0], rows=[[1.0, 1.0]], limit=[limit], low=low))
    assert found[:, 0].tolist() == pytest.approx(bandwidth, rel=1e-9)


def test_a_pattern_without_bytes_gets_nothing() -> None:
    found, _, price = with_floors(one(APART, size=[4.0, 0.0], rows=[[1.0, 1.0]], limit=[3.0]))
    assert found[:, 0].tolist() == pytest.approx([3.0, 0.0])
    assert price.tolist() == pytest.approx([4 / 9])
