"""Mistakes that do not depend on each other, raised together."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from evo_libra.errors import InputError, Mistake

T = TypeVar("T")


class Gather:
    """Tries one thing after the other, and collects what is wrong with each.

    Attributes
    ----------
    mistakes : found so far.
    """

    def __init__(self) -> None:
        self.mistakes: list[Mistake] = []

    def attempt(self, stage: Callable[[], T]) -> T | None:
        """Return the result of a function; None where it raises an InputError, whose mistakes are kept."""
        try:
            return stage()
        except InputError as error:
            self.mistakes += error.mistakes
            return None

    def check(self) -> None:
        """Raise what was found.

        Raises
        ------
        InputError : something was.
        """
        if self.mistakes:
            raise InputError(self.mistakes)
