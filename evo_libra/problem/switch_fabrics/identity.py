"""The identity of fabrics: rows of numbers that are equal where settings are one graph, whose NPUs are numbered alike.

Bits of addresses that relations tie to each other are one component. A fabric is known by the component of each bit of
the NPUs, by the number of other components of each kind, and by its links. Orders of layers, names of bits, and numbers
of NPUs inside a server make no difference. Layers that are joined to the same nodes in the same way are planes of one
layer, unless their cables differ.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations, permutations

import numpy as np

from evo_libra.arrays import BoolArray, FloatArray, IntArray
from evo_libra.network.fabrics.bits import LAYERS, LOWER, PAIRS, SLOTS, TIES, UPPER
from evo_libra.network.fabrics.population import Fabrics
from evo_libra.problem.switch_fabrics.bill import copper_cables

_PAIRS = tuple(zip(LOWER, UPPER, strict=True))
_LAYERS = range(1, LAYERS)
_ORDERS = tuple(permutations(_LAYERS))


def _kinds() -> tuple[int, ...]:
    """Return signatures of components without an NPU: the layers, and the pairs that tie them."""
    found = [1 << layer for layer in _LAYERS]
    pairs = [pair for pair, (lower, _) in enumerate(_PAIRS) if lower]
    for count in range(1, len(pairs) + 1):
        for ties in combinations(pairs, count):
            layers = {layer for pair in ties for layer in _PAIRS[pair]}
            found.append(sum(1 << layer for layer in layers) | sum(1 << TIES + pair for pair in ties))
    return tuple(found)


_KINDS = _kinds()
_PLANES = LAYERS - 1
"""Kinds of one layer only; these come first in `_KINDS`."""


@dataclass(frozen=True)
class _Form:
    """Fabrics without names.

    Attributes
    ----------
    npus : (b, n) signature of the component of each bit of the NPUs.
    counts : (k, n) components of each of `_KINDS`; of the first three 2^count, the planes of a layer, 0 for no layer.
    links : (3, 6, n) rate, parallel links, and whether they are copper; 0 for layers that are not joined.
    """

    npus: IntArray
    counts: IntArray
    links: FloatArray


def identity_rows(fabrics: Fabrics, rows: FloatArray) -> FloatArray:
    """Return (g, n) numbers that are equal for settings that are one graph.

    Parameters
    ----------
    fabrics : n of them.
    rows : (r, n) numbers that are equal for equal settings; they stand for fabrics in which bits of a layer are tied to
        each other, whose graphs are not compared.
    """
    signature, regular = _signatures(fabrics)
    form = _form(fabrics, signature)
    for pair in combinations(_LAYERS, 2):
        form = _merged(form, *pair)
    best = _row(form, _ORDERS[0], fabrics.server)
    for order in _ORDERS[1:]:
        best = _lower(best, _row(form, order, fabrics.server))
    whole = np.zeros((1 + max(len(best), len(rows)), len(fabrics)))
    whole[0] = regular
    whole[1 : 1 + len(best)] = np.where(regular, best, 0.0)
    whole[1 : 1 + len(rows)] += np.where(regular, 0.0, rows)
    return whole


def _signatures(fabrics: Fabrics) -> tuple[IntArray, BoolArray]:
    """Return (layers, slots, n) signatures of components, and (n,) whether no two bits of a layer are tied."""
    bits, slot = fabrics.bits, np.arange(SLOTS)[None, :, None]
    there = slot < bits[:, None]
    layer = np.arange(LAYERS)[:, None, None]
    # The number of a component, as one bit of a mask, and below it its signature.
    names = np.where(there, np.int64(1) << layer * (SLOTS - 1) + np.minimum(slot, SLOTS - 2), 0)
    signature = np.where(there, 1 << layer, 0)
    # The shortest way between two bits of one layer passes each other layer once.
    for _ in range(LAYERS):
        for pair in range(PAIRS):
            _tie(fabrics, pair, names, signature)
    mine = names >> layer * (SLOTS - 1) & (1 << SLOTS - 1) - 1
    return signature, np.asarray(((mine & mine - 1) == 0).all(axis=(0, 1)))


def _tie(fabrics: Fabrics, pair: int, names: IntArray, signature: IntArray) -> None:
    """Join the components that links of a pair of layers tie."""
    lower, upper = _PAIRS[pair]
    bits, joined = fabrics.bits, fabrics.joined[pair] > 0
    inner = bits[upper] - fabrics.upper_blocks[pair]
    first = bits[lower] - fabrics.lower_blocks[pair] - inner
    for bit in range(int((bits[upper] * joined).max(initial=0))):
        place = np.where(bit >= inner, bit + first, bit - fabrics.links[pair])
        which = np.flatnonzero(joined & (bit < bits[upper]) & (place >= 0))
        at = lower, place[which], which
        for values, tie in ((names, 0), (signature, 1 << TIES + pair)):
            both = values[at] | values[upper, bit, which] | tie
            values[at] = both
            values[upper, bit, which] = both


def _form(fabrics: Fabrics, signature: IntArray) -> _Form:
    free = np.where(signature & 1, 0, signature)
    # A component is counted in the lowest of its layers.
    lowest = (free & -free) == (1 << np.arange(LAYERS))[:, None, None]
    counts = np.array([((free == kind) & lowest).sum(axis=(0, 1)) for kind in _KINDS])
    joined = fabrics.joined > 0
    used = np.array([joined[[layer in pair for pair in _PAIRS]].any(axis=0) for layer in _LAYERS])
    counts[:_PLANES] = np.where(used, 1 << counts[:_PLANES], 0)
    links = np.stack([fabrics.rate, fabrics.parallel, copper_cables(fabrics)]) * joined
    return _Form(signature[0, : fabrics.npus], counts, links)


def _merged(form: _Form, one: int, other: int) -> _Form:
    """Return fabrics in which a layer is a plane of another one where both are joined to the same nodes alike."""
    pairs = [(_pair(one, third), _pair(other, third)) for third in range(LAYERS) if third not in (one, other)]
    moved = _renamed(form.npus, {one: other, other: one})
    same = (moved == form.npus).all(axis=0) & (form.links[0, _pair(one, other)] == 0)
    for mine, others in pairs:
        same &= (form.links[:, mine] == form.links[:, others]).all(axis=0)
    apart = [(kind >> one & 1) != (kind >> other & 1) for kind in _KINDS]
    same &= (form.counts[_PLANES:][apart[_PLANES:]] == 0).all(axis=0)
    same &= form.counts[other - 1] > 0
    counts, links = form.counts.copy(), form.links.copy()
    counts[one - 1] += np.where(same, counts[other - 1], 0)
    counts[other - 1] = np.where(same, 0, counts[other - 1])
    for _, others in pairs:
        links[:, others] = np.where(same, 0, links[:, others])
    return replace(_without(form, other, same), counts=_dropped(counts, other, same), links=links)


def _without(form: _Form, layer: int, which: BoolArray) -> _Form:
    """Return fabrics whose bits of NPUs know nothing of a layer."""
    mask = _mask(layer)
    return replace(form, npus=np.where(which, form.npus & ~mask, form.npus))


def _dropped(counts: IntArray, layer: int, which: BoolArray) -> IntArray:
    """Return counts in which components of several layers know nothing of one of them."""
    found, mask = counts.copy(), _mask(layer)
    for place, kind in enumerate(_KINDS[_PLANES:], _PLANES):
        if kind & mask and kind & ~mask in _KINDS:
            moved = np.where(which, counts[place], 0)
            found[place] -= moved
            found[_KINDS.index(kind & ~mask)] += moved
    return found


def _mask(layer: int) -> int:
    return 1 << layer | sum(1 << TIES + pair for pair, ends in enumerate(_PAIRS) if layer in ends)


def _pair(one: int, other: int) -> int:
    return _PAIRS.index((min(one, other), max(one, other)))


def _moves(names: dict[int, int]) -> list[tuple[int, int]]:
    """Return old and new places in signatures under new names of layers."""
    new = [names.get(layer, layer) for layer in range(LAYERS)]
    return [
        *enumerate(new),
        *((TIES + pair, TIES + _pair(*(new[end] for end in ends))) for pair, ends in enumerate(_PAIRS)),
    ]


def _renamed(signature: IntArray, names: dict[int, int]) -> IntArray:
    table = np.zeros(1 << TIES + PAIRS, dtype=np.int64)
    every = np.arange(len(table))
    for old, new in _moves(names):
        table |= (every >> old & 1) << new
    return table[signature]


def _row(form: _Form, order: tuple[int, ...], server: int) -> FloatArray:
    """Return the numbers of fabrics whose layers have another order."""
    names = dict(zip(_LAYERS, order, strict=True))
    npus = _renamed(form.npus, names)
    npus[:server].sort(axis=0)
    kinds = [int(kind) for kind in _renamed(np.array(_KINDS), names)]
    counts, links = np.empty_like(form.counts), np.empty_like(form.links)
    for place, kind in enumerate(kinds):
        counts[_KINDS.index(kind)] = form.counts[place]
    for pair, ends in enumerate(_PAIRS):
        links[:, _pair(*(names.get(end, end) for end in ends))] = form.links[:, pair]
    return np.concatenate([npus, counts, links.reshape(3 * PAIRS, -1)])


def _lower(one: FloatArray, other: FloatArray) -> FloatArray:
    """Return the lexicographically lower one of two columns of numbers, for each of n."""
    differs = one != other
    place = differs.argmax(axis=0)
    every = np.arange(one.shape[1])
    return np.where(other[place, every] < one[place, every], other, one)
