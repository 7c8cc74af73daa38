"""Which NPUs are together in a process group.

NPUs are numbered in a mixed radix, dimension 0 fastest: NPU ``a0 + a1 n0 + a2 n0 n1 + ...`` has the place ``a_d`` in
dimension d.
"""

from __future__ import annotations

import numpy as np

from evo_libra.arrays import IntArray


def members_of(npus: IntArray, extent: IntArray, *groups: int) -> IntArray:
    """Return the NPUs of each instance of a process group, or of several that are joined.

    In a dimension that several groups share, the inner group takes neighbours and the next one NPUs that are a group
    apart, as `evo_libra.workload.parallelism.lay_groups` lays them.

    Parameters
    ----------
    npus : (d,) sizes of the dimensions.
    extent : (g, d) NPUs of each dimension in each group, the innermost group first.
    groups : which of them.

    Returns
    -------
    (i, m) NPUs: the members of an instance ascending, and instances by their first member. Every NPU is there once.

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
