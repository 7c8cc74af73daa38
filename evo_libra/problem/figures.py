"""The figures of designs that objectives are computed from."""

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
    pue: Annotated[float, Field(ge=1, le=10)] = Field(description="power of the whole site over that of the network")

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
    """(n,) s to the first token, and of each further one, of the workload where it is the longest."""

    first: FloatArray
    token: FloatArray


def served_figures(first: Sequence[FloatArray], token: Sequence[FloatArray]) -> ServedFigures | None:
    """Return the figures of workloads with (n,) times; None where none is served."""
    if not first:
        return None
    return ServedFigures(np.maximum.reduce(list(first)), np.maximum.reduce(list(token)))


@dataclass(frozen=True)
class TrainingFigures:
    """What objectives of training steps and serving need beside time: see `Figures`.

    Attributes
    ----------
    memory : (n,) or (1,) bytes of an NPU.
    tokens : (n,), or one number for all, of an iteration: those of each workload times its weight; None where some
        workload has none.
    """

    memory: FloatArray
    tokens: float | FloatArray | None
