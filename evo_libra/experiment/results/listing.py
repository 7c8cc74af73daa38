"""Folders that may be runs, and the language of filters and orders of runs."""

from __future__ import annotations

import fnmatch
import operator
import os
import re
from collections.abc import Callable, Sequence
from operator import attrgetter
from pathlib import Path

from evo_libra.errors import InputError, unknown
from evo_libra.experiment.run.record import COLUMNS, STATUSES, RunRecord
from evo_libra.files.integrity import unreadable

_FIELDS = tuple(one.name for one in COLUMNS)
_WORD = re.compile(r"(-?)([a-z_]+)(:|>=|<=|>|<)(.+)")
_EQUAL = re.compile(r"(-?)([a-z_]+)=(.+)")
_ORDERS = {">=": operator.ge, "<=": operator.le, ">": operator.gt, "<": operator.lt}


def is_filter(word: str) -> bool:
    """Return whether a word is to filter runs by a field, and not to name one.

    >>> [is_filter(word) for word in ("status:done", "evaluations>1000", "gpt3-4k/nsga2-00000000-s0")]
    [True, True, False]
    """
    return _WORD.fullmatch(word) is not None or _EQUAL.fullmatch(word) is not None


def parse_filter(query: str) -> Callable[[RunRecord], bool]:
    """Return what decides whether a run is meant, from words that all hold.

    ``field:value`` compares with a column; ``*`` stands for any letters and a comma for "or": ``status:failed,stale
    engine:nsga*``. ``field>number`` (also ``>=``, ``<``, ``<=``) compares numbers. Any other word is looked for in id,
    experiment and name. A ``-`` before a word negates it. Raises an `InputError` for anything else.

    >>> parse_filter("sed:3")
    Traceback (most recent call last):
    ...
    evo_libra.errors.InputError: unknown field 'sed'; allowed: id, folder, ... did you mean 'seed'?
    """
    tests = [_test(word) for word in query.split()]
    if not tests:
        return lambda _: True
    return lambda run: all(test(run) for test in tests)


def sort_runs(runs: Sequence[RunRecord], order: str) -> list[RunRecord]:
    """Return runs by a field, ``-`` before it from the largest on; equal ones by their ids, those without a value last.

    A field that there is not is an InputError.
    """
    name, down = order.removeprefix("-"), order.startswith("-")
    if name not in _FIELDS:
        raise InputError(unknown("field", name, _FIELDS))
    by_id = sorted(runs, key=attrgetter("id"), reverse=name == "id" and down)
    if name == "id":
        return by_id
    known = [run for run in by_id if getattr(run, name) is not None]
    ordered = sorted(known, key=attrgetter("location" if name == "folder" else name), reverse=down)
    return [*ordered, *(run for run in by_id if getattr(run, name) is None)]


def _test(word: str) -> Callable[[RunRecord], bool]:
    match = _WORD.fullmatch(word)
    equal = _EQUAL.fullmatch(word)
    if match is None and equal is not None and equal[2] in _FIELDS:
        raise InputError(f"'{word}' is no filter; write {equal[1]}{equal[2]}:{equal[3]}")
    if match is None:
        turned, text = word.startswith("-") and len(word) > 1, word.removeprefix("-").lower()
        return lambda run: turned ^ (text in f"{run.id} {run.experiment} {run.name}".lower())
    turned, name, sign, value = match[1] == "-", match[2], match[3], match[4]
    if name not in _FIELDS:
        raise InputError(unknown("field", name, _FIELDS))
    if sign == ":":
        patterns = value.lower().split(",")
        if name == "status" and (wrong := [one for one in patterns if not fnmatch.filter(STATUSES, one)]):
            raise InputError(unknown("status", wrong[0], STATUSES))

        def fits(run: RunRecord) -> bool:
            # A run may belong to several experiments.
            found = str(getattr(run, name)).lower()
            texts = found.split(", ") if name == "experiment" else [found]
            return turned ^ any(fnmatch.fnmatchcase(text, pattern) for text in texts for pattern in patterns)

        return fits
    compare, number = _ORDERS[sign], _number(word, value)
    return lambda run: turned ^ (isinstance(found := getattr(run, name), int | float) and compare(found, number))


def _number(word: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InputError(f"the filter '{word}' compares with '{text}', which is no number") from None


def can_be_read(results: Path) -> bool:
    """Return whether there is a folder of results. Raises an InputError where it is a file, or cannot be read."""
    try:
        with os.scandir(results):
            return True
    except FileNotFoundError:
        return False
    except NotADirectoryError:
        raise no_folder(results) from None
    except OSError as error:
        raise unreadable(results, error) from None


def no_folder(results: Path) -> InputError:
    """Return the error for a folder of results that is a file, or lies below one."""
    file = next((part for part in (results, *results.parents) if part.is_file()), results)
    return InputError(f"{results} is no folder of results: {'it' if file == results else file} is a file")


def folder_names(folder: Path, notes: list[str]) -> list[str]:
    """Return the names of the folders in a folder, as text, since a thousand paths take a while; or note why not."""
    try:
        with os.scandir(folder) as entries:
            names = sorted(entry.name for entry in entries if _is_folder(entry))
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        notes.append(f"what is in a folder is not listed: {unreadable(folder, error)}")
        return []
    odd = [name for name in names if not name.isascii() and any("\ud800" <= letter <= "\udfff" for letter in name)]
    notes += [f"{os.fsencode(folder / name)!r} is not listed: its name is not UTF-8" for name in odd]
    return [name for name in names if name not in odd] if odd else names


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


def run_ids(results: Path, notes: list[str]) -> dict[str, None]:
    """Return the ids of the folders that may be runs, in order."""
    problems = [problem for problem in folder_names(results, notes) if not problem.startswith(".")]
    return {f"{problem}/{name}": None for problem in problems for name in folder_names(results / problem, notes)}
