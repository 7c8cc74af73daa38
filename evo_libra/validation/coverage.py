"""Shares of rows that bands hold which were made without them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from evo_libra.validation.intervals import Residual, interval_of, sample_of, used
from evo_libra.validation.measured_bands import Key, Members, prior_of, samples_of
from evo_libra.validation.source import PublishedRow

Pairs = Sequence[tuple[PublishedRow, Residual]]


@dataclass(frozen=True)
class LeftOut:
    """A row, and whether the band of its class that was made without it holds it."""

    row: PublishedRow
    held: bool


def without_row(members: Members) -> list[LeftOut]:
    """Return each row of a class of several rows, against the band of the other rows."""
    return list(_left_out(members, _same_row))


def without_series(members: Members) -> list[LeftOut]:
    """Return each row of a class of several series, against the band of the other series."""
    return list(_left_out(members, lambda one, other: one[1].series == other[1].series))


def share(found: Sequence[LeftOut]) -> float:
    """Return the share of rows that are held."""
    return sum(one.held for one in found) / len(found)


Pair = tuple[PublishedRow, Residual]


def _same_row(one: Pair, other: Pair) -> bool:
    return one is other


def _left_out(members: Members, goes_along: Callable[[Pair, Pair], bool]) -> Iterator[LeftOut]:
    kept = {key: _used(pairs) for key, pairs in members.items()}
    for key, pairs in kept.items():
        for pair in pairs:
            others = [other for other in pairs if not goes_along(pair, other)]
            if others:
                yield LeftOut(pair[0], held=_is_held(key, pair[1], {**kept, key: others}))


def _used(pairs: Pairs) -> list[Pair]:
    """Return the rows that the band of a class is from."""
    errors = used(error for _, error in pairs)
    return [pair for pair in pairs if pair[1].fitted == errors[0].fitted]


def _is_held(key: Key, error: Residual, others: Mapping[Key, Pairs]) -> bool:
    samples = samples_of(others)
    low, high = interval_of(sample_of([one for _, one in others[key]]), prior_of(key, samples))
    return low <= math.exp(error.log_ratio) <= high
