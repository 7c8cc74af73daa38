"""Figures of designs, and the values of objectives that take several of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from pydantic import Field

from evo_libra.arrays import FloatArray, IntArray
from evo_libra.files.fields import NotNegative, PositiveFloat
from evo_libra.files.source import StrictModel

_HOURS_PER_YEAR = 8760.0
_KILO = 1e3


class TotalCostOfOwnership(StrictModel):
    """Figures of the total cost of ownership of a network that runs all the time."""

    years: PositiveFloat = Field(description="years of operation")
    usd_per_kWh: NotNegative = Field(description="price of energy")  # noqa: N815 - the key of files
    pue: Annotated[float, Field(ge=1, le=10)] = Field(
        description="power of the whole site over the power of the network"
    )

    @property
    def seconds(self) -> float:
        """Seconds of operation."""
        return _HOURS_PER_YEAR * 3600.0 * self.years

    def cost(self, watts: FloatArray) -> FloatArray:
        """Return the USD of (n,) W."""
        return np.asarray(watts / _KILO * self.pue * self.usd_per_kWh * _HOURS_PER_YEAR * self.years)


@dataclass(frozen=True)
class Figures:
    """The figures of n designs that objectives are computed from.

    They are (n,) s of an iteration, USD and W, and (d, n) sizes, blocks and B/s per NPU; of an NPU (n,) or (1,) bytes
    that plans may use, W under load and USD, where the file names it and sources give them; (n,) the useful share of
    time under failures, where something asks for it, and (n,) or (1,) spare NPUs, which cost and W have in them; (n,)
    USD and W of what is bought around network and NPUs, None where nothing is, or a figure of it is not known.

    In scenarios, time, cost and USD around it are (s, n), tokens (s, 1), and USD of an NPU (s, n) or (s, 1); see
    `Scenarios`.
    """

    time: FloatArray
    cost: FloatArray
    watts: FloatArray
    npus: IntArray
    block: IntArray
    bandwidth: FloatArray
    tco: TotalCostOfOwnership | None = None
    training: TrainingFigures | None = None
    npu_capacity: FloatArray | None = None
    npu_watts: FloatArray | None = None
    npu_price: FloatArray | None = None
    useful: FloatArray | None = None
    spares: IntArray | None = None
    scenarios: Figures | None = None
    served: ServedFigures | None = None
    around_cost: FloatArray | None = None
    around_watts: FloatArray | None = None

    @property
    def bought_npus(self) -> IntArray:
        """(n,) NPUs with the spare ones."""
        npus = self.npus.prod(axis=0)
        return npus if self.spares is None else np.asarray(npus + self.spares)


@dataclass(frozen=True)
class ServedFigures:
    """The times of users of n designs, and the replicas that failures leave them.

    Attributes
    ----------
    first, token : (n,) s to the first token, and of each further one, of the workload where it is the longest.
    left : (n,) share of the replicas that still answer while a server or a tray is out, of the workload where it is the
        smallest; None of NPUs that are bought alone.
    """

    first: FloatArray
    token: FloatArray
    left: FloatArray | None = None


def served_figures(
    first: Sequence[FloatArray], token: Sequence[FloatArray], left: Sequence[FloatArray] = ()
) -> ServedFigures | None:
    """Return the figures of workloads with (n,) times and shares; None where none is served."""
    if not first:
        return None
    least = np.minimum.reduce(list(left)) if left else None
    return ServedFigures(np.maximum.reduce(list(first)), np.maximum.reduce(list(token)), least)


def left_of(groups: IntArray, size: IntArray, stopped: IntArray) -> FloatArray:
    """Return (n,) the share of groups that still answer while neighbouring NPUs are stopped, by the worst place.

    Parameters
    ----------
    groups : (n,) how many there are, which lie one after the other; (k, n) of k pools: an answer takes all of them, and
        the pool that loses most counts.
    size : the same NPUs of a group, which answers with all of them or not at all.
    stopped : (n,) or (1,) NPUs that stop, aligned to their number; 0 where others take their place.

    >>> left_of(np.array([4, 16, 1]), np.array([8, 2, 16]), np.array([8])).tolist()
    [0.75, 0.75, 1e-12]
    >>> left_of(np.array([[3], [1]]), np.array([[8], [8]]), np.array([8])).tolist()
    [1e-12]
    """
    some, even = np.maximum(stopped, 1), -(-stopped // size)
    # If neither number divides the other, the NPUs that stop reach into a group more.
    uneven = (stopped > 0) & (stopped % size > 0) & (size % some > 0)
    left = np.atleast_2d(1.0 - (even + uneven) / groups).min(axis=0)
    return np.asarray(np.maximum(left, NONE_LEFT))


NONE_LEFT = 1e-12
"""No share is less: objectives stay finite."""


@dataclass(frozen=True)
class TrainingFigures:
    """Figures that objectives of training steps and serving need besides time: see `Figures`.

    Attributes
    ----------
    memory : (n,) or (1,) bytes of an NPU.
    tokens : (n,), or one number for all, of an iteration: those of each workload times its weight; None where some
        workload has none.
    """

    memory: FloatArray
    tokens: float | FloatArray | None


def known(tco: TotalCostOfOwnership | None) -> TotalCostOfOwnership:
    """Return the figures of the total cost of ownership, which are there."""
    assert tco is not None, "the loader has looked"  # noqa: S101 - internal error
    return tco


def trained(figures: Figures) -> TrainingFigures:
    """Return memory and tokens, which are there."""
    assert figures.training is not None, "the loader has looked"  # noqa: S101 - internal error
    return figures.training


def has_tokens(figures: Figures) -> bool:
    """Return whether the workloads have a number of tokens; a problem that also trains a recommender has none."""
    return figures.training is not None and figures.training.tokens is not None


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


def tokens_one_out(figures: Figures) -> FloatArray:
    """Return (n,) tokens a second while a server or a tray is out."""
    left = users(figures).left
    assert left is not None, "the loader has looked"  # noqa: S101 - internal error
    return np.asarray(tokens_per_second(figures) * left)


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
