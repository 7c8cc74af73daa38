"""Values of objectives of tokens, of memory and of whole systems, from the figures of designs."""

from __future__ import annotations

import numpy as np

from evo_libra.arrays import FloatArray
from evo_libra.problem.figures import Figures, ServedFigures, TotalCostOfOwnership, TrainingFigures

_MEGA = 1e6


def known(tco: TotalCostOfOwnership | None) -> TotalCostOfOwnership:
    """Return the figures of the total cost of ownership, which are there."""
    assert tco is not None, "the loader has looked"  # noqa: S101 - our mistake
    return tco


def trained(figures: Figures) -> TrainingFigures:
    """Return memory and tokens, which are there."""
    assert figures.training is not None, "the loader has looked"  # noqa: S101 - our mistake
    return figures.training


def tokens(figures: Figures) -> float | FloatArray:
    """Return the tokens of an iteration."""
    tokens = trained(figures).tokens
    assert tokens is not None, "the loader has looked"  # noqa: S101 - our mistake
    return tokens


def memory(figures: Figures) -> FloatArray:
    """Return (n,) bytes of an NPU."""
    return np.broadcast_to(trained(figures).memory, figures.time.shape)


def tokens_per_second(figures: Figures) -> FloatArray:
    """Return (n,) tokens a second."""
    return np.asarray(tokens(figures) / figures.time)


def energy_per_token(figures: Figures) -> FloatArray:
    """Return (n,) J of NPUs under load and network."""
    assert figures.npu_watts is not None, "the loader has looked"  # noqa: S101 - our mistake
    npus = figures.npus.prod(axis=0) * figures.npu_watts
    return np.asarray((figures.watts + npus) * figures.time / tokens(figures))


def usd_per_million_tokens(figures: Figures) -> FloatArray:
    """Return (n,) USD of a million tokens: price over the years of operation, and energy."""
    assert figures.npu_watts is not None, "the loader has looked"  # noqa: S101 - our mistake
    tco = known(figures.tco)
    watts = figures.watts + figures.npus.prod(axis=0) * figures.npu_watts
    rate = (system_cost(figures) + tco.cost(watts)) / tco.seconds
    return np.asarray(_MEGA * rate * figures.time / tokens(figures))


def users(figures: Figures) -> ServedFigures:
    """Return what users see, where some workload is served."""
    assert figures.served is not None, "the loader has looked"  # noqa: S101 - our mistake
    return figures.served


def system_cost(figures: Figures) -> FloatArray:
    """Return (n,) USD of the network, of all NPUs, and of the machines that places of the optimizer need."""
    assert figures.npu_price is not None, "the loader has looked"  # noqa: S101 - our mistake
    machines = 0.0 if figures.machines is None else figures.machines
    return np.asarray(figures.cost + figures.bought_npus * figures.npu_price + machines)
