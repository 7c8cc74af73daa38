"""Why a design has its plan: what other plans would take on the same network."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import permutations
from typing import TYPE_CHECKING

import numpy as np

from evo_libra.arrays import GIGA, FloatArray, IntArray, Population
from evo_libra.explain.time_record import Alternatives, Blocked, OtherPlan
from evo_libra.problem.problem import Problem

if TYPE_CHECKING:
    from evo_libra.workload.plans.plan_table import PlanTable

_FASTER = 1.1
"""Factor of bandwidth in the question whether a faster network would change the plan."""


def plan_alternatives(problem: Problem, population: Population, place: int) -> Alternatives:
    """Return what other plans of a workload that leaves some open would take on the network of the first design.

    All plans are those of the design's accelerator, and all times those of all workloads together. ``changes`` has, for
    each open option, the nearest plan with the next lower and the next higher value, and the nearest ones that halve a
    degree and double another one: their times, and what they need of an NPU's memory. ``blocked`` says what the next
    value of a degree would not divide. ``faster_plans`` counts the plans that fit and are faster on this network, and
    ``next_plan`` is the fastest of the others. ``time_with_faster_network_ms`` is the time with 10 % more bandwidth in
    all dimensions.
    """
    one, table = population.select([0]), problem.time.tables[place]
    mine = int(one.plans[place, 0])
    seconds = float(problem.time(one)[0])
    near = [*_neighbours(table, mine), *_exchanges(table, mine)]
    times = _times(problem, one, place, np.array([plan for _, plan in near], dtype=np.int64))
    changes = tuple(
        _other(table, plan, float(time), seconds, change) for (change, plan), time in zip(near, times, strict=True)
    )
    wider = float(problem.time(replace(one, bandwidth=one.bandwidth * _FASTER))[0])
    faster, following = _rank(problem, one, place, seconds)
    return Alternatives(
        changes=changes,
        blocked=tuple(_blocked(table, mine)),
        time_with_faster_network_ms=wider * 1e3,
        faster_plans=faster,
        next_plan=following,
    )


def _other(table: PlanTable, plan: int, time: float, seconds: float, change: str = "") -> OtherPlan:
    held, fits = bool(np.isfinite(time)), bool(table.memory[plan] <= table.capacity[plan])
    used = {} if fits else table.memory_of(plan)
    return OtherPlan(
        change=change,
        plan=table.text(plan),
        time_ms=time * 1e3 if held else None,
        slower_percent=100.0 * (time / seconds - 1.0) if held else None,
        memory_GB=float(table.memory[plan]) / GIGA,
        fits_memory=fits,
        most_memory="" if fits else max(used, key=lambda kind: used[kind]),
        fits_network=held,
    )


def _neighbours(table: PlanTable, mine: int) -> list[tuple[str, int]]:
    """Return, for each option that differs among plans, the plans nearest to one with its next values."""
    codes, own = _codes(table), table.npu == table.npu[mine]
    found = []
    for row, name in enumerate(table.options):
        for step in (-1, 1):
            there = np.flatnonzero(own & (codes[row] == codes[row, mine] + step))
            if len(there):
                plan = _nearest(codes, mine, there, [row])
                found.append((_changed(table, mine, plan, name), plan))
    return found


def _changed(table: PlanTable, mine: int, plan: int, *first: str) -> str:
    """Return every option that another plan has otherwise, with its value; the ones that were asked for come first."""
    others = (name for name, values in table.options.items() if name not in first and values[plan] != values[mine])
    return ", ".join(f"{name} {table.value_of(name, int(table.options[name][plan]))}" for name in (*first, *others))


def _codes(table: PlanTable) -> IntArray:
    """Return (k, p) the place of the value of each option among its values."""
    return np.array([np.unique(values, return_inverse=True)[1].ravel() for values in table.options.values()])


def _nearest(codes: IntArray, mine: int, there: IntArray, but: list[int]) -> int:
    """Return the one of some plans that is nearest to a plan in all options but some."""
    far = (np.delete(codes[:, there] - codes[:, [mine]], but, axis=0) ** 2).sum(axis=0)
    return int(there[far.argmin()])


_DEGREES = ("tp", "cp", "pp")


def _exchanges(table: PlanTable, mine: int) -> list[tuple[str, int]]:
    """Return the nearest plans that have half of a degree and twice another one."""
    codes, own, names = _codes(table), table.npu == table.npu[mine], list(table.options)
    value = {name: int(table.options[name][mine]) for name in _DEGREES}
    found = []
    for less, more in permutations(_DEGREES, 2):
        halved, doubled = value[less] // 2, 2 * value[more]
        there = np.flatnonzero(own & (table.options[less] == halved) & (table.options[more] == doubled))
        if value[less] == 2 * halved and len(there):
            plan = _nearest(codes, mine, there, [names.index(less), names.index(more)])
            found.append((_changed(table, mine, plan, less, more), plan))
    return found


def _blocked(table: PlanTable, mine: int) -> Iterator[Blocked]:
    """Yield the degrees whose double the workload does not divide, with the reason; files may list fewer values."""
    plan = table.plans.select(np.array([mine]))
    for name in (*_DEGREES, "ep", "micro_batch"):
        if name not in table.options:
            continue
        twice = 2 * getattr(plan, name)
        if len(np.unique(table.options[name])) == 1 or (table.options[name] == twice).any():
            continue
        reason = None
        if name in _DEGREES and plan.dp[0] % 2:
            reason = f"dp is {int(plan.dp[0])}, and its half would have to be whole"
        else:
            dp = plan.dp // 2 if name in _DEGREES else plan.dp
            changed = replace(plan, **{name: twice}, dp=dp)
            key = "global_batch" if name == "micro_batch" else name  # which a microbatch does not divide
            reason = next((message for each, message in table.mistakes_of(mine, changed) if each == key), None)
        if reason is not None:
            yield Blocked(change=f"{name} {int(twice[0])}", reason=reason)


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


def _rank(problem: Problem, one: Population, place: int, seconds: float) -> tuple[int, OtherPlan | None]:
    """Return the number of plans that fit and are faster, and the fastest of the others."""
    table, mine = problem.time.tables[place], int(one.plans[place, 0])
    others = (table.npu == table.npu[mine]) & (np.arange(len(table)) != mine)
    fitting = np.flatnonzero((table.memory <= table.capacity) & others)
    times = _times(problem, one, place, fitting)
    if not len(times) or not np.isfinite(times).any():
        return 0, None
    best = int(fitting[times.argmin()])
    return int((times < seconds).sum()), _other(table, best, float(times.min()), seconds)
