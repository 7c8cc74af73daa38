"""Scenarios of uncertain prices and weights, the same for every design, and the figures of designs in each of them.

What a design costs in a scenario is its bill of materials times prices, and its time the times of its workloads times
weights. Both are sums of changes to the stated figures, so that what does not vary keeps every bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from evo_libra.arrays import FloatArray, IntArray
from evo_libra.network.blocks import Range
from evo_libra.problem.figures import Figures
from evo_libra.problem.statistics import NAMED


@dataclass(frozen=True)
class Scenarios:
    """What prices and weights are in each scenario beyond the stated ones; those of `NAMED` come first.

    Attributes
    ----------
    parts : names of the parts whose prices are uncertain.
    price : (part, s) USD of a piece of each of them.
    weight : (w, s) factor on the time of each workload.
    npu_price : (a, s) USD of each accelerator; 0 where its price is certain or unknown.
    around_price : (row, s) USD of a piece of what is bought around network and NPUs.
    """

    parts: tuple[str, ...]
    price: FloatArray
    weight: FloatArray
    npu_price: FloatArray
    around_price: FloatArray

    def figures(
        self,
        stated: Figures,
        bought: FloatArray,
        times: Sequence[FloatArray],
        npu: IntArray | None,
        tokens: Sequence[FloatArray],
        around: FloatArray | None = None,
    ) -> Figures:
        """Return the figures of n designs in each scenario.

        Parameters
        ----------
        stated : their figures at stated prices and weights.
        bought : (part, n) pieces of each part.
        times : (n,) seconds of each workload.
        npu : (n,) or (1,) accelerator of each design; None where the file names none.
        tokens : (n,) or (1,) of an iteration of each workload; 0 where it has none.
        around : (row, n) pieces of what is bought around network and NPUs.
        """
        vary = np.flatnonzero(self.weight.any(axis=1))
        known = np.array([times[w] for w in vary.tolist()]).reshape(len(vary), len(stated.time))
        time = _changed(stated.time, self.weight[vary], known)
        training, price = stated.training, stated.npu_price
        if training is not None and training.tokens is not None:
            each = np.array(np.broadcast_arrays(np.zeros(1), *(tokens[w] for w in vary.tolist())))[1:]
            training = replace(training, tokens=_changed(np.atleast_1d(training.tokens), self.weight[vary], each))
        if price is not None and npu is not None:
            price = price + self.npu_price[npu].T
        cost = _changed(stated.cost, self.price, bought)
        around_cost = stated.around_cost
        if around_cost is not None and around is not None:
            around_cost = _changed(around_cost, self.around_price, around)
        return replace(stated, time=time, cost=cost, training=training, npu_price=price, around_cost=around_cost)


def _changed(stated: FloatArray, change: FloatArray, each: FloatArray) -> FloatArray:
    """Return (s, n) a sum whose (n,) stated value has (k, n) addends, by (k, s) changes of their factors."""
    # A matrix product of BLAS rounds a design by its place among the others; this sum is the same for each design.
    return np.asarray(stated + np.einsum("ks,kn->sn", change, each))


def draw(ranges: Sequence[Range], drawn: int, seed: int | Sequence[int]) -> FloatArray:
    """Return (r, 3 + drawn) figures: all at their low ends, as stated, at their high ends, then drawn ones.

    A figure has a triangular distribution over its range, with the stated one as its mode; figures are independent of
    each other. The first of more scenarios are those of fewer.
    """
    low, mode, high = (np.array([getattr(one, name) for one in ranges])[:, None] for name in NAMED)
    # Scenario by scenario, so that the first of more are those of fewer.
    chance = np.random.default_rng(seed).random((drawn, len(ranges))).T
    rising = low + np.sqrt(chance * (high - low) * (mode - low))
    falling = high - np.sqrt((1.0 - chance) * (high - low) * (high - mode))
    found = np.where(chance * (high - low) < mode - low, rising, falling)
    return np.concatenate([low, mode, high, np.clip(found, low, high)], axis=1)
