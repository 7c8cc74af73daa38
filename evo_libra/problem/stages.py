"""All mistakes of a problem file: its stages are tried one by one, each where what it reads has no mistakes."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

from evo_libra.errors import InputError, Mistake
from evo_libra.model.source import Source, validate
from evo_libra.problem.spec import ProblemSpec

T = TypeVar("T")
_TOP = re.compile(r"[^.\[]+")
_INSTEAD: dict[str, Any] = {"name": "unnamed", "npus": 2, "fabric": {"catalog": "libra"}, "workloads": [{}]}
"""Values that stand for required keys with mistakes; no stage that reads such a key is tried."""


class Stages:
    """Tries stages, and collects their mistakes and those that the schema finds.

    Parameters
    ----------
    source : the data of a problem file, with the place of every key.

    Attributes
    ----------
    spec : what the file says, without the keys at its top that have mistakes.
    mistakes : found so far.

    Raises
    ------
    InputError : the schema finds mistakes that leave nothing to go on with.
    """

    def __init__(self, source: Source) -> None:
        self.mistakes: list[Mistake] = []
        self._file, self._wrong = source.file, frozenset[str]()
        try:
            self.spec = validate(ProblemSpec, source)
        except InputError as error:
            self.mistakes += error.mistakes
            self._wrong = frozenset(found[0] for one in error.mistakes if (found := _TOP.match(one.key)))
            if not self._wrong:
                raise
            self.spec = validate(ProblemSpec, _without(source, self._wrong))

    def attempt(self, stage: Callable[[], T], *keys: str) -> T | None:
        """Return the result of a stage; None where it finds mistakes, or where a key that it reads has some.

        Parameters
        ----------
        stage : raises an InputError with its mistakes.
        keys : those at the top of the file that it reads.
        """
        if self._wrong & set(keys):
            return None
        try:
            return stage()
        except InputError as error:
            self.mistakes += error.mistakes
            return None

    def error(self, first: InputError) -> InputError:
        """Return the error with all mistakes in the order of the file, those of the first error included."""
        found = dict.fromkeys([*first.mistakes, *self.mistakes])
        return InputError(sorted(found, key=self._order))

    def _order(self, mistake: Mistake) -> tuple[bool, float, float]:
        if mistake.file != self._file:
            return True, 0, 0
        return False, mistake.line or math.inf, mistake.column or math.inf


def _without(source: Source, keys: frozenset[str]) -> Source:
    """Return a problem file without some of its keys."""
    right = {key: value for key, value in dict(source.data).items() if key not in keys}
    return replace(source, data=right | {key: value for key, value in _INSTEAD.items() if key in keys})
