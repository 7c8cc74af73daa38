"""Why the engine of traces takes another time than the model for workloads of traces, a sentence for each reason."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import isclose
from typing import TypedDict

import numpy as np

from evo_libra.arrays import NANO, FloatArray, IntArray, Population
from evo_libra.astra_sim.cluster import check_blocks, cluster_of
from evo_libra.astra_sim.loops import ROUNDED
from evo_libra.errors import InputError, counted
from evo_libra.problem.problem import Problem
from evo_libra.problem.time_models.loops import WeightedLoop
from evo_libra.timing.machine import Machine
from evo_libra.timing.quirks import GROUPS_AS_RINGS
from evo_libra.timing.trace_time import TracedWorkload, computing_seconds, grid_of, group_name
from evo_libra.timing.traces.execute import Execution, execute
from evo_libra.timing.traces.operations import Action
from evo_libra.timing.traces.program import TraceProgram

LATE, NO_ENGINE = "late", "no-engine-time"
"""Names of differences, besides that of the quirk `GROUPS_AS_RINGS`."""


class TimesKeys(TypedDict):
    """The keys of two times of a workload in JSON."""

    workload: str
    engine_ms: float | None
    model_ms: float


class DifferenceKeys(TimesKeys):
    """The keys of a difference in JSON."""

    difference: str
    sentence: str


@dataclass(frozen=True)
class TraceDifference:
    """A reason why traces take another time by the engine than by the model, and what takes both times, in s.

    Engine is None where the design or a collective has no time by the engine; the reason then says why.
    """

    name: str
    workload: str
    reason: str
    what: str
    engine: float | None
    model: float

    @property
    def sentences(self) -> str:
        """The reason and the times in words."""
        engine = "" if self.engine is None else f"{self.engine * 1e3:.6g} ms by the engine of traces and "
        return f"{self.reason} {self.what} {engine}{self.model * 1e3:.6g} ms by the model."

    def __str__(self) -> str:
        return f"difference in {self.workload}: {self.sentences} [{self.name}]"

    def json(self) -> DifferenceKeys:
        """Return it for programs, with units in the keys."""
        return {
            "difference": self.name,
            "workload": self.workload,
            "sentence": self.sentences,
            "engine_ms": None if self.engine is None else self.engine * 1e3,
            "model_ms": self.model * 1e3,
        }


@dataclass(frozen=True)
class TraceTimes:
    """An iteration of a workload of traces on one design: s by the engine and by the model, and why they differ.

    Engine is None where the design or a collective has no time by the engine.
    """

    workload: str
    engine: float | None
    model: float
    differences: tuple[TraceDifference, ...]

    def __str__(self) -> str:
        if self.engine is None:
            return f"traces {self.workload}: {self.model * 1e3:.6g} ms by the model"
        apart = 100 * (self.model / self.engine - 1) if self.engine else 0.0
        engine = f"traces {self.workload}: {self.engine * 1e3:.6g} ms by the engine of traces"
        return f"{engine}, and {self.model * 1e3:.6g} ms by the model ({apart:+.1f} %)"

    def json(self) -> TimesKeys:
        """Return the times for programs, with units in the keys."""
        engine = None if self.engine is None else self.engine * 1e3
        return {"workload": self.workload, "engine_ms": engine, "model_ms": self.model * 1e3}


def trace_times(problem: Problem, design: Population) -> list[TraceTimes]:
    """Return the times of each workload of traces of one design.

    The engine runs the design as ASTRA-sim does; the model is the time of `problem`. There are none under LIBRA's time,
    which predicts no time of ASTRA-sim. An `InputError` says that a file of traces cannot be read again.
    """
    if not problem.time.predicts_astra_sim:
        return []
    times = zip(problem.time.loops, problem.time.workload_times(design), strict=True)
    return [
        _of_workload(problem, loop, loop.workload, design, float(time[0]))
        for loop, time in times
        if isinstance(loop.workload, TracedWorkload)
    ]


def _of_workload(
    problem: Problem, loop: WeightedLoop, workload: TracedWorkload, design: Population, model: float
) -> TraceTimes:
    assert workload.files is not None  # noqa: S101 - the workloads of problem files have them
    traces, groups = workload.files.read(workload.npus)
    try:
        machine = _machine(problem, design)
        done = execute(traces, groups, machine, timed=lambda program, ns: _taking(program, ns, workload))
    except InputError as error:
        reason = f"The engine of traces has no time for this design: {error}."
        none = TraceDifference(NO_ENGINE, workload.name, reason, what="An iteration takes", engine=None, model=model)
        return TraceTimes(workload.name, None, model, (none,))
    found = _differences(problem, loop, workload, design, model=model, done=done)
    return TraceTimes(workload.name, float(done.finish.max()) * NANO, model, tuple(found))


def _differences(
    problem: Problem, loop: WeightedLoop, workload: TracedWorkload, design: Population, *, model: float, done: Execution
) -> Iterator[TraceDifference]:
    program, taking, machine = done.program, done.taking, done.times.machine
    whole, engine = "With all differences, an iteration takes", float(done.finish.max()) * NANO
    if done.apart:
        yield TraceDifference(LATE, workload.name, _late(done), what=whole, engine=engine, model=model)
    modelled = _modelled(problem, loop, program, design)
    rings = list(_rings(program, taking, modelled, workload, len(machine.npus)))
    yield from rings
    # Of traces that run one group and nothing else, its times are those of the iteration.
    if not done.apart and any(one.engine is None or not isclose(one.engine, engine) for one in rings):
        reason = "No members begin apart."
        yield TraceDifference(GROUPS_AS_RINGS.name, workload.name, reason, what=whole, engine=engine, model=model)


def _machine(problem: Problem, design: Population) -> Machine:
    """Return a design as ASTRA-sim's files say it; its computations are those of the workload."""
    fidelity = problem.time.fidelity_of(problem.name)
    check_blocks(design, fidelity)
    cluster = cluster_of(fidelity, problem.time.reaching(design))
    return Machine(cluster.network.links, cluster.system.scheduled)


