"""Links from each NPU to one, and the sentence about two NPUs without a path."""

from __future__ import annotations

from math import inf

import numpy as np

from evo_libra.arrays import FloatArray
from evo_libra.network.fabrics.rooted import Rooted
from evo_libra.network.fabrics.routing import FORWARDING, Routes, routes
from evo_libra.network.fabrics.seen import Seen


def lengths_of(root: Rooted, found: Routes) -> FloatArray:
    """Return the links from each class of NPUs to the root."""
    lengths = found.distance[: root.npus].astype(np.float64)
    lengths[lengths < 0] = inf
    lengths[root.root] = 0.0
    return lengths


def unreached(view: Seen, root: Rooted, lengths: FloatArray, forwarding: str) -> str:
    """Return the sentence about two NPUs without a path, and the forwarding that joins them.

    Parameters
    ----------
    view, root : the fabric, and the NPU that is not reached.
    lengths : links from each class of NPUs, infinite from at least one.
    forwarding : as in `routes`.
    """
    places = np.array([place for place, _ in view.places])
    source, target = (int(root.values[one] @ places) for one in (int(lengths.argmax()), root.root))
    found = f"NPU {source} has no path to NPU {target} with forwarding '{forwarding}'"
    for other in FORWARDING[FORWARDING.index(forwarding) + 1 :]:
        joined = lengths_of(root, routes(root, view.orbits, other))
        if not np.isinf(joined[np.isinf(lengths)]).any():
            return f"{found}; forwarding '{other}' joins them"
    return f"{found}, and no wider forwarding joins them; switches that join both are needed"
