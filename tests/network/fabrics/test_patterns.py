"""Rows of values up to permutations, by hand and by counting all rows."""

from __future__ import annotations

from collections import Counter
from itertools import product

import pytest

from evo_libra.network.fabrics.patterns import pattern, patterns, rows_like, steps


@pytest.mark.parametrize(
    ("length", "marked", "size"), [(0, 0, 2), (1, 1, 2), (2, 0, 3), (2, 2, 4), (3, 1, 3), (3, 2, 2)]
)
def test_patterns_count_all_rows(length: int, marked: int, size: int) -> None:
    found = Counter(pattern(row, marked) for row in product(range(size), repeat=length))
    assert set(patterns(length, marked, size)) == set(found)
    assert all(rows_like(row, marked, size) == count for row, count in found.items())


def test_links_of_a_free_digit() -> None:
    """A root value 0 of three: from 0 one link to 0 and two to others; from another value the same."""
    found = steps(1, (None,), 0, 1, 3)
    rows = list(zip(found.lower, found.upper, found.links, found.orbit, strict=True))
    # Kinds: equal values 0, different values 1. From another value: 0, itself, and the third one.
    assert rows == [(0, 0, 1, 0), (0, 1, 2, 1), (1, 0, 1, 1), (1, 1, 1, 0), (1, 1, 1, 1)]
    assert found.orbit_links.tolist() == [3, 6]


def test_links_of_a_tied_digit() -> None:
    found = steps(1, (0,), 0, 1, 3)
    assert list(zip(found.lower, found.upper, found.links, found.orbit, strict=True)) == [(0, 0, 1, 0), (1, 1, 1, 0)]
    assert found.orbit_links.tolist() == [3]
