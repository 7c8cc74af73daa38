"""Tables of measured kernels of ai-dynamo/aiconfigurator: matrix products, fused attention, NCCL's collectives."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from evo_libra.errors import InputError, Mistake

PRODUCTS, ATTENTION, COLLECTIVES = "products", "attention", "collectives"

SIZES: Mapping[str, tuple[str, ...]] = {
    PRODUCTS: ("m", "n", "k"),
    ATTENTION: ("batch_size", "isl", "num_heads", "num_key_value_heads", "head_dim"),
    COLLECTIVES: ("num_gpus", "message_size"),
}
"""Kinds of tables, and the columns of whole numbers that each has."""

WORDS: Mapping[str, tuple[str, ...]] = {
    PRODUCTS: ("gemm_dtype",), ATTENTION: ("attn_dtype",), COLLECTIVES: ("nccl_dtype", "op_name"),
}  # fmt: skip
"""Kinds of tables, and the columns of words that each has."""

PRECISIONS = {"float16": "bf16", "bfloat16": "bf16", "half": "bf16", "fp8": "fp8", "nvfp4": "fp4"}
"""Types of a table -> precisions; products of other types, such as fp8_block, are other kernels, and are left out."""

_LATENCY, _DEVICE, _WINDOW, _CACHE = "latency", "device", "window_size", "kv_cache_dtype"
_OPTIONAL = (_DEVICE, _WINDOW, _CACHE)
_MILLI = 1e-3
_MOST_SECONDS = 1e6
_MOST = 10**15


@dataclass(frozen=True)
class KernelTable:
    """Measured kernels.

    Attributes
    ----------
    kind : a key of `SIZES`.
    rows : the columns of a row by name, and ``seconds``; ``precision`` instead of the type.
    left : how many rows were left out, by their type or by what is wrong with them.
    devices : what was measured, where the table has a column for it.
    """

    kind: str
    rows: tuple[Mapping[str, Any], ...]
    left: Mapping[str, int] = field(default_factory=dict)
    devices: frozenset[str] = frozenset()


def read_kernel_table(text: str, file: str) -> KernelTable:
    """Return the kernels of a table with commas.

    Raises
    ------
    InputError : a column is missing, or a cell is wrong, with its line.
    """
    reader = csv.reader(io.StringIO(text))
    try:
        head = [name.strip() for name in next(reader, [])]
        kind = _kind_of(head, file)
        return _table(kind, _cells(reader, head, kind, file))
    except csv.Error as error:
        raise InputError(Mistake(f"is no table with commas: {error}", file, reader.line_num)) from None


def _kind_of(head: list[str], file: str) -> str:
    needed = {kind: (*WORDS[kind], *SIZES[kind], _LATENCY) for kind in SIZES}
    for kind, columns in needed.items():
        if set(columns) <= set(head):
            if len(set(head)) < len(head):
                raise InputError(Mistake("a column comes twice", file, 1))
            return kind
    nearest = min(needed, key=lambda kind: len(set(needed[kind]) - set(head)))
    missing = ", ".join(column for column in needed[nearest] if column not in head)
    allowed = "; ".join(f"{kind}: {', '.join(columns)}" for kind, columns in needed.items())
    raise InputError(Mistake(f"has no column {missing}; the columns of {allowed} are read", file, 1))


def _cells(reader: Iterator[list[str]], head: list[str], kind: str, file: str) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield each row with its sizes and seconds, and its type."""
    known = (*WORDS[kind], *SIZES[kind], _LATENCY, *(name for name in _OPTIONAL if name in head))
    places = {name: head.index(name) for name in known}
    for line, row in enumerate(reader, 2):
        if not row:
            continue
        if len(row) != len(head):
            raise InputError(Mistake(f"found {len(row)} cells; {len(head)} are needed", file, line))
        cells = {name: row[place].strip() for name, place in places.items()}
        sizes = {name: _size(cells[name], name, file, line) for name in SIZES[kind]}
        words = {name: cells[name] for name in WORDS[kind]}
        words |= {_DEVICE: cells[_DEVICE]} if _DEVICE in cells else {}
        yield {**sizes, **words, "seconds": _seconds(cells[_LATENCY], file, line)}, _type_of(cells, kind)


def _type_of(cells: Mapping[str, str], kind: str) -> str:
    """Return the type of a row; attention within a window, or on a cache of another type, is another kernel."""
    own = cells[WORDS[kind][0]]
    if cells.get(_WINDOW, "0") not in ("0", ""):
        return f"{own} within a window"
    return own if cells.get(_CACHE, own) == own else f"{own} on a cache of {cells[_CACHE]}"


def _size(text: str, column: str, file: str, line: int) -> int:
    if not (text.isascii() and text.isdigit()) or int(text[:20]) > _MOST:
        raise InputError(Mistake(f"found {text!r:.40}; a whole number is needed", file, line, key=column))
    return int(text)


def _seconds(text: str, file: str, line: int) -> float:
    try:
        found = float(text) * _MILLI
    except ValueError:
        found = math.nan
    if not 0 < found <= _MOST_SECONDS:
        raise InputError(Mistake(f"found {text!r:.40}; milliseconds above 0 are needed", file, line, key=_LATENCY))
    return found


def _table(kind: str, cells: Iterable[tuple[dict[str, Any], str]]) -> KernelTable:
    rows: list[Mapping[str, Any]] = []
    left: dict[str, int] = {}
    for row, of_type in cells:
        if not all(row[name] for name in SIZES[kind]):
            left["a size of 0"] = left.get("a size of 0", 0) + 1
        elif of_type in PRECISIONS:
            rows.append({**row, "precision": PRECISIONS[of_type]})
        else:
            left[of_type] = left.get(of_type, 0) + 1
    return KernelTable(kind, tuple(rows), left, frozenset(row[_DEVICE] for row in rows if _DEVICE in row))
