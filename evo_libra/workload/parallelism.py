"""How process groups lie on the dimensions of a network."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from evo_libra.arrays import BoolArray, IntArray
from evo_libra.errors import InputError

ALL = "all"
"""The process group of all NPUs."""


def parts_of(group: str) -> tuple[str, ...]:
    """Return the groups that one is made of: ``ep+dp`` is all NPUs of both."""
    return tuple(group.split("+"))


def lay_groups(npus: IntArray, degrees: IntArray) -> tuple[IntArray, BoolArray]:
    """Lay process groups on the dimensions, the first group innermost.

    Each group takes from each dimension, inner to outer, the greatest common divisor of what is left of the group and
    of what is left of the dimension, so that a dimension may be split between groups (LIBRA's communicators).

    Parameters
    ----------
    npus : (d, n) sizes of the dimensions.
    degrees : (g,) or (g, n) NPUs in each group, innermost group first.

    Returns
    -------
    extent : (g, d, n) how many NPUs of each dimension belong to one group.
    fits : (n,) whether every group found all its NPUs.
    """
    left_of_dimension = npus.copy()
    extent = np.empty((len(degrees), *npus.shape), dtype=np.int64)
    fits = np.ones(npus.shape[1], dtype=np.bool_)
    for g, degree in enumerate(degrees):
        left_of_group = np.broadcast_to(degree, fits.shape).astype(np.int64)
        for d in range(len(npus)):
            extent[g, d] = np.gcd(left_of_group, left_of_dimension[d])
            left_of_group //= extent[g, d]
            left_of_dimension[d] //= extent[g, d]
        fits &= left_of_group == 1
    return extent, fits


def offsets(source: int, target: int, npus: IntArray) -> IntArray:
    """Return (d, n) how far apart two NPUs are in the first dimension in which they differ, and 0 in all others.

    Parameters
    ----------
    source, target : the NPUs, numbered with the innermost dimension fastest.
    npus : (d, n) sizes of the dimensions.
    """
    found = np.zeros(npus.shape, dtype=np.int64)
    first, second = (np.full(npus.shape[1], npu) for npu in (source, target))
    for d, size in enumerate(npus):
        apart = np.where(found[:d].any(axis=0), 0, (second - first) % size)
        found[d] = apart
        first, second = first // size, second // size
    return found


def complete_degrees(given: Mapping[str, int], npus: int) -> dict[str, int]:
    """Return the degree of every group, innermost first; data parallelism takes the NPUs that are left.

    Parameters
    ----------
    given : degrees by name of group, such as ``{"tp": 16}``; ``dp`` is appended when it is missing.
    npus : NPUs of the network.

    Raises
    ------
    InputError : a degree does not divide the NPUs, or the degrees do not multiply to them.
    """
    product = 1
    for name, degree in given.items():
        product *= degree
        if npus % degree or npus % product:
            raise InputError(f"{name} {degree} does not divide the {npus // (product // degree)} NPUs left for it")
    if "dp" not in given:
        return {**given, "dp": npus // product}
    if product != npus:
        degrees = " x ".join(f"{name} {degree}" for name, degree in given.items())
        raise InputError(f"{degrees} are {product} NPUs, not {npus}; leave dp out and it takes what is left")
    return dict(given)
