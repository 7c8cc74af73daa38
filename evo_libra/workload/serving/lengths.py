"""Lengths of requests and of their answers."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from evo_libra.arrays import FloatArray, IntArray
from evo_libra.errors import InputError, printable, shortened
from evo_libra.files.source import read_text

NAMED = ("fixed", "exponential")
"""Distributions by name."""

_MAX_BYTES = 64 * 10**6
_SAMPLES = 8192
_SEED = 0
_SHORTEST_ANSWER = 2
_MOST_DIGITS = 9


@dataclass(frozen=True, eq=False)
class Lengths:
    """(r,) tokens of requests, and of their answers; each pair is as likely as any other."""

    prompts: IntArray
    answers: IntArray

    @cached_property
    def prompt(self) -> float:
        """Tokens of a request on average."""
        return float(self.prompts.mean())

    @cached_property
    def answer(self) -> float:
        """Tokens of an answer on average."""
        return float(self.answers.mean())

    @cached_property
    def context(self) -> float:
        """Tokens that a token of an answer attends to, on average over all tokens of answers."""
        return float((self.answers * (self.prompts + self.answers / 2.0)).sum() / self.answers.sum())

    @cached_property
    def longest(self) -> float:
        """Tokens of the longest context of a request, on average over those that are answered at some moment."""
        return float((self.answers * (self.prompts + self.answers)).sum() / self.answers.sum())

    @cached_property
    def spread(self) -> float:
        """Standard deviation of the tokens of answers over their mean."""
        return float(self.answers.std() / self.answers.mean())

    def drawn(self, random: np.random.Generator, count: int) -> tuple[IntArray, IntArray]:
        """Return a number of requests."""
        which = random.integers(0, len(self.prompts), count)
        return self.prompts[which], self.answers[which]


def fixed_lengths(prompt: int, answer: int) -> Lengths:
    """Return lengths that are the same for all requests."""
    return Lengths(np.array([prompt]), np.array([answer]))


def exponential_lengths(prompt: int, answer: int) -> Lengths:
    """Return exponential lengths with these means, independent of each other: quantiles, at least 1 and 2 tokens."""
    chance = (np.arange(_SAMPLES) + 0.5) / _SAMPLES
    random = np.random.default_rng(_SEED)

    def of(mean: float, least: int) -> IntArray:
        found = np.maximum(np.rint(-mean * np.log1p(-random.permutation(chance))), least)
        return np.asarray(found, dtype=np.int64)

    return Lengths(of(prompt, 1), of(answer, _SHORTEST_ANSWER))


def read_lengths(file: Path) -> Lengths:
    """Return the lengths of a file of comma-separated values with the columns input and output.

    An `InputError` says which line is wrong.
    """
    try:
        pairs = _pairs(file, csv.DictReader(read_text(file, _MAX_BYTES).splitlines()))
    except csv.Error as error:
        raise InputError(f"{file}: is no table of values with commas: {error}") from None
    prompts, answers = np.array(pairs, dtype=np.int64).T
    return Lengths(prompts, answers)


def _pairs(file: Path, rows: Iterable[Mapping[str, str | None]]) -> list[FloatArray]:
    """Return the lengths of each row; the first wrong one ends the reading."""
    pairs: list[FloatArray] = []
    for line, row in enumerate(rows, 2):
        if not pairs and not {"input", "output"} <= set(row):
            found = shortened(printable(", ".join(map(str, row))))
            raise InputError(f"{file}: the columns input and output are needed, found {found}")
        pairs.append(_pair(file, line, row["input"], row["output"]))
    if not pairs:
        raise InputError(f"{file}: the columns input and output are needed, found no rows")
    return pairs


def _pair(file: Path, line: int, prompt: str | None, answer: str | None) -> FloatArray:
    texts = [(prompt or "").strip(), (answer or "").strip()]
    whole = all(text.isdecimal() and len(text) <= _MOST_DIGITS for text in texts)
    if not whole or int(texts[0]) < 1 or int(texts[1]) < _SHORTEST_ANSWER:
        raise InputError(
            f"{file}:{line}: found input {texts[0] or 'nothing'} and output {texts[1] or 'nothing'}; whole numbers of "
            "tokens are needed, at least 1 and 2"
        )
    return np.array([int(text) for text in texts], dtype=np.float64)
