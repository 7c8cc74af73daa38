"""Pairs of NPUs in different leaves whose routes a hash chooses (ECMP), where flows may collide on a spine.

Each flow takes one of the spines, drawn for it once, there and back, so that a link may carry several and another none.
"""

from __future__ import annotations

import numpy as np

from evo_libra.arrays import IntArray
from evo_libra.validation.roce.fluid import Network
from evo_libra.validation.roce.study import LEAF, NPU_DELAY, NPUS, RATE, SPINE_DELAY, SPINES

_LEAVES = NPUS // LEAF
_NICS, _UP, _DOWN, _LAST = np.cumsum([0, NPUS, _LEAVES * SPINES, _LEAVES * SPINES])
"""Index of the first NIC, the first link from a leaf to a spine, that back, and the first one to an NPU."""


def spines(seed: int) -> IntArray:
    """Return (n,) the spine that a hash draws for the flows of each NPU."""
    return np.random.default_rng(seed).integers(0, SPINES, NPUS)


def hashed_network(distance: int, spine: IntArray) -> Network:
    """Return the links of the cluster and the flows of all NPUs to those at a distance of some leaves.

    Parameters
    ----------
    distance : of the NPUs of a pair, a power of two from `LEAF` on.
    spine : (n,) the spine of the flow of each NPU.
    """
    npu = np.arange(NPUS)
    peer = npu ^ distance
    up, down = _UP + npu // LEAF * SPINES + spine, _DOWN + spine * _LEAVES + peer // LEAF
    path = np.stack([_NICS + npu, up, down, _LAST + peer], axis=1)
    counts = [NPUS, _LEAVES * SPINES, _LEAVES * SPINES, NPUS]
    leaf, above = np.repeat(np.arange(_LEAVES), SPINES), _LEAVES + np.repeat(np.arange(SPINES), _LEAVES)
    return Network(
        capacity=np.full(sum(counts), RATE),
        delay=np.repeat([NPU_DELAY, SPINE_DELAY, SPINE_DELAY, NPU_DELAY], counts),
        switch=np.concatenate([np.full(NPUS, -1), leaf, above, npu // LEAF]),
        copies=np.ones(sum(counts)), path=path, sharing=np.ones(path.shape),
    )  # fmt: skip


def collisions(distance: int, spine: IntArray) -> int:
    """Return the flows of the busiest link; spread evenly, each link has two."""
    return int(np.bincount(hashed_network(distance, spine).path[:, 1:3].ravel()).max())
