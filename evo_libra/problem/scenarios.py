"""Scenarios of uncertain prices and weights, the same for every design, and the figures of designs in each of them.

The cost of a design in a scenario is its bill of materials times prices, and its time the times of its workloads times
weights. Both are sums of changes to the stated figures, so that what does not vary keeps every bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from evo_libra.arrays import FloatArray, IntArray
from evo_libra.network.bill import parts_of
from evo_libra.network.blocks import Kit, Range
from evo_libra.problem.figures import Figures
from evo_libra.problem.npu_choice import NpuChoice
from evo_libra.problem.statistics import NAMED
from evo_libra.problem.system_bill import SystemBill


@dataclass(frozen=True)
class Scenarios:
    """Prices and weights of each scenario beyond the stated ones; those of `NAMED` come first.

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


def priced_scenarios(
    kits: Sequence[Kit], npu: NpuChoice, system: SystemBill, weight: FloatArray, drawn: int, seed: int,
    *, vary: bool = True,
) -> Scenarios:  # fmt: skip
    """Return scenarios of the prices of parts, NPUs and what is around them, besides those of weights.

    Parameters
    ----------
    weight : (w, s) beyond the stated ones.
    drawn, seed : scenarios to draw; the prices of parts are those that `evo-libra prices` draws.
    vary : whether prices vary.
    """
    known = parts_of(kits)
    parts = draw([_range(part.price, vary=vary) for part in known.values()], drawn, seed)
    varies = (parts != parts[:, :1]).any(axis=1)
    npus = [_range(one, vary=vary) for one in npu.ranges]
    around = [_range(row.price, vary=vary) for row in system.rows]
    names = tuple(name for name, one in zip(known, varies.tolist(), strict=True) if one)
    return Scenarios(
        names, beyond(parts[varies]), weight, beyond(draw(npus, drawn, (seed, _NPUS))),
        beyond(draw(around, drawn, (seed, _AROUND))) if around else np.zeros((0, 1)),
    )  # fmt: skip


def _range(price: Range | None, *, vary: bool) -> Range:
    """Return the range of a price; one that is not known is certain, as nothing asks for it."""
    stated = 0.0 if price is None else price.value
    return price if vary and price is not None else Range(stated, stated, stated)


_VALUE = NAMED.index("value")
_NPUS, _AROUND = 2, 3
"""Streams of random numbers besides that of the prices of parts; that of weights is 1."""


def beyond(figures: FloatArray) -> FloatArray:
    """Return (r, s) figures beyond the stated ones."""
    return np.asarray(figures - figures[:, _VALUE : _VALUE + 1])


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
