"""Links between NPUs: rings, tori, meshes, hypercubes, and all to all."""

from __future__ import annotations

import numpy as np

from evo_libra.arrays import IntArray
from evo_libra.network.blocks import Kit
from evo_libra.network.blocks.grid import sides
from evo_libra.network.cabling.wiring import Wiring, direct

_PAIR = 2


def ring(npus: int, _kit: Kit, _inside: int, ports: int) -> Wiring:
    """Return a ring, or a pair."""
    if npus == _PAIR:
        return direct(npus, [np.array([[0], [1]])], ports)
    return direct(npus, [_around(npus, 1, npus)], ports // 2)


def fully_connected(npus: int, _kit: Kit, _inside: int, ports: int) -> Wiring:
    """Return links between all NPUs."""
    return direct(npus, [np.array(np.triu_indices(npus, 1))], ports // (npus - 1))


def hypercube(npus: int, _kit: Kit, _inside: int, ports: int) -> Wiring:
    """Return links between NPUs whose numbers differ in one bit."""
    bits = npus.bit_length() - 1
    all_npus = np.arange(npus)
    lower = [all_npus[all_npus >> bit & 1 == 0] for bit in range(bits)]
    return direct(npus, [np.stack([some, some | 1 << bit]) for bit, some in enumerate(lower)], ports // max(bits, 1))


def torus(npus: int, _kit: Kit, _inside: int, ports: int, *, axes: int) -> Wiring:
    """Return rings along all axes; on a side of two, both neighbours are the same NPU."""
    return direct(npus, [_around(npus, stride, length) for stride, length in _axes(npus, axes)], ports // (2 * axes))


def mesh(npus: int, _kit: Kit, _inside: int, ports: int, *, axes: int) -> Wiring:
    """Return lines along all axes."""
    pairs = [_around(npus, stride, length) for stride, length in _axes(npus, axes)]
    return direct(npus, [some[:, some[1] > some[0]] for some in pairs], ports // (2 * axes))


def _axes(npus: int, axes: int) -> list[tuple[int, int]]:
    """Return stride and length of each axis, the fastest one first."""
    lengths = [int(length) for length in sides(np.array([npus]), axes)[:, 0]]
    strides = np.cumprod([1, *lengths]).tolist()
    return list(zip(strides, lengths, strict=False))


def _around(npus: int, stride: int, length: int) -> IntArray:
    """Return each NPU with the next one on its ring along an axis."""
    npu = np.arange(npus)
    place = npu // stride % length
    return np.stack([npu, npu + np.where(place == length - 1, -(length - 1), 1) * stride])
