"""The output of nccl-tests: bus bandwidth over sizes."""

from __future__ import annotations

import re
from dataclasses import dataclass

from evo_libra.errors import InputError, Mistake

_PREFIX = re.compile(r"^\s*\[[0-9,]+\]<stdout>:\s?|^\s+(?=#)")
_NUMBER = re.compile(r"[0-9]{1,18}(\.[0-9]{1,9})?")
_RANK = re.compile(r"#\s+Rank\s+[0-9]+\s")
_WHOLE = 18
_SIZE, _TIME, _BUS, _WRONG = 0, -8, -6, -5
"""Columns; those of times are counted from the end, as older versions lack `root` or `redop` before them."""

_COLUMNS = (11, 12, 13)
_MICRO, _GIGA = 1e-6, 1e9


@dataclass(frozen=True)
class NcclRow:
    """A message: its size in bytes, seconds out of place, and bus bandwidth in B/s."""

    size: int
    seconds: float
    bus: float


@dataclass(frozen=True)
class NcclTable:
    """Rows of one test by size, and its ranks; 0 where the header does not list them."""

    ranks: int
    rows: tuple[NcclRow, ...]


def read_nccl_tests(text: str, file: str) -> NcclTable:
    """Return the rows of one test out of place; raises `InputError` with the line of what cannot be read."""
    rows: list[NcclRow] = []
    ranks = 0
    for at, raw in enumerate(text.splitlines(), 1):
        line = _PREFIX.sub("", raw)
        ranks += bool(_RANK.match(line))
        words = line.split()
        if not words or not words[0].isascii() or not words[0].isdigit():
            if len(words) in _COLUMNS and words[0][:1].isdigit():
                raise InputError(Mistake(f"found {words[0]!r:.40}; bytes are needed", file, at, key="size"))
            continue
        row = _row(words, file, at)
        rows += [row] if row.size else []  # messages of less than a word of each rank move nothing
    if not rows:
        raise InputError(Mistake("no row of nccl-tests was found: size, count, type, redop, root, time, ...", file))
    sizes = [row.size for row in rows]
    if len(set(sizes)) < len(sizes):
        raise InputError(Mistake("a size comes twice; a file of one test is read", file, key="size"))
    return NcclTable(ranks, tuple(sorted(rows, key=lambda row: row.size)))


def _row(words: list[str], file: str, line: int) -> NcclRow:
    if len(words) not in _COLUMNS or len(words[_SIZE]) > _WHOLE:
        needed = "size, count, type, redop, root, and time, algbw, busbw, #wrong twice"
        message = f"found {len(words)} columns; {needed} are needed"
        raise InputError(Mistake(message, file, line))
    if words[_WRONG].isdigit() and int(words[_WRONG]):
        message = f"found {words[_WRONG]} wrong values; such a run measures nothing"
        raise InputError(Mistake(message, file, line, key="#wrong"))
    values = []
    for key, place in (("time", _TIME), ("busbw", _BUS)):
        if not _NUMBER.fullmatch(words[place]):
            raise InputError(Mistake(f"found {words[place]!r:.40}; a number is needed", file, line, key=key))
        values.append(float(words[place]))
    if values[0] <= 0:
        raise InputError(Mistake("found 0; a time above 0 is needed", file, line, key="time"))
    return NcclRow(int(words[_SIZE]), values[0] * _MICRO, values[1] * _GIGA)


def large_messages(table: NcclTable, least: float = 30e6) -> list[NcclRow]:
    """Return the messages of `least` bytes and more."""
    return [row for row in table.rows if row.size >= least]
