"""Values of objectives of tokens, of memory and of whole systems, from the figures of designs."""

from __future__ import annotations

import numpy as np

from evo_libra.arrays import FloatArray
from evo_libra.problem.figures import Figures, ServedFigures, TotalCostOfOwnership, TrainingFigures


def known(tco: TotalCostOfOwnership | None) -> TotalCostOfOwnership:
    """Return the figures of the total cost of ownership, which are there."""
    assert tco is not None, "the loader has looked"  # noqa: S101 - internal error
    return tco


def trained(figures: Figures) -> TrainingFigures:
    """Return memory and tokens, which are there."""
    assert figures.training is not None, "the loader has looked"  # noqa: S101 - internal error
    return figures.training


def tokens(figures: Figures) -> float | FloatArray:
    """Return the tokens of an iteration."""
    tokens = trained(figures).tokens
    assert tokens is not None, "the loader has looked"  # noqa: S101 - internal error
    return tokens


def memory(figures: Figures) -> FloatArray:
    """Return (n,) bytes of an NPU."""
    return np.broadcast_to(trained(figures).memory, figures.time.shape)


def tokens_per_second(figures: Figures) -> FloatArray:
    """Return (n,) tokens a second."""
    return np.asarray(tokens(figures) / figures.time)


def system_watts(figures: Figures) -> FloatArray:
    """Return (n,) W of network, NPUs under load, and what is around them; spare NPUs are idle and count nothing."""
    assert figures.npu_watts is not None, "the loader has looked"  # noqa: S101 - internal error
    watts = figures.watts + figures.npus.prod(axis=0) * figures.npu_watts
    return np.asarray(watts if figures.around_watts is None else watts + figures.around_watts)


def energy_per_token(figures: Figures) -> FloatArray:
    """Return (n,) J of the whole system."""
    return np.asarray(system_watts(figures) * figures.time / tokens(figures))


def system_tco(figures: Figures) -> FloatArray:
    """Return (n,) USD of the whole system: its price, and its energy over the years of operation."""
    return np.asarray(system_cost(figures) + known(figures.tco).cost(system_watts(figures)))


def usd_per_token(figures: Figures) -> FloatArray:
    """Return (n,) USD of a token, where the system works all of its years."""
    rate = system_tco(figures) / known(figures.tco).seconds
    return np.asarray(rate * figures.time / tokens(figures))


def users(figures: Figures) -> ServedFigures:
    """Return what users see, where some workload is served."""
    assert figures.served is not None, "the loader has looked"  # noqa: S101 - internal error
    return figures.served


def system_cost(figures: Figures) -> FloatArray:
    """Return (n,) USD of the network, of all NPUs, and of what is around them."""
    assert figures.npu_price is not None, "the loader has looked"  # noqa: S101 - internal error
    cost = figures.cost + figures.bought_npus * figures.npu_price
    return np.asarray(cost if figures.around_cost is None else cost + figures.around_cost)
