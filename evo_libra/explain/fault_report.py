"""Failures of a design: how often each part stops the job, and where the time goes that is not useful."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from typing import Any

import numpy as np

from evo_libra.arrays import FloatArray, Population
from evo_libra.explain.record import FailingPart, Failures, Spares
from evo_libra.network.bill import parts_in
from evo_libra.network.catalog.failures import HOUR
from evo_libra.network.faults import FIGURES
from evo_libra.problem.faults import Faults, spare_enough
from evo_libra.problem.network_faults import NetworkFaults
from evo_libra.problem.problem import Problem

_DAY, _ROUNDING = 24.0 * HOUR, 1e-9


def fault_report(problem: Problem, population: Population) -> Failures | None:
    """Return the failures of the first design of a population; None where the problem has none.

    The shares of time add up to 1. Parts are in the order of how often they stop the job.
    """
    network, one = problem.evaluator.network_faults, population.select([0])
    if network is None:
        return None
    rows = sorted(_rows(problem, network, one), key=lambda row: (-row["stops"], -row["waits"] - row["slows"]))
    stops, spared, waits, slows = (sum(row[key] for row in rows) for key in FIGURES)
    where = network.where(one.npus, one.technology)
    units = where.units(_spares(one))
    running = float(np.exp(-waits) * spare_enough(np.array([spared]), units)[0])
    shares = _shares(network.faults, stops, running, float(np.exp(-slows)))
    needed = Needed(network.faults, np.array([stops, spared, waits + slows]), fixed=int(where.level[0]) < 0)
    interval = float(network.faults.intervals(np.array([stops]))[0])
    lost = {name: share for name, share in shares.items() if name != "useful" and share > _ROUNDING}
    return Failures(
        interruptions_per_day=stops * _DAY,
        # Without interruptions nothing is worth a checkpoint.
        checkpoint_interval_s=interval if stops or network.faults.interval_s is not None else None,
        time_shares=shares,
        dominant_part=rows[0]["part"] if stops else None,
        dominant_loss=max(lost, key=lost.__getitem__) if lost else None,
        parts=tuple(map(_shown, rows)),
        spares=_spare_figures(problem, one, int(where.unit[0]), int(units[0]), needed=needed),
    )


def _spares(one: Population) -> np.ndarray[Any, np.dtype[np.int64]]:
    return np.zeros(1, dtype=np.int64) if one.spares is None else one.spares


def _rows(problem: Problem, network: NetworkFaults, one: Population) -> list[dict[str, Any]]:
    """Return a row of NPUs, of hosts and of software, and one of each part of the network, of those that fail."""
    npus = network.faults.of_npus(problem.npus)
    counts = {name: float(network.faults.pieces(problem.npus)[name]) for name in npus}
    rows = {name: _row(name, counts[name], stops, (stops, spared)) for name, (stops, spared) in npus.items()}
    pieces, figures = network.pricing.items(one)[..., 0], network.by_item(problem.pricing.built(one), one.bandwidth)
    for d, i in np.argwhere(pieces.T > 0).tolist():
        part = parts_in(network.pricing.parts[int(one.technology[d, 0])])[i]
        if part is not None:
            row = rows.setdefault(part.name, _row(part.name, 0.0, 0.0, ()))
            row["pieces"] += float(pieces[i, d])
            row["failures"] += float(pieces[i, d]) * network.faults.failures.of(part).rate
            for key, value in zip(FIGURES, figures[:, i, d, 0].tolist(), strict=True):
                row[key] += value
    return [row for row in rows.values() if row["failures"] > 0]


def _row(name: str, pieces: float, failures: float, sums: tuple[float, ...]) -> dict[str, Any]:
    row = {"part": name, "pieces": pieces, "failures": failures}
    return row | dict.fromkeys(FIGURES, 0.0) | dict(zip(FIGURES, sums, strict=False))


def _shown(row: dict[str, Any]) -> FailingPart:
    return FailingPart(
        part=row["part"],
        pieces=row["pieces"],
        failures_per_day=row["failures"] * _DAY,
        interruptions_per_day=row["stops"] * _DAY,
        units_in_repair=row["spared"],
        share_waited_for=-float(np.expm1(-row["waits"] - row["slows"])),
    )


def _shares(faults: Faults, stops: float, running: float, full: float) -> dict[str, float]:
    """Return the parts of time: of a job that can run for some part, at some part of its speed in the mean."""
    started = float(np.exp(-stops * faults.restart_s))
    useful = running * full * started * float(faults.working(np.array([stops]))[0])
    written = useful * faults.checkpoint_s / float(faults.intervals(np.array([stops]))[0])
    return {
        "useful": useful,
        "checkpoints": written,
        "recomputation": max(running * full * started - useful - written, 0.0),
        "restarts": running * full * (1.0 - started),
        "waiting for repair": 1.0 - running,
        "less bandwidth": running * (1.0 - full),
    }


@dataclass(frozen=True)
class Needed:
    """The spare units that a design needs: (3,) figures of `Faults.useful`; `fixed` where no spare takes a place."""

    faults: Faults
    figures: FloatArray
    fixed: bool

    def useful(self, units: int) -> float:
        """Return the useful share of time with some units."""
        return float(self.faults.useful(self.figures[:, None].copy(), np.array([float(units)]))[0])

    @property
    def most(self) -> float:
        """The useful share that any number of units can reach."""
        return self.useful(0 if self.fixed else _ENOUGH)

    def units(self, share: float) -> int | None:
        """Return the fewest units with which a share of the time is useful; None where no number is enough."""
        if self.most < share:
            return None
        return bisect_left(range(_ENOUGH), share, key=self.useful)


_ENOUGH = 10_000_000
"""Units that are more than any design has in repair."""
SHARES = (0.95, 0.99)
"""Useful shares of time that spares are counted for."""


def _spare_figures(problem: Problem, one: Population, unit: int, units: int, needed: Needed) -> Spares:
    """Return how many spares there are, what one of them replaces, and what their part of the network costs."""
    spares = int(_spares(one)[0])
    cost, watts = problem.pricing.built(one).totals(one.bandwidth, power=True)
    more = spares / problem.npus
    return Spares(
        npus=spares,
        unit_npus=unit,
        units=units,
        cost_usd=float(cost[0]) * more,
        power_W=float(watts[0]) * more,
        needed={f"{100 * share:g}": needed.units(share) for share in SHARES},
        most_useful=needed.most,
    )
