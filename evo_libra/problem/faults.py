"""The useful share of time under failures: checkpoints, restarts, repairs and spares.

Failures of a network come at a constant rate, and so do those of NPUs, hosts and software. A failure that stops the job
costs what was computed since the last checkpoint, and a restart. The number of parts in repair at a time then has a
Poisson distribution, whatever the distribution of repair times (Palm 1943). The job runs while nothing that it must
wait for is in repair, and no more units than there are spares. While it can run, its useful share is that of Daly's
complete model (2006), as times between stops have no memory. Both together with the mean bandwidth that is left are the
useful share.
"""

from __future__ import annotations

from typing import Annotated, TypeAlias

import numpy as np
from pydantic import Field

from evo_libra.arrays import FloatArray
from evo_libra.files.fields import PositiveFloat, PositiveInt
from evo_libra.files.source import StrictModel
from evo_libra.network.catalog.failures import HOST, NPU, SOFTWARE, Failures, Hours, PerYear
from evo_libra.network.catalog.technologies import Name

LEAST = 1e-12
"""No useful share is less: objectives stay finite."""

ENOUGH = 0.99
"""Share of the time for which the spares of a file that states none are enough."""

Spares = Annotated[int, Field(ge=0, le=10**9)]
Numbers: TypeAlias = FloatArray | float

_TINY, _TINY_WORK, _LARGE = 1e-24, 1e-12, 700.0


class Faults(StrictModel):
    """Failures, checkpoints and spares; figures of what is left out are those of `evo-libra catalog failures`."""

    checkpoint_s: Annotated[float, Field(ge=0, le=1e9)] = Field(
        description="time that training stops for while a checkpoint is written"
    )
    restart_s: Annotated[float, Field(ge=0, le=1e9)] = Field(
        description="time from a failure to the work after it: to find it, to start again and to read the checkpoint; "
        "repairs that are waited for come on top"
    )
    interval_s: PositiveFloat | None = Field(
        None, description="time of work between two checkpoints; the best one of each design when left out"
    )
    host_npus: PositiveInt = Field(8, description="NPUs of a host, which fail and are replaced together")
    spares: Spares | Annotated[tuple[Spares, ...], Field(min_length=1)] | None = Field(
        None,
        description="spare NPUs, wired as all others; from a list the search chooses one; when left out, servers or "
        "racks that are enough for 99 % of the time",
    )
    per_year: dict[Name, PerYear] = Field(
        default_factory=dict,
        description="other failures of a piece in a year, by kind (npu, host, software, link, transceiver, nic, "
        "switch, ocs) or by the name of a part",
    )
    repair_h: dict[Name, Hours] = Field(
        default_factory=dict, description="other mean times of repair in hours, by kind or by the name of a part"
    )

    @property
    def failures(self) -> Failures:
        """Rates and repairs of all that fails."""
        return Failures(self.per_year, self.repair_h)

    @property
    def spare_choices(self) -> tuple[int, ...]:
        """Numbers of spare NPUs that designs may have; ascending in a problem, whose loader fills those left out."""
        return self.spares if isinstance(self.spares, tuple) else (self.spares or 0,)

    def enough(self, npus: int, unit: int) -> int:
        """Return the spare NPUs, in whole units, that are enough for `ENOUGH` of the time where NPUs and hosts fail."""
        spared = np.sum([units for _, units in self.of_npus(npus).values()], keepdims=True)
        units = 0
        while spare_enough(spared, float(units))[0] < ENOUGH and units * unit < npus:
            units += 1
        return units * unit

    def pieces(self, npus: int) -> dict[str, int]:
        """Return how many NPUs and hosts there are, and NPUs that software runs on, by kind."""
        return {NPU: npus, HOST: -(-npus // self.host_npus), SOFTWARE: npus}

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
        exponent = stops * self.restart_s
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
        written = stops * self.checkpoint_s
        work = best_interval(written) if self.interval_s is None else stops * self.interval_s
        written += work
        return np.asarray(work / np.expm1(np.minimum(written, _LARGE)))

    def intervals(self, stops: FloatArray) -> FloatArray:
        """Return the (n,) seconds of work between checkpoints."""
        stops = np.maximum(stops, _TINY)
        found = best_interval(stops * self.checkpoint_s) / stops
        return found if self.interval_s is None else np.full(stops.shape, self.interval_s)


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
