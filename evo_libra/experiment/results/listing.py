"""Folders that may be runs, and the language of filters and orders of runs."""

from __future__ import annotations

import operator
import os
from collections.abc import Callable, Sequence
from operator import attrgetter
from pathlib import Path

from evo_libra.errors import InputError, unknown
from evo_libra.experiment.run.record import COLUMNS, STATUSES, RunRecord
from evo_libra.files.integrity import unreadable
from evo_libra.files.query import MATCHES, TEXT, Word, fits, is_test, parse_query

_FIELDS = tuple(one.name for one in COLUMNS)
_ORDERS = {">=": operator.ge, "<=": operator.le, ">": operator.gt, "<": operator.lt, "=": operator.eq}


def is_filter(word: str) -> bool:
    """Return whether a word is to filter runs by a field, and not to name one.

    >>> [is_filter(word) for word in ("status:done", "evaluations>1000", "gpt3-4k/nsga2-00000000-s0")]
    [True, True, False]
    """
    return is_test(word)


def parse_filter(query: str) -> Callable[[RunRecord], bool]:
    """Return what decides whether a run is meant, from words that all hold.

    ``field:value`` compares with a column; ``*`` stands for any letters and a comma for "or": ``status:failed,stale
    engine:nsga*``. ``field>number`` (also ``>=``, ``<``, ``<=``, ``=``) compares numbers. Any other word is looked for
    in id, experiment and name. A ``-`` before a word negates it. Raises an `InputError` for anything else.

    >>> parse_filter("sed:3")
    Traceback (most recent call last):
    ...
    evo_libra.errors.InputError: character 1 of 'sed:3': unknown field 'sed'; allowed: id, ... did you mean 'seed'?
    """
    tests = [_test(word) for word in parse_query(query)]
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


def _test(word: Word) -> Callable[[RunRecord], bool]:
    test = _test_of(word)
    return (lambda run: not test(run)) if word.negated else test


def _test_of(word: Word) -> Callable[[RunRecord], bool]:
    """Return what decides whether a run fits a word, apart from its ``-``."""
    if word.sign == TEXT or (word.sign == "=" and word.name not in _FIELDS):
        written = word.first if word.sign else word.value
        contained = fits([written.lower()], anywhere=True)
        return lambda run: contained(f"{run.id} {run.experiment} {run.name}")
    name = word.name
    if name not in _FIELDS:
        raise word.error(unknown("field", name, _FIELDS))
    if word.sign == MATCHES:
        return _matching(word)
    compare, number = _ORDERS[word.sign], _number(word)
    return lambda run: isinstance(found := getattr(run, name), int | float) and compare(found, number)


def _matching(word: Word) -> Callable[[RunRecord], bool]:
    if word.name == "status":
        wrong = [one for one in word.patterns if not any(map(fits([one]), STATUSES))]
        if wrong:
            raise word.error(unknown("status", wrong[0], STATUSES), of_value=True)
    fitting, name = fits(word.patterns), word.name

    def test(run: RunRecord) -> bool:
        # A run may belong to several experiments.
        found = str(getattr(run, name))
        return any(map(fitting, found.split(", ") if name == "experiment" else [found]))

    return test


def _number(word: Word) -> float:
    try:
        return float(word.value)
    except ValueError:
        texts = f"; for a text write {word.name}:{word.value}" if word.sign == "=" else ""
        raise word.error(f"'{word.value}' is no number{texts}", of_value=True) from None


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
