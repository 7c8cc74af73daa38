"""Designs that are asked for again: found by a hash of all their genes."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from evo_libra.arrays import BoolArray, FloatArray

HashArray = NDArray[np.uint64]

_HALF_WORD = np.uint64(32)


def row_hash(genes: FloatArray) -> HashArray:
    """Return (n,) 64-bit hashes of (g, n) genes; 0 and -0 are the same gene."""
    bits = (genes + 0.0).view(np.uint64)
    # The low bits of whole numbers are zeros: the high ones are copied there, or a product would lose what they say.
    bits ^= bits >> _HALF_WORD
    bits *= _factors(len(genes))
    return np.asarray(bits.sum(axis=0, dtype=np.uint64))


@lru_cache
def _factors(count: int) -> HashArray:
    random = np.random.Generator(np.random.PCG64(0))
    return random.integers(0, 2**64, (count, 1), dtype=np.uint64) | np.uint64(1)


def first_of_kind(hashes: HashArray, known: HashArray) -> BoolArray:
    """Return (n,) whether a hash is not among (k,) known ones and none before it is the same.

    Of thousands of hashes the 50 highest bits count: a design is mistaken for another once in 2^50 pairs.
    """
    every = np.concatenate([known, hashes])
    # The place goes into the low bits: one sort of whole numbers brings equals together, the first one first.
    places = np.uint64((1 << len(every).bit_length()) - 1)
    every &= ~places
    every |= np.arange(len(every), dtype=np.uint64)
    every.sort()
    again = every[1:][(every[1:] ^ every[:-1]) <= places] & places
    found = np.ones(len(every), dtype=np.bool_)
    found[again.astype(np.int64)] = False
    return found[len(known) :]


def is_new(genes: FloatArray, known: FloatArray) -> BoolArray:
    """Return (n,) whether a column of (g, n) genes is the first of its kind and not among the (g, k) known ones."""
    return first_of_kind(row_hash(genes), row_hash(known))
