"""The chains of all overlaps of a program in one table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evo_libra.arrays import BoolArray, FloatArray, IntArray, columns_or_shared
from evo_libra.workload.layers.iteration_time import Overlap


@dataclass(frozen=True)
class Chains:
    """Chains of r overlaps, 1 to k in each; entries that fill up the table take no time.

    The last axis of each array is the design's; it has length 1 where all designs share the values.

    Attributes
    ----------
    compute : (r, k, n) seconds, times the count of the overlap.
    size : (r, k, g, n) bytes of each pattern, times the count of the overlap.
    present : (r, k, n) whether the overlap has a chain of this index.
    """

    compute: FloatArray
    size: FloatArray
    present: BoolArray

    def __len__(self) -> int:
        """Return the number of overlaps."""
        return len(self.present)

    @property
    def shape(self) -> tuple[int, int]:
        """The number of overlaps, and of chains that an overlap may have."""
        return self.present.shape[0], self.present.shape[1]

    def select(self, designs: IntArray | BoolArray | slice) -> Chains:
        """Return those of some designs."""
        return Chains(
            columns_or_shared(self.compute, designs),
            columns_or_shared(self.size, designs),
            columns_or_shared(self.present, designs),
        )

    def seconds(self, times: FloatArray) -> FloatArray:
        """Return the (r, k, n) seconds of each chain from (g, n) seconds per byte; minus infinity for none."""
        if not len(self):
            return np.empty((0, self.shape[1], times.shape[1]))
        found = self.compute + total(self.size, times)
        if not self.present.all():
            np.copyto(found, -np.inf, where=~self.present)
        return found

    def longest(self, times: FloatArray) -> FloatArray:
        """Return (r, k, n) shares: 1 for the longest chain of each overlap, 0 for the others."""
        first = self.seconds(times).argmax(axis=1)
        return np.asarray((np.arange(self.shape[1])[:, None] == first[:, None]).astype(np.float64))

    def mixed(self, shares: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the (n,) seconds and (g, n) bytes of all overlaps together, each a mixture by (r, k, n) shares."""
        return _weighted(self.compute, shares), _weighted(self.size, shares)


NO_CHAINS = Chains(np.zeros((0, 1, 1)), np.zeros((0, 1, 1, 1)), np.zeros((0, 1, 1), dtype=np.bool_))
"""Those of a program without overlaps, of any number of patterns."""


def joined_chains(parts: Sequence[Chains]) -> Chains:
    """Return the chains of all parts, which are of the same patterns and designs or of all designs alike."""
    parts = [part for part in parts if len(part)]
    if len(parts) < 2:  # noqa: PLR2004 - nothing to join
        return parts[0] if parts else NO_CHAINS
    width = max(part.shape[1] for part in parts)
    counts = {part.compute.shape[-1] for part in parts}
    count = max(counts) if all(counts) else 0  # of no designs, what all of them share is of none

    def padded(array: FloatArray | BoolArray) -> FloatArray | BoolArray:
        whole = np.zeros((len(array), width, *array.shape[2:-1], count), dtype=array.dtype)
        whole[:, : array.shape[1]] = array
        return whole

    return Chains(*(
        np.concatenate([padded(getattr(part, name)) for part in parts]) for name in ("compute", "size", "present")
    ))  # fmt: skip


def chains_of(designs: Sequence[Sequence[Overlap]], patterns: int) -> Chains:
    """Return the chains of each design's overlaps, with sizes of `patterns` patterns; one design may stand for all.

    A design with fewer overlaps than others has overlaps of a single chain that takes nothing.
    """
    races = max(map(len, designs))
    if not races:
        return NO_CHAINS
    width = max(len(race.compute) for mine in designs for race in mine)
    shape = races, width
    compute, size = np.zeros((*shape, len(designs))), np.zeros((*shape, patterns, len(designs)))
    present = np.zeros((*shape, len(designs)), dtype=np.bool_)
    present[:, 0] = True
    for n, mine in enumerate(designs):
        for r, race in enumerate(mine):
            chains = slice(len(race.compute))
            compute[r, chains, n] = race.count * np.array(race.compute)
            size[r, chains, :, n] = race.count * race.size
            present[r, chains, n] = True
    return Chains(compute, size, present)


def total(size: FloatArray, times: FloatArray) -> FloatArray:
    """Return (..., n) seconds of (..., g, n) bytes; what has no bytes takes no time, even without bandwidth.

    One pattern after the other: a product of matrices, and a sum next to an axis of length 1, would round otherwise, so
    that the time of a design would depend on the designs next to it.
    """
    found = np.zeros((*size.shape[:-2], times.shape[-1]))
    endless = not np.isfinite(times).all()
    for bytes_, time in zip(np.moveaxis(size, -2, 0), times, strict=True):
        with np.errstate(invalid="ignore"):
            seconds = bytes_ * time
        found += np.where(bytes_ > 0, seconds, 0.0) if endless else seconds
    return found


def _weighted(values: FloatArray, shares: FloatArray) -> FloatArray:
    """Return the sum of (r, k, ..., n) values, each times its (r, k, n) share."""
    if values.shape[-1] == 1:
        return np.asarray(np.tensordot(values[..., 0], shares, ([0, 1], [0, 1])))
    return np.asarray(np.einsum("rk...n,rkn->...n", values, shares))
