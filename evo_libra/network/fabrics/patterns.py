"""Rows of values up to permutations of all but some marked values, and links between them.

A row is written with marked values 0 .. marked - 1 as they are, and other values in the order in which they appear.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from math import prod

import numpy as np

from evo_libra.arrays import BoolArray, FloatArray, IntArray

Row = tuple[int, ...]


@cache
def patterns(length: int, marked: int, size: int) -> tuple[Row, ...]:
    """Return all rows of some length over `size` values, up to permutations of those that are not marked.

    >>> patterns(2, 0, 3), len(patterns(2, 1, 3))
    (((0, 0), (0, 1)), 5)
    """
    found: list[Row] = [()]
    for _ in range(length):
        found = [(*row, value) for row in found for value in range(min(next_value(row, marked) + 1, size))]
    return tuple(found)


def next_value(row: Row, marked: int) -> int:
    """Return the first value that a row does not have yet, marked ones left out."""
    return max(marked, max(row, default=-1) + 1)


def rows_like(row: Row, marked: int, size: int) -> int:
    """Return how many rows of values a pattern stands for.

    >>> rows_like((0, 1), 0, 3), rows_like((0, 1, 2), 1, 4)
    (6, 6)
    """
    return prod(size - value for value in range(marked, next_value(row, marked)))


def pattern(values: Row, marked: int) -> Row:
    """Return the pattern of a row of values.

    >>> pattern((5, 0, 5, 3), 1)
    (1, 0, 1, 2)
    """
    names = {value: value for value in range(marked)}
    for value in values:
        names.setdefault(value, len(names))
    return tuple(names[value] for value in values)


@dataclass(frozen=True)
class Steps:
    """Links of one relation in the digits of one component, by kinds of their ends.

    Attributes
    ----------
    lower, upper : (k,) places of the ends in the patterns of their rows.
    links : (k,) links of each lower row.
    orbit : (k,) kinds of links, when no value but those of `frozen` components is distinguished.
    orbit_links : (o,) links of each kind.
    same : (k,) whether both ends have the same values, where both are of one layer.
    """

    lower: IntArray
    upper: IntArray
    links: FloatArray
    orbit: IntArray
    orbit_links: FloatArray
    same: BoolArray


@cache
def steps(lower: int, ties: tuple[int | None, ...], base: int, marked: int, size: int) -> Steps:
    """Return the links between rows of one component.

    Parameters
    ----------
    lower : digits of a lower row.
    ties : for each digit of an upper row the lower one that it is tied to; None for a free one.
    base : values that every figure tells apart, all or none of them.
    marked : values that are distinguished as seen from some nodes.
    size : values of a digit.
    """
    free = sum(tie is None for tie in ties)
    low = {row: index for index, row in enumerate(patterns(lower, marked, size))}
    high = {row: index for index, row in enumerate(patterns(len(ties), marked, size))}
    kinds = {row: index for index, row in enumerate(patterns(lower + free, base, size))}
    found = []
    for row in patterns(lower + free, marked, size):
        rest = iter(row[lower:])
        first, second = row[:lower], tuple(next(rest) if tie is None else row[tie] for tie in ties)
        links = rows_like(row, marked, size) // rows_like(first, marked, size)
        found.append((low[first], high[pattern(second, marked)], links, kinds[pattern(row, base)], first == second))
    starts, ends, links_of, orbit, same = (np.array(column) for column in zip(*found, strict=True))
    return Steps(
        lower=starts, upper=ends, links=links_of.astype(np.float64), orbit=orbit, same=same.astype(np.bool_),
        orbit_links=np.array([rows_like(row, base, size) for row in kinds], dtype=np.float64),
    )  # fmt: skip
