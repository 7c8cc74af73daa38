"""Random fabrics of layers whose sizes and blocks are powers of two."""

from __future__ import annotations

import random

from evo_libra.errors import InputError
from evo_libra.network.fabrics.digits import Digits, digits_of
from evo_libra.network.fabrics.layered import Between, LayeredFabric, Within, clique
from evo_libra.network.fabrics.paths import path_lengths
from evo_libra.network.fabrics.relations import relations_of


def random_fabric(seed: int, npus: int, forwarding: str) -> LayeredFabric:
    """Return the first connected fabric that a seed draws."""
    draw = random.Random(seed)  # noqa: S311 - no secret
    while True:
        try:
            fabric = _drawn(draw, npus)
            path_lengths(fabric, forwarding)
        except InputError:
            continue
        return fabric


def digits(fabric: LayeredFabric) -> Digits:
    """Return the digits of a fabric that has some."""
    relations = relations_of(fabric)
    assert relations is not None
    found = digits_of(fabric.layers, relations)
    assert found is not None
    return found


def has_tied_digits(fabric: LayeredFabric) -> bool:
    """Tell whether two digits of one layer are in one component."""
    found = relations_of(fabric)
    addresses = None if found is None else digits_of(fabric.layers, found)
    return addresses is not None and any(
        len({digit.component for digit in layer}) < len(layer) for layer in addresses.layers
    )


def _drawn(draw: random.Random, npus: int) -> LayeredFabric:
    layers = (npus, *(2 ** draw.randint(2, 5) for _ in range(draw.randint(1, 3))))
    pairs = [(low, high) for high in range(1, len(layers)) for low in range(high) if draw.random() < 0.75]
    between = tuple(_between(draw, layers, low, high) for low, high in pairs)
    within = ()
    if draw.random() < 0.2:
        layer = draw.randrange(1, len(layers))
        sizes = (2, layers[layer] // 2)
        within = (Within(layer, sizes, (clique(sizes, draw.randrange(2)),), 25e9 * draw.randint(1, 4)),)
    return LayeredFabric(layers, between, within, server=draw.choice((1, 2, 8)))


def _between(draw: random.Random, layers: tuple[int, ...], low: int, high: int) -> Between:
    upper = 2 ** draw.randint(0, min(layers[low], layers[high]).bit_length() - 1)
    lower = upper * 2 ** draw.randint(0, (layers[low] // upper).bit_length() - 1)
    block, other = layers[low] // lower, layers[high] // upper
    links = draw.choice([2**e for e in range(other.bit_length()) if block * 2**e % other == 0])
    rate = 25e9 * draw.randint(1, 4)
    return Between(low, high, lower, upper, links, rate=rate, parallel=draw.choice((1, 1, 1, 2)))
