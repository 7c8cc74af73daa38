"""Dimensions one step from others, listed by hand."""

from __future__ import annotations

from evo_libra.problem.steps import _joined, _split


def test_two_neighbours_become_one_of_either_technology() -> None:
    assert list(_joined(((2, 0), (3, 1), (4, 1)))) == [
        ((6, 0), (4, 1)), ((6, 1), (4, 1)), ((2, 0), (12, 1)), ((2, 0), (12, 1)),
    ]  # fmt: skip


def test_one_becomes_two_and_keeps_its_technology_in_one_of_them() -> None:
    found = list(_split(((6, 0),), 2))
    assert sorted(set(found)) == [
        ((2, 0), (3, 0)), ((2, 0), (3, 1)), ((2, 1), (3, 0)), ((3, 0), (2, 0)), ((3, 0), (2, 1)), ((3, 1), (2, 0)),
    ]  # fmt: skip
    assert list(_split(((3, 0),), 2)) == []
