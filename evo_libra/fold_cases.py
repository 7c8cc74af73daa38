"""Cases that come again: a population has many dimensions, of few kinds, sizes and groups."""

from __future__ import annotations

import numpy as np

from evo_libra.arrays import IntArray


def cases(*columns: IntArray) -> tuple[IntArray, IntArray]:
    """Return the different rows of some columns.

    Parameters
    ----------
    columns : (n,) integers each, at least one row.

    Returns
    -------
    first : (k,) a row of each kind.
    kind : (n,) which kind each row is; ``column[first][kind]`` is the column again.

    >>> first, kind = cases(np.array([4, 2, 4]), np.array([1, 1, 1]))
    >>> first.tolist(), kind.tolist()
    ([1, 0], [1, 0, 1])
    """
    order = np.lexsort(columns)
    new = np.zeros(len(order), dtype=np.bool_)
    new[0] = True
    for column in columns:
        ordered = column[order]
        new[1:] |= ordered[1:] != ordered[:-1]
    kind = np.empty(len(order), dtype=np.int64)
    kind[order] = np.cumsum(new) - 1
    return order[new], kind
