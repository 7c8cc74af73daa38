"""Machines beside network and NPUs that places of the optimizer need: hosts, SSDs and servers, with their prices."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evo_libra.arrays import FloatArray, IntArray, Population, columns
from evo_libra.network.blocks import Kit
from evo_libra.problem.time_models.loops import WeightedLoop
from evo_libra.workload.step.offload import Machine
from evo_libra.workload.step.plan_table import PlanTable
from evo_libra.workload.step.training_step import TrainingStep
from evo_libra.workload.step.training_table import TrainingTable


@dataclass(frozen=True)
class Machines:
    """What each workload needs; workloads run one after the other, so that those of the most expensive one are bought.

    Attributes
    ----------
    each : the machines of each workload that has any, and its place among those that leave plans open, or None; then
        the place of its optimizer is known.
    nics : (t,) USD of what ties an NPU to each technology; 0 where nothing does.
    """

    each: tuple[tuple[tuple[Machine, ...], int | None, IntArray], ...]
    nics: FloatArray

    def cost(self, designs: Population) -> FloatArray:
        """Return (n,) USD, of the pieces with a price."""
        nic, found = self.nics[_outermost(designs)], np.zeros(len(designs))
        for machines, table, place in self.each:
            mine = place if table is None else columns(place, designs.plans[table])
            whole = sum((_cost(one, nic) * np.isin(mine, one.places) for one in machines), np.zeros(1))
            found = np.maximum(found, whole)
        return np.asarray(found)

    def unknown(self) -> Iterator[str]:
        """Yield the parts without a price."""
        for machines, _, place in self.each:
            for one in machines:
                if one.price is None and not one.network and np.isin(place, one.places).any():
                    yield one.part

    def bill(self, designs: Population) -> list[dict[str, Any]]:
        """Return the machines of the first design, with units in the keys."""
        first, best = designs.select([0]), list[dict[str, Any]]()
        nic = float(self.nics[_outermost(first)][0])
        for machines, table, place in self.each:
            mine = int(place[0]) if table is None else int(columns(place, first.plans[table])[0])
            rows = [_row(one, nic) for one in machines if mine in one.places]
            if sum(row["cost_usd"] or 0.0 for row in rows) >= sum(row["cost_usd"] or 0.0 for row in best):
                best = rows
        return best


def _outermost(designs: Population) -> IntArray:
    """Return (n,) the technology of the outermost dimension in use, where servers are."""
    last = len(designs.npus) - 1 - (designs.npus[::-1] > 1).argmax(axis=0)
    return np.asarray(np.take_along_axis(designs.technology, last[None], axis=0)[0])


def _cost(machine: Machine, nic: FloatArray) -> FloatArray:
    price = nic if machine.network else np.full(1, machine.price or 0.0)
    return np.asarray(machine.pieces * price)


def _row(machine: Machine, nic: float) -> dict[str, Any]:
    price = nic if machine.network else machine.price
    cost = None if price is None else machine.pieces * price
    return {"part": machine.part, "pieces": machine.pieces, "unit_usd": price, "cost_usd": cost}


def machines_of(loops: Sequence[WeightedLoop], kits: Sequence[Kit], technologies: int) -> Machines | None:
    """Return the machines of workloads on so many technologies; None where none needs any.

    NICs are those of a catalogue of parts.
    """
    found, tables = list[tuple[tuple[Machine, ...], int | None, IntArray]](), 0
    for loop in loops:
        step, offload = loop.workload, None
        if isinstance(step, TrainingTable):
            offload, place = step.setups[0].offload, np.broadcast_to(step.plans.optimizer, len(step))
        elif isinstance(step, TrainingStep) and step.planned is not None:
            offload, place = step.planned[0].offload, step.planned[1].optimizer
        if offload is not None:
            found.append((offload.machines, tables if isinstance(step, PlanTable) else None, place))
        tables += isinstance(step, PlanTable)
    prices = np.array([0.0 if kit.nic is None else kit.nic.price.value for kit in kits] or [0.0] * technologies)
    return Machines(tuple(found), prices) if found else None
