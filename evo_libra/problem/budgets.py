"""The budgets of a problem that can make a difference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from evo_libra.arrays import TILE
from evo_libra.problem.allocate import TrafficTable, shrunk
from evo_libra.problem.constraints import Constraint
from evo_libra.problem.plans import ways_of
from evo_libra.problem.pricing.pricing import Pricing

_DECADES = 1e4
"""Ratio of useful budgets: without a smallest bandwidth, networks may cost next to nothing."""


def useful_budgets(
    pricing: Pricing, traffic: TrafficTable, npus: int, constraints: Sequence[Constraint]
) -> tuple[float, float]:
    """Return the smallest and the largest useful budget in USD, linear constraints aside."""
    table = traffic.space.table
    if table is None:
        # The dimensions that cost and carry the most, and a single cheap one.
        highest = pricing.max_cost()
        return max(float(pricing.lowest_price * npus * pricing.low.min()), highest / _DECADES), highest
    designs = pricing.topologies(np.arange(len(table)), pricing.cheapest(table.technology))
    # How groups lie decides which bandwidths are of use, and no other option of a plan.
    ways, highest = ways_of(traffic.time, constraints), 0.0
    for start in range(0, ways.shape[1] * len(table), TILE):
        pairs = np.arange(start, min(start + TILE, ways.shape[1] * len(table)))
        way, place = np.divmod(pairs, len(table))
        mine = replace(designs.select(place), plan=ways[:, way])
        mine = mine.select(np.flatnonzero(traffic.fits(mine))) if len(ways) else mine
        full = shrunk(traffic.program(mine), mine.high)
        # A gene for a block that is more expensive than the cheapest one reaches as far.
        highest = max(highest, float((pricing.max_prices(mine) * full).sum(axis=0).max(initial=0.0)))
    return max(float((designs.price * designs.low).sum(axis=0).min()), highest / _DECADES), highest
