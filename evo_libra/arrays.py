"""The array types of a population: struct of arrays, the design axis last."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from types import FunctionType
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

Kind = TypeVar("Kind", bound=np.generic)

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

GIGA = 1e9
"""Bytes in a GB, everywhere in this package: the border between GB/s and B/s."""

TERA = 1e12
"""FLOP/s in a TFLOP/s."""

NANO = 1e-9
"""Seconds in a ns."""

TILE = 4096
"""Designs evaluated at a time: measured on 512 to 4096, fewer cost more in calls than they save in cache misses."""


# Freed at once: from then on the GNU C library keeps freed arrays of up to this size (4 MiB) for the next arrays.
# Otherwise the library gives arrays of 128 KiB and more, such as those of a tile, back to the system. New pages take
# longer than what is computed: a design of gpt3-4k took 183 instead of 72 ns.
np.empty(1 << 22, dtype=np.uint8)


def columns(values: NDArray[Kind], which: IntArray) -> NDArray[Kind]:
    """Return the designs `which` of (..., n) values; they must exist, as a place beyond the last means the last."""
    # Without a check of every place for every row numpy takes half as long.
    return values.take(which, axis=-1, mode="clip")


def chosen(values: NDArray[Kind], which: Sequence[int] | IntArray | BoolArray | slice) -> NDArray[Kind]:
    """Return the designs `which` of (..., n) values, the design axis contiguous.

    Indexing alone may leave another order in memory, in which sums over other axes round differently.
    """
    return np.ascontiguousarray(values[..., which])


def columns_or_shared(values: NDArray[Kind], which: Sequence[int] | IntArray | BoolArray | slice) -> NDArray[Kind]:
    """Return the designs `which` of (..., n) values; an axis of length 1 holds for all of them and stays."""
    return values if values.shape[-1] == 1 else chosen(values, which)


@dataclass(frozen=True)
class Schedule:
    """Settings of collectives on the networks of a population; axes of length 1 hold for all of them.

    A collective is cut into (n,) chunks; the (n,) scheduler and the (d, n) algorithm are indices into `SCHEDULERS` and
    `ALGORITHMS` of `evo_libra.timing.names`.
    """

    chunks: IntArray
    scheduler: IntArray
    algorithm: IntArray

    def select(self, designs: Sequence[int] | IntArray | slice) -> Schedule:
        """Return the schedules of the named designs, in that order."""
        return Schedule(*(columns_or_shared(a, designs) for a in (self.chunks, self.scheduler, self.algorithm)))


@dataclass(frozen=True)
class Population:
    """Networks as a struct of arrays; dimension 0 is the innermost, an unused dimension has size 1.

    Attributes
    ----------
    npus : (d, n) sizes of the dimensions.
    block : (d, n) index into `evo_libra.network.blocks.registry.BLOCKS`.
    technology : (d, n) index into the technologies of the catalogue.
    bandwidth : (d, n) bandwidth per NPU in B/s; 0 in an unused dimension.
    schedule : how collectives run on them, where the time model asks for it.
    plan : (w, n) place of the parallelisation plan of each workload that leaves some open; None where none does.
    spares : (n,) spare NPUs; None for none.
    """

    npus: IntArray
    block: IntArray
    technology: IntArray
    bandwidth: FloatArray
    schedule: Schedule | None = None
    plan: IntArray | None = None
    spares: IntArray | None = None

    def __len__(self) -> int:
        return int(self.npus.shape[1])

    @property
    def plans(self) -> IntArray:
        """(w, n) places of plans; w is 0 where none is open."""
        return no_plans(len(self)) if self.plan is None else self.plan

    def rows(self) -> FloatArray:
        """Return (r, n) numbers that are equal for equal designs of one problem, and for no others."""
        schedule = self.schedule
        how = () if schedule is None else (schedule.chunks, schedule.scheduler, schedule.algorithm)
        spares = () if self.spares is None else (self.spares,)
        parts = [self.npus, self.block, self.technology, self.bandwidth, self.plans, *how, *spares]
        # An axis of length 1 holds for all designs.
        each = [np.atleast_2d(part) for part in parts]
        each = [np.broadcast_to(part, (len(part), len(self))) if part.shape[1] == 1 else part for part in each]
        return np.concatenate(each, dtype=np.float64)

    def select(self, designs: Sequence[int] | IntArray | slice) -> Population:
        """Return the named designs, in that order."""
        return Population(
            npus=self.npus[:, designs], block=self.block[:, designs], technology=self.technology[:, designs],
            bandwidth=self.bandwidth[:, designs],
            schedule=None if self.schedule is None else self.schedule.select(designs),
            plan=None if self.plan is None else self.plan[:, designs],
            spares=None if self.spares is None else self.spares[designs],
        )  # fmt: skip


def no_plans(count: int) -> IntArray:
    """Return the (0, n) plans of designs none of whose workloads leaves one open."""
    return np.empty((0, count), dtype=np.int64)


def cases(*columns: IntArray) -> tuple[IntArray, IntArray]:
    """Return (k,) a row of each kind of row of some (n,) columns, and (n,) which kind each row is.

    There is at least one row; ``column[first][kind]`` is the column again.

    >>> first, kind = cases(np.array([4, 2, 4]), np.array([1, 1, 1]))
    >>> first.tolist(), kind.tolist()
    ([1, 0], [1, 0, 1])
    """
    key = _joined(columns)
    order = np.lexsort(columns) if key is None else np.argsort(key, kind="stable")
    new = np.zeros(len(order), dtype=np.bool_)
    new[0] = True
    for column in columns if key is None else (key,):
        ordered = column[order]
        new[1:] |= ordered[1:] != ordered[:-1]
    kind = np.empty(len(order), dtype=np.int64)
    kind[order] = np.cumsum(new) - 1
    return order[new], kind


def _joined(columns: Sequence[IntArray]) -> IntArray | None:
    """Return (n,) numbers in the order of the rows, the last column first; None where they would be too large.

    One sort of them takes a fifth of the time of a sort by each column.
    """
    key, size = np.zeros(len(columns[0]), dtype=np.int64), 1
    for column in columns:
        low, high = int(column.min()), int(column.max())
        key += (column - low) * size
        size *= high - low + 1
        if size > _MAX_KEY:
            return None
    return key


_MAX_KEY = 1 << 62


@dataclass(frozen=True)
class ColumnIndex:
    """Layout of the columns of a table of whole numbers: their (s,) bytes, ascending, and the place of each."""

    known: NDArray[np.bytes_]
    place: IntArray

    @staticmethod
    def of(table: IntArray) -> ColumnIndex:
        """Return the index of an (r, s) table, whose columns differ."""
        keys = _bytes_of(table)
        order = np.argsort(keys)
        return ColumnIndex(keys[order], order)

    def find(self, asked: IntArray) -> IntArray:
        """Return the (n,) places of (r, n) columns; -1 for one that the table does not have.

        >>> ColumnIndex.of(np.array([[4, 2, 4], [0, 1, 1]])).find(np.array([[4, 2], [1, 0]])).tolist()
        [2, -1]
        """
        keys = _bytes_of(asked)
        near = np.minimum(np.searchsorted(self.known, keys), len(self.known) - 1)
        return np.where(self.known[near] == keys, self.place[near], -1)


def _bytes_of(table: IntArray) -> NDArray[np.bytes_]:
    return np.ascontiguousarray(table.T, dtype=">i8").view(f"S{8 * len(table)}").ravel()


F = TypeVar("F", bound=Callable[..., object])


@cache
def compile_functions(functions: tuple[Callable[..., Any], ...]) -> Callable[..., Any] | None:
    """Return the last of some functions compiled, with those before it that it calls; None without numba.

    They may come from several files and must allocate nothing, as references to arrays are not counted. The file that
    is kept has the digest of all of them in its name, as numba checks the source of the last one only.
    """
    try:
        import numba  # noqa: PLC0415 - the one optional import
    except ImportError:
        return None
    compile_one: Any = numba.njit
    digest = hashlib.sha256()
    for function in functions:
        code = function.__code__
        known = [function.__globals__.get(name) for name in code.co_names]
        numbers = [value for value in known if isinstance(value, int | float | tuple)]
        digest.update(repr((function.__name__, code.co_code, code.co_consts, numbers)).encode())
    found: dict[str, Any] = {}
    for function in functions:
        copy = FunctionType(function.__code__, {**function.__globals__, **found}, function.__name__)
        copy.__qualname__ = f"{function.__name__}_{digest.hexdigest()[:16]}"
        found[function.__name__] = compile_one(copy, cache=function is functions[-1], error_model="numpy", _nrt=False)
    return cast("Callable[..., Any]", found[functions[-1].__name__])


@cache
def compile_function(function: F) -> F | None:
    """Return a function compiled, kept on disk for the next time; None where numba is not installed."""
    try:
        import numba  # noqa: PLC0415 - the one optional import
    except ImportError:
        return None
    found: Any = numba.njit(cache=True)(function)
    return cast("F", found)
