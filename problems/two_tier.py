"""A problem written in Python: a two-tier cluster with a price model of its own.

Groups of ``radix`` accelerators share a fast switch; every accelerator also has a NIC on a slow network. What is chosen
is the size of the group and the two bandwidths; what is minimised is the time of one hierarchical all-reduce and the
price of the network. Search it from the folder above with ``evo-libra search problems.two_tier:problem``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from evo_libra.arrays import GIGA, FloatArray
from evo_libra.collective import Collective, time_per_byte, traffic
from evo_libra.problem.protocol import COST, TIME, Evaluation, Genome, Objective, SearchSettings

NPUS = 1024
MESSAGE = 1e9
RADIX = np.array([2, 4, 8, 16, 32, 64])
SWITCH_USD_PER_GBPS = np.array([4.0, 4.0, 5.0, 7.0, 12.0, 22.0])
NIC_USD_PER_GBPS = 40.0


class TwoTier:
    """The problem; see the head of the file."""

    name = "two-tier"
    objectives: tuple[Objective, ...] = (TIME, COST)
    settings = SearchSettings(evaluations=10_000, population=200)
    genome = Genome(
        ("radix", "log_fast", "log_slow"),
        np.array([0.0, np.log(10 * GIGA), np.log(1 * GIGA)]),
        np.array([len(RADIX) - 1.0, np.log(1000 * GIGA), np.log(100 * GIGA)]),
        np.array([True, False, False]),
    )

    def evaluate_genes(self, genes: FloatArray) -> Evaluation:
        """Return time and price of (3, n) genes; a network of more than 5000 USD an accelerator is not allowed."""
        kind, bandwidth = genes[0].astype(np.int64), np.exp(genes[1:])
        extent = np.stack([RADIX[kind], NPUS // RADIX[kind]])
        # The traffic of one byte times its size is that of the message: traffic is proportional to it.
        time = time_per_byte(traffic(Collective.ALL_REDUCE, MESSAGE, extent), bandwidth)
        cost = NPUS / GIGA * (SWITCH_USD_PER_GBPS[kind] * bandwidth[0] + NIC_USD_PER_GBPS * bandwidth[1])
        return Evaluation(np.array([time, cost]), np.maximum(cost / (5000 * NPUS) - 1, 0))

    def describe(self, genes: FloatArray) -> Mapping[str, list[Any]]:
        """Return what the genes mean."""
        fast, slow = np.exp(genes[1:]) / GIGA
        return {
            "radix": RADIX[genes[0].astype(np.int64)].tolist(),
            "fast_GBps": fast.tolist(),
            "slow_GBps": slow.tolist(),
        }

    def identity(self) -> Mapping[str, Any]:
        """Return what the results depend on."""
        prices = [*SWITCH_USD_PER_GBPS.tolist(), NIC_USD_PER_GBPS]
        return {"problem": self.name, "npus": NPUS, "message": MESSAGE, "prices": prices, "version": 1}


problem = TwoTier()
