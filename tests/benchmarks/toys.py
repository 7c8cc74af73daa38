"""Problems of benchmarks that are worth nothing but cost next to nothing to evaluate."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from evo_libra.problem.protocol import COST, TIME, Evaluation, Genome, Objective, SearchSettings

POWER = Objective("power", "power_kW", 1e3, "network power [kW]")
DIMENSIONS, SHAPES, BLOCKS, TECHNOLOGIES = 4, 80, 3, 4
LOW, HIGH = 1.0, 1000.0


class Toy:
    """A network of four dimensions: shape, four blocks, four technologies and four logarithms of bandwidths.

    Time, cost and, of three objectives, power. `seconds` is what evaluations took so far.
    """

    settings = SearchSettings()

    def __init__(self, objectives: int) -> None:
        self.name = f"toy{objectives}"
        self.objectives = (TIME, COST, POWER)[:objectives]
        self.seconds = 0.0
        whole = [SHAPES, *[BLOCKS] * DIMENSIONS, *[TECHNOLOGIES] * DIMENSIONS]
        names = ("shape", *(f"{kind}{d}" for kind in ("block", "technology", "bandwidth") for d in range(DIMENSIONS)))
        lower = [0.0] * len(whole) + [np.log(LOW)] * DIMENSIONS
        upper = [most - 1.0 for most in whole] + [np.log(HIGH)] * DIMENSIONS
        self.genome = Genome(names, np.array(lower), np.array(upper), np.arange(len(names)) < len(whole))
        sizes = [
            (a, b, c, 16384 // (a * b * c)) for a in (2, 4, 8, 16, 32) for b in (2, 4, 8, 16) for c in (2, 4, 8, 16)
        ]
        shapes = np.array(sizes).T.astype(float)
        extent = np.cumprod(np.vstack([np.ones(SHAPES), shapes[:-1]]), axis=0)
        self._traffic = np.stack([2 * (shapes - 1) / shapes / extent, 8 * (shapes - 1) / shapes * (extent < 64)])
        self._slower = np.array([1.0, 1.15, 1.4])
        self._block_price = np.array([1.6, 1.2, 1.0])
        self._price = np.array([1.0, 3.0, 7.0, 12.0])
        self._joule = np.array([6.0, 2.0, 5.0, 1.0])
        self._reach = np.array([40.0, 150.0, 400.0, HIGH])

    def evaluate_genes(self, genes):
        start = time.process_time()
        whole = genes[: 1 + 2 * DIMENSIONS].astype(np.int64)
        block, technology = whole[1 : 1 + DIMENSIONS], whole[1 + DIMENSIONS :]
        bandwidth = np.minimum(np.exp(genes[1 + 2 * DIMENSIONS :]), np.take(self._reach, technology))
        traffic = np.take(self._traffic, whole[0], axis=2)
        slowness = np.take(self._slower, block) / bandwidth
        values = [0.01 + (traffic * slowness).max(axis=1).sum(axis=0)]
        values.append((np.take(self._price, technology) * np.take(self._block_price, block) * bandwidth).sum(axis=0))
        if len(self.objectives) > 2:
            values.append((np.take(self._joule, technology) * bandwidth).sum(axis=0) + 20.0 * block.sum(axis=0) + 1.0)
        found = Evaluation(np.array(values), np.zeros(genes.shape[1]))
        self.seconds += time.process_time() - start
        return found

    def describe(self, genes) -> Mapping[str, list[Any]]:
        return dict(zip(self.genome.names, genes.tolist(), strict=True))

    def identity(self) -> Mapping[str, Any]:
        return {"problem": self.name, "version": 1}
