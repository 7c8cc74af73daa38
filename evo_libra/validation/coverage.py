"""Shares of rows that bands hold which were made without them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from evo_libra.validation.intervals import Residual, interval_of, sample_of, used
from evo_libra.validation.measured_bands import Key, Members, members_of, prior_of, samples_of
from evo_libra.validation.source import PublishedRow, PublishedSource
from evo_libra.workload.plans.step_class import FIRST_TOKEN, MEMORY, TIME

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


RECENT = 2024
"""Year from which on rows of training count as recent."""


def coverage_cells(computed: Mapping[PublishedSource, Iterable[PublishedRow]]) -> list[list[str]]:
    """Return the shares that bands hold of several kinds of rows, for reading."""
    members = members_of(computed)
    found = [without_row(members), without_series(members)]
    return [[name, *(cell for each in found for cell in _cells([one for one in each if is_kind(one)]))]
            for name, is_kind in _KINDS.items()]  # fmt: skip


def _cells(found: Sequence[LeftOut]) -> list[str]:
    return [str(len(found)), f"{100 * share(found):.0f}"] if found else ["0", "-"]


def _is(one: LeftOut, figure: str, *, served: bool) -> bool:
    return one.row.step is not None and one.row.step.is_served == served and one.row.figure == figure


_KINDS: Mapping[str, Callable[[LeftOut], bool]] = {
    "all": lambda _: True,
    "steps of training": lambda one: _is(one, TIME, served=False),
    f"those of {RECENT} and later": lambda one: _is(one, TIME, served=False) and one.row.year >= RECENT,
    "memory of training": lambda one: _is(one, MEMORY, served=False),
    "requests, and their tokens": lambda one: _is(one, TIME, served=True),
    "first tokens": lambda one: _is(one, FIRST_TOKEN, served=True),
}

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
