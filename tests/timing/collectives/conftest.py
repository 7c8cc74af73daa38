"""The time of a collective that no order of the dimensions undercuts."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from evo_libra.arrays import FloatArray
from evo_libra.collective import Collective
from evo_libra.timing.collectives.themis_paper import Fabrics, sent

Ideal = Callable[[Collective, float, Fabrics], FloatArray]


@pytest.fixture(scope="session")
def ideal_time() -> Ideal:
    """Return the (n,) ns that a collective takes at least, whatever the chunks and the latency.

    All dimensions together send the same bytes per NPU in any order: size (1 - 1/N) in a reduce-scatter, of the
    gathered message in an all-gather, twice that in an all-reduce. A dimension sends least of them when it comes last:
    size (n_d - 1) / N. In an all-to-all every dimension has the whole message.
    """

    def ideal(collective: Collective, size: float, fabrics: Fabrics) -> FloatArray:
        used, total = fabrics.npus > 1, fabrics.npus.prod(axis=0)
        factor = {Collective.ALL_REDUCE: 2.0, Collective.ALL_GATHER: total}.get(collective, 1.0)
        last = factor * (fabrics.npus - 1.0) / total
        alone = size * (1.0 - 1.0 / fabrics.npus if collective is Collective.ALL_TO_ALL else last)
        whole = np.where(used, fabrics.bandwidth, 0.0).sum(axis=0)
        together = sent(collective, size, fabrics) / np.where(used.any(axis=0), whole, 1.0)
        return np.asarray(np.maximum(together, (alone / np.where(used, fabrics.bandwidth, 1.0)).max(axis=0)))

    return ideal
