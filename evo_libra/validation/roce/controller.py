"""What a control law is: parameters that make a controller, which keeps the rates of a network's flows."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from evo_libra.arrays import BoolArray, FloatArray
from evo_libra.validation.roce.fluid import Network, Signals


class Controller(ABC):
    """Rates of the flows of a network; all start at the rate of their NIC over its flows, as RDMA does.

    Attributes
    ----------
    rate : (f,) B/s.
    """

    def __init__(self, network: Network, dt: float) -> None:
        self.network, self.dt = network, dt
        self.trip, self.line = network.round_trip, network.line_rate
        self.capacity = np.append(network.capacity, np.inf)[network.path]
        self.elapsed = np.zeros(len(self.trip))
        self.restart(np.ones(len(self.trip), dtype=np.bool_))

    @abstractmethod
    def restart(self, flows: BoolArray) -> None:
        """Set some flows to how a new connection starts."""

    @abstractmethod
    def update(self, seen: Signals) -> FloatArray:
        """Return (f,) B/s after a step in which flows saw their path."""

    def window(self) -> FloatArray | None:
        """Return (f,) the most bytes that may be under way; None where there is no such limit."""
        return None

    def trips_end(self, period: FloatArray) -> BoolArray:
        """Return for which flows a period ends with this step."""
        self.elapsed += self.dt
        ended = self.elapsed >= period * (1.0 - 1e-9)
        self.elapsed = np.where(ended, 0.0, self.elapsed)
        return ended

    def delay(self, seen: Signals) -> FloatArray:
        """Return (f,) s that packets wait in the queues of their path."""
        return np.asarray((seen.queue / self.capacity)[:, 1:].sum(axis=1))


class Law(ABC):
    """A scheme with its parameters."""

    @abstractmethod
    def controller(self, network: Network, dt: float) -> Controller:
        """Return the controller of a network's flows."""
