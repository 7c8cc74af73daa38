"""The little language that chooses and orders runs."""

from __future__ import annotations

import fnmatch
import operator
import re
from collections.abc import Callable, Sequence
from operator import attrgetter

from evo_libra.errors import InputError, unknown
from evo_libra.experiment.run.record import COLUMNS, STATUSES, RunInfo

_WORD = re.compile(r"(-?)([a-z_]+)(:|>=|<=|>|<)(.+)")
_EQUAL = re.compile(r"(-?)([a-z_]+)=(.+)")
_ORDERS: dict[str, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}


def is_filter(word: str) -> bool:
    """Return whether a word is to filter runs by a field, and not to name one.

    >>> [is_filter(word) for word in ("status:done", "evaluations>1000", "gpt3-4k/nsga2-00000000-s0")]
    [True, True, False]
    """
    return _WORD.fullmatch(word) is not None or _EQUAL.fullmatch(word) is not None


def parse_filter(query: str) -> Callable[[RunInfo], bool]:
    """Return what decides whether a run is meant.

    Parameters
    ----------
    query : words that all hold. ``field:value`` compares with a field of `RunInfo`, ``*`` stands for any letters and a
        comma for "or": ``status:failed,stale engine:nsga*``. ``field>number`` (also ``>=``, ``<``, ``<=``) compares
        numbers. Any other word is looked for in id, experiment and name. A ``-`` before a word turns it round.

    Raises
    ------
    InputError : there is no such field or status, or no number where one is needed.

    >>> parse_filter("sed:3")
    Traceback (most recent call last):
    ...
    evo_libra.errors.InputError: unknown field 'sed'; allowed: id, folder, ... did you mean 'seed'?
    """
    tests = [_test(word) for word in query.split()]
    if not tests:
        return lambda _: True
    return lambda run: all(test(run) for test in tests)


def sort_runs(runs: Sequence[RunInfo], order: str) -> list[RunInfo]:
    """Return runs by a field, ``-`` before it from the largest on; equal ones by their ids.

    Raises
    ------
    InputError : there is no such field.
    """
    name = order.removeprefix("-")
    if name not in COLUMNS:
        raise InputError(unknown("field", name, COLUMNS))

    def key(run: RunInfo) -> tuple[bool, object]:
        value = getattr(run, "location" if name == "folder" else name)
        return value is None, value

    by_id = sorted(runs, key=attrgetter("id"))
    if name == "id":
        return by_id[::-1] if order.startswith("-") else by_id
    return sorted((run for run in by_id if getattr(run, name) is not None), key=key, reverse=order.startswith("-")) + [
        run for run in by_id if getattr(run, name) is None
    ]


def _test(word: str) -> Callable[[RunInfo], bool]:
    match = _WORD.fullmatch(word)
    equal = _EQUAL.fullmatch(word)
    if match is None and equal is not None and equal[2] in COLUMNS:
        raise InputError(f"'{word}' is no filter; write {equal[1]}{equal[2]}:{equal[3]}")
    if match is None:
        turned, text = word.startswith("-") and len(word) > 1, word.removeprefix("-").lower()
        return lambda run: turned ^ (text in f"{run.id} {run.experiment} {run.name}".lower())
    turned, name, sign, value = match[1] == "-", match[2], match[3], match[4]
    if name not in COLUMNS:
        raise InputError(unknown("field", name, COLUMNS))
    if sign == ":":
        patterns = value.lower().split(",")
        if name == "status":
            _refuse_unknown(patterns)

        def fits(run: RunInfo) -> bool:
            # A run may belong to several experiments.
            found = str(getattr(run, name)).lower()
            texts = found.split(", ") if name == "experiment" else [found]
            return turned ^ any(fnmatch.fnmatchcase(text, pattern) for text in texts for pattern in patterns)

        return fits
    compare, number = _ORDERS[sign], _number(word, value)
    return lambda run: turned ^ (isinstance(found := getattr(run, name), int | float) and compare(found, number))


def _refuse_unknown(statuses: Sequence[str]) -> None:
    for status in statuses:
        if not fnmatch.filter(STATUSES, status):
            raise InputError(unknown("status", status, STATUSES))


def _number(word: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InputError(f"the filter '{word}' compares with '{text}', which is no number") from None
