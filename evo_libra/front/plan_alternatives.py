"""Why a design has its plan: what other plans would take on the same network."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from evo_libra.arrays import GIGA, FloatArray, IntArray, Population
from evo_libra.problem.problem import Problem
from evo_libra.workload.step.plan_table import PlanTable
from evo_libra.workload.step.plans import RECOMPUTE

_FASTER = 1.1
"""How much more bandwidth a network gets in the question what a faster one would change."""


def plan_alternatives(problem: Problem, population: Population, place: int) -> dict[str, Any]:
    """Return what other plans of a workload that leaves some open would take on the network of the first design.

    ``changes`` has, for each open option, the nearest plan with the next lower and the next higher value: its time, and
    what it needs of an NPU's memory. ``faster_plans`` counts the plans that fit and are faster on this network, and
    ``next_plan`` is the fastest of the others; both are left out where collectives have latencies, as every plan would
    have to be simulated. ``time_with_faster_network_ms`` is the time with 10 % more bandwidth in all dimensions.
    """
    one, table = population.select([0]), problem.time.tables[place]
    mine = int(one.plans[place, 0])
    seconds = float(problem.time(one)[0])
    near = _neighbours(table, mine)
    times = _times(problem, one, place, np.array([plan for _, plan in near], dtype=np.int64))
    changes = [
        {
            "change": change,
            "plan": table.texts[plan],
            **_figures(table, plan, float(time), seconds),
        }
        for (change, plan), time in zip(near, times, strict=True)
    ]
    wider = float(problem.time(replace(one, bandwidth=one.bandwidth * _FASTER))[0])
    return {"changes": changes, "time_with_faster_network_ms": wider * 1e3, **_rank(problem, one, place, seconds)}


def _figures(table: PlanTable, plan: int, time: float, seconds: float) -> dict[str, Any]:
    held = np.isfinite(time)
    return {
        "time_ms": time * 1e3 if held else None,
        "slower_percent": 100.0 * (time / seconds - 1.0) if held else None,
        "memory_GB": float(table.memory[plan]) / GIGA,
        "fits_memory": bool(table.memory[plan] <= table.capacity[plan]),
        "fits_network": bool(held),
    }


def _neighbours(table: PlanTable, mine: int) -> list[tuple[str, int]]:
    """Return, for each option that differs among plans, the plans nearest to one with its next values."""
    codes = np.array([np.unique(values, return_inverse=True)[1].ravel() for values in table.options.values()])
    found = []
    for row, (name, values) in enumerate(table.options.items()):
        for step in (-1, 1):
            there = np.flatnonzero(codes[row] == codes[row, mine] + step)
            if len(there):
                far = (np.delete(codes[:, there] - codes[:, [mine]], row, axis=0) ** 2).sum(axis=0)
                plan = int(there[far.argmin()])
                found.append((f"{name} {_value(table, name, int(values[plan]))}", plan))
    return found


def _value(table: PlanTable, name: str, value: int) -> str:
    if name == "recompute":
        return RECOMPUTE[value]
    if name == "order":
        return "-".join(table.orders[value])
    if name == "precision":
        return table.precisions[value]
    return ("off", "on")[value] if name.startswith(("overlap", "sequence")) else str(value)


def _times(problem: Problem, one: Population, place: int, plans: IntArray) -> FloatArray:
    """Return the seconds of all workloads under other plans of one of them; infinite where its groups do not fit."""
    if not len(plans):
        return np.empty(0)
    many = one.select(np.zeros(len(plans), dtype=np.int64))
    chosen = many.plans.copy()
    chosen[place] = plans
    many = replace(many, plan=chosen)
    held, time = problem.time.fits(many.npus, chosen, many.technology), np.full(len(plans), np.inf)
    some = np.flatnonzero(held)
    time[some] = problem.time(many.select(some)) if len(some) else time[some]
    return time


def _rank(problem: Problem, one: Population, place: int, seconds: float) -> dict[str, Any]:
    if problem.time.fidelity is not None:
        return {}
    table, mine = problem.time.tables[place], int(one.plans[place, 0])
    fitting = np.flatnonzero((table.memory <= table.capacity) & (np.arange(len(table)) != mine))
    times = _times(problem, one, place, fitting)
    if not len(times) or not np.isfinite(times).any():
        return {"faster_plans": 0}
    best = int(fitting[times.argmin()])
    following = {"plan": table.texts[best], **_figures(table, best, float(times.min()), seconds)}
    return {"faster_plans": int((times < seconds).sum()), "next_plan": following}
