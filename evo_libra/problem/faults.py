"""The useful share of time under failures: checkpoints, restarts, repairs and spares.

Failures of a network come at a constant rate, and so do those of NPUs, hosts and software. A failure that stops the job
costs what was computed since the last checkpoint, and a restart. What is in repair at a time then has a Poisson
distribution, whatever the distribution of repair times (Palm 1943). The job runs while nothing that it must wait for is
in repair, and no more units than there are spares. While it can run, its useful share is that of Daly's complete model
(2006), as times between stops have no memory. Both together with the mean bandwidth that is left are the useful share.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from evo_libra.arrays import FloatArray
from evo_libra.network.catalog.failures import HOST, NPU, SOFTWARE, Failures

LEAST = 1e-12
"""No useful share is less: objectives stay finite."""

Numbers: TypeAlias = FloatArray | float

_TINY, _TINY_WORK, _LARGE = 1e-24, 1e-12, 700.0


@dataclass(frozen=True)
class Faults:
    """What a problem says of failures.

    Attributes
    ----------
    failures : rates and repairs of all that fails.
    checkpoint : seconds that the job stops for while a checkpoint is written.
    interval : seconds of work between two checkpoints; None for the best ones of each design.
    restart : seconds from a failure to the work after it, where no repair is waited for.
    host : NPUs of a host.
    spares : numbers of spare NPUs that designs may have, ascending.
    """

    failures: Failures
    checkpoint: float
    interval: float | None
    restart: float
    host: int
    spares: tuple[int, ...]

    def pieces(self, npus: int) -> dict[str, int]:
        """Return how many NPUs and hosts there are, and NPUs that software runs on, by kind."""
        return {NPU: npus, HOST: -(-npus // self.host), SOFTWARE: npus}

    def of_npus(self, npus: int) -> dict[str, FloatArray]:
        """Return what NPUs, hosts and software do: (2,) stops per second and units in repair, by kind."""
        each = {kind: (count, self.failures.named(kind)) for kind, count in self.pieces(npus).items()}
        return {kind: count * np.array([one.rate, one.rate * one.repair]) for kind, (count, one) in each.items()}

    def useful(self, figures: FloatArray, units: Numbers) -> FloatArray:
        """Return the (n,) useful shares of designs.

        Parameters
        ----------
        figures : (3, n) stops per second; units in repair that spares can stand in for; what else is in repair, and
            bandwidth that is gone, which the job waits for.
        units : (n,) spare units.
        """
        stops, spared, waits = figures
        exponent = stops * self.restart
        exponent += waits
        if np.any(units):
            exponent -= np.log(np.maximum(spare_enough(spared, units), LEAST))
        else:
            exponent += spared
        np.negative(exponent, out=exponent)
        share = np.exp(exponent)
        share *= self.working(stops)
        return np.asarray(np.maximum(share, LEAST))

    def working(self, stops: FloatArray) -> FloatArray:
        """Return (n,) what of the time after restarts is work that a checkpoint keeps, from stops per second."""
        stops = np.maximum(stops, _TINY)
        written = stops * self.checkpoint
        work = best_interval(written) if self.interval is None else stops * self.interval
        written += work
        return np.asarray(work / np.expm1(np.minimum(written, _LARGE)))

    def intervals(self, stops: FloatArray) -> FloatArray:
        """Return the (n,) seconds of work between checkpoints."""
        stops = np.maximum(stops, _TINY)
        found = best_interval(stops * self.checkpoint) / stops
        return found if self.interval is None else np.full(stops.shape, self.interval)


def best_interval(written: FloatArray) -> FloatArray:
    """Return the work between checkpoints that leaves most useful, in mean times between stops.

    It solves ``exp(work + written) (1 - work) = 1`` (Daly 2006), by two steps of Newton's method from his estimate.

    Parameters
    ----------
    written : (n,) time of writing a checkpoint, in the same unit.
    """
    half = np.minimum(written, 2.0) / 2.0
    root = np.sqrt(half)
    work = root / 3.0
    work += half / 9.0
    work += 1.0
    work *= root
    work -= half
    work *= 2.0
    np.clip(work, _TINY_WORK, 1.0, out=work)
    for _ in range(2):
        left = np.expm1(-(work + written))
        work += (left + work) / left
        np.clip(work, _TINY_WORK, 1.0, out=work)
    return np.asarray(work)


def spare_enough(spared: FloatArray, units: Numbers) -> FloatArray:
    """Return the (n,) part of time in which there are no more units in repair than spare ones."""
    from scipy.special import pdtr  # noqa: PLC0415 - takes a fifth of a second, and few problems need it

    return np.asarray(pdtr(units, spared))