def _taking(program: TraceProgram, ns: FloatArray, workload: TracedWorkload) -> FloatArray:
    """Return (o,) ns of operations, with the computations of the workload, in whole ns as in the model."""
    computing = computing_seconds(program, workload.accelerator)
    own = np.array([operation.action in (Action.COMPUTE, Action.REPLAY) for operation in program.operations], np.bool_)
    return np.where(own, np.rint(computing / NANO), ns)


def _late(done: Execution) -> str:
    late = len(done.late)
    exact = len(done.apart) - late
    found = [
        f"The members of {counted(len(done.apart), 'collective')} begin apart.",
        "The model ends each of them for all members together, with the last one.",
    ]
    if exact:
        found.append(f"ASTRA-sim lets the members of {counted(exact, 'collective')} go as soon as they can.")
    if late:
        found.append(f"ASTRA-sim may let some members of {late:,} go earlier; the engine does not.")
    return " ".join(found)


def _listed(program: TraceProgram) -> IntArray:
    """Return the collectives, by their place in the program, of groups smaller than the world."""
    scopes = [communicator.scope for communicator in program.communicators]
    return np.array([
        at for at in np.flatnonzero(program.communicator >= 0).tolist()
        if scopes[program.communicator[at]].dimensions is None
    ], dtype=np.int64)  # fmt: skip


def _group_of(program: TraceProgram, at: int) -> str:
    return group_name(grid_of(program.communicators[program.communicator[at]].members, len(program.npus)))


def _modelled(problem: Problem, loop: WeightedLoop, program: TraceProgram, design: Population) -> dict[int, float]:
    """Return the ns by the model of each collective of a group smaller than the world; alike ones are timed once."""
    placed, known = problem.time.placed(design.npus, design.plans), dict[tuple[str, int], float]()
    found = dict[int, float]()
    for at in _listed(program).tolist():
        group, exchange = _group_of(program, at), program.exchanges[program.exchange[at]]
        key = group, int(program.exchange[at])
        if key not in known:
            place = placed[loop.layouts[group], group]
            known[key] = float(problem.time.seconds(exchange.collective, exchange.size, place, design)[0]) / NANO
        found[at] = known[key]
    return found


def _rings(
    program: TraceProgram, taking: FloatArray, modelled: dict[int, float], workload: TracedWorkload, dimensions: int
) -> Iterator[TraceDifference]:
    """Yield the kinds of groups that ASTRA-sim runs otherwise, with the times of the NPU that spends most on them."""
    of_group = dict[str, list[int]]()
    for at in modelled:
        of_group.setdefault(_group_of(program, at), []).append(at)
    for places in of_group.values():
        if all(abs(taking[at] - modelled[at]) <= ROUNDED for at in places):
            continue
        busy = np.bincount(program.owner[places], weights=taking[places])
        mine = [at for at in places if program.owner[at] == busy.argmax()]
        communicator = program.communicators[program.communicator[mine[0]]]
        how = "as one ring over its members" if dimensions > 1 else "on the links of the whole dimension"
        reason = (
            f"ASTRA-sim runs a group such as '{communicator.scope.group}', of {len(communicator.members)} NPUs, {how}, "
            "and the model runs it dimension by dimension."
        )
        what = f"All collectives of an NPU in such groups ({len(mine):,}) take"
        engine, model = float(taking[mine].sum()) * NANO, sum(modelled[at] for at in mine) * NANO
        yield TraceDifference(GROUPS_AS_RINGS.name, workload.name, reason, what=what, engine=engine, model=model)
