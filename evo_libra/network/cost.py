"""What a population of networks costs (LIBRA, ISPASS 2024, cost model)."""

from __future__ import annotations

import numpy as np

from evo_libra.arrays import FloatArray, IntArray, Population
from evo_libra.network.blocks.registry import BLOCKS
from evo_libra.network.catalog.technologies import Catalog

PARTS = ("link", "switch", "nic")
"""What LIBRA has a price for, per NPU and unit of bandwidth."""


def part_prices(catalog: Catalog) -> FloatArray:
    """Return the price of each part of each block in each technology.

    LIBRA counts links, switches and NICs of a block and the bandwidth of each; the counts cancel, and an NPU pays for
    its bandwidth once per part that the block has.

    Returns
    -------
    (part, block, technology) USD per NPU and B/s; 0 where a block has no such part.
    """
    prices = np.zeros((len(PARTS), len(BLOCKS), len(catalog.technologies)))
    for t, technology in enumerate(catalog.technologies):
        for b, block in enumerate(BLOCKS):
            for part in block.parts if block.name in technology.blocks else ():
                prices[PARTS.index(part), b, t] = technology.price(part)
    return prices


def cost_by_part(population: Population, prices: FloatArray) -> FloatArray:
    """Return what each part of each dimension costs.

    Parameters
    ----------
    population : the networks.
    prices : from `part_prices`.

    Returns
    -------
    (part, d, n) USD.
    """
    npus = np.prod(population.npus, axis=0)
    return np.asarray(npus * prices[:, population.block, population.technology] * population.bandwidth)


def network_cost(npus: IntArray | int, unit_price: FloatArray, bandwidth: FloatArray) -> FloatArray:
    """Return the cost of each network.

    Parameters
    ----------
    npus : NPUs of the whole network, a number or (n,).
    unit_price : (d, n) USD per NPU and B/s of each dimension: the sum of its parts.
    bandwidth : (d, n) B/s per NPU.

    Returns
    -------
    (n,) USD.
    """
    return np.asarray((unit_price * bandwidth).sum(axis=0) * npus)
