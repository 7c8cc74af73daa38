"""Placement of process groups on the dimensions of a network.

NPUs are numbered in a mixed radix, dimension 0 fastest: NPU ``a0 + a1 n0 + a2 n0 n1 + ...`` has the place ``a_d`` in
dimension d.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import isqrt

import numpy as np

from evo_libra.arrays import BoolArray, IntArray
from evo_libra.errors import InputError

ALL = "all"
"""The process group of all NPUs."""

TENSOR_GROUP, CONTEXT_GROUP = "tp", "cp"
"""The tensor and the context parallel group of a model as a whole."""

BEYOND = " beyond"
"""End of the name of the part of a process group that lies beyond the scale-up domains of its NPUs."""

HOLDS = {
    TENSOR_GROUP: "holds the tensor parallel group; `tp_domain: any` lets the group leave it, then without overlap",
    CONTEXT_GROUP: "holds the context parallel group, which exchanges heads; `ulysses: false` lets the group leave it",
}
"""Ends of sentences that refuse a plan, by the group that must stay inside a scale-up domain."""

Layout = tuple[tuple[str, int], ...]
"""Placement of groups among the NPUs: the degrees of groups or of parts of one, the innermost first."""

HoldsGroups = Callable[[Mapping[str, Layout], tuple[str, ...]], bool]
"""Whether a network holds groups by their layouts, the named ones inside a scale-up domain."""

IDLE = "idle"
"""Name at the end of a layout of the NPUs that are in no group, the last ones of a network of one dimension."""

MEMBER, BETWEEN = "member", "between"
"""Names in the layouts of communicator groups: what belongs to a group, and what lies between its members."""


def holds_groups(layouts: Mapping[str, Layout], inside: tuple[str, ...]) -> bool:  # noqa: ARG001 - see `HoldsGroups`
    """Return that any groups are held, where no network is known."""
    return True


def parts_of(group: str) -> tuple[str, ...]:
    """Return the groups that one is made of: ``ep+dp`` is all NPUs of both."""
    return tuple(group.split("+"))


def lay_groups(npus: IntArray, degrees: IntArray) -> tuple[IntArray, BoolArray]:
    """Return (g, d, n) how many of (d, n) NPUs belong to each group of some degree, and (n,) whether all found theirs.

    Each group, the innermost first, takes from each dimension, inner to outer, the greatest common divisor of what is
    left of the group and of what is left of the dimension, so that a dimension may be split between groups (LIBRA's
    communicators). Degrees are (g,) or (g, n).
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


def lay_layout(npus: IntArray, layout: Layout) -> tuple[IntArray, BoolArray]:
    """Return (g, d, n) how many of (d, n) NPUs belong to each group of a layout, and (n,) whether all found theirs.

    NPUs are left idle at the end of a network of one dimension; no other network has them at its end.
    """
    idle = dict(layout).get(IDLE, 0) if layout else 0
    degrees = np.array([degree for name, degree in layout if name != IDLE], dtype=np.int64)
    if not idle:
        return lay_groups(npus, degrees)
    used = np.where(npus > 1, npus - idle, 1)
    laid, fits = lay_groups(np.maximum(used, 1), degrees)
    return laid, fits & ((npus > 1).sum(axis=0) == 1)


def members_of(npus: IntArray, extent: IntArray, *groups: int) -> IntArray:
    """Return (i, m) the NPUs of each instance of a process group, or of several that are joined.

    The sizes of the dimensions are (d,), the extents of all groups (g, d), the innermost group first. In a dimension
    that several groups share, the inner group takes neighbours and the next one NPUs that are a group apart, as
    `lay_groups` lays them. The members of an instance ascend, and instances are ordered by their first member.

    >>> members_of(np.array([2, 4]), np.array([[2, 2], [1, 2]]), 0)
    array([[0, 1, 2, 3],
           [4, 5, 6, 7]])
    >>> members_of(np.array([2, 4]), np.array([[2, 2], [1, 2]]), 1)
    array([[0, 4],
           [1, 5],
           [2, 6],
           [3, 7]])
    >>> members_of(np.array([2, 4]), np.array([[2, 1], [1, 2], [1, 2]]), 0, 2)
    array([[0, 1, 4, 5],
           [2, 3, 6, 7]])
    """
    every = np.arange(int(npus.prod()))
    first, stride = every.copy(), 1
    for d, size in enumerate(npus.tolist()):
        for group in groups:
            step = int(extent[:group, d].prod())
            place = every // stride % size // step % int(extent[group, d])
            first -= place * step * stride
        stride *= size
    # Sorting is stable, so that members of the same first one stay in the order of their numbers.
    return np.argsort(first, kind="stable").reshape(-1, int(extent[list(groups)].prod()))


def offsets(source: int, target: int, npus: IntArray) -> IntArray:
    """Return (d, n) how far apart two NPUs are in the first dimension in which they differ, and 0 in all others."""
    found = np.zeros(npus.shape, dtype=np.int64)
    first, second = (np.full(npus.shape[1], npu) for npu in (source, target))
    for d, size in enumerate(npus):
        apart = np.where(found[:d].any(axis=0), 0, (second - first) % size)
        found[d] = apart
        first, second = first // size, second // size
    return found


def complete_degrees(given: Mapping[str, int], npus: int) -> dict[str, int]:
    """Return the degree of every group, innermost first; ``dp`` takes the NPUs that are left when it is missing.

    An InputError says that a degree does not divide the NPUs, or the degrees do not multiply to them.
    """
    product, before = 1, ""
    for name, degree in given.items():
        left = npus // product
        if left % degree:
            which = f"{left} NPU{'s' * (left > 1)}" + (f" that {before} leaves" if before else "")
            raise InputError(f"{name} {degree} does not divide the {which}; {nearest_divisors(left, degree)}")
        product *= degree
        before += f"{' x ' if before else ''}{name} {degree}"
    if "dp" not in given:
        return {**given, "dp": npus // product}
    if product != npus:
        raise InputError(f"{before} are {product} NPUs, not {npus}; leave dp out and it takes what is left")
    return dict(given)


def divisors(number: int) -> list[int]:
    """Return the divisors of a number, ascending.

    >>> divisors(12)
    [1, 2, 3, 4, 6, 12]
    """
    small = [d for d in range(1, isqrt(number) + 1) if number % d == 0]
    return small + [number // d for d in reversed(small) if d * d < number]


def nearest_divisors(number: int, found: int) -> str:
    """Return which divisors of a number are next to one that is none, as the end of a sentence.

    >>> nearest_divisors(64, 3), nearest_divisors(8, 100)
    ('2 and 4 do', '8 does')
    """
    every = divisors(number)
    near = [*[d for d in every if d < found][-1:], *[d for d in every if d > found][:1]]
    return f"{' and '.join(map(str, near))} {'do' if len(near) > 1 else 'does'}"
