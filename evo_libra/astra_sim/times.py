"""What ASTRA-sim will say of exported files, beside what the search saw, and why the two differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from evo_libra.arrays import Population
from evo_libra.astra_sim.groups import ExportedGroup
from evo_libra.chakra.groups import Groups
from evo_libra.chakra.trace import Node
from evo_libra.collective import Collective
from evo_libra.problem.time_models.time_model import TimeModel, WeightedLoop
from evo_libra.timing.machine import Machine
from evo_libra.timing.traces.compile import compile_program
from evo_libra.timing.traces.durations import durations
from evo_libra.timing.traces.execute import execute_program
from evo_libra.timing.traces.operations import Action
from evo_libra.workload.workload import Phase, Workload

Kind = tuple[str, Collective, int]
"""Collectives that are alike: process group, what they do, and bytes."""


@dataclass(frozen=True)
class Prediction:
    """When ASTRA-sim will say that traces are finished.

    Attributes
    ----------
    last, first : ns at which the last and the first NPU has finished.
    late : collectives whose members begin apart and are taken to end together, so that times may be too long.
    collectives : ns of each kind of collective, until the last member ends.
    """

    last: int
    first: int
    late: int
    collectives: Mapping[Kind, int]


def predict(traces: Sequence[Sequence[Node]], groups: Groups, machine: Machine) -> Prediction:
    """Return when ASTRA-sim will say that traces are finished.

    Parameters
    ----------
    traces : of all NPUs; those that are the same are best the same object.
    groups : communicator groups.
    machine : the cluster.

    Raises
    ------
    InputError : something in the traces cannot run.
    """
    program = compile_program(traces, groups, machine)
    done = execute_program(program, machine)
    first_class = np.flatnonzero(program.owner == 0).tolist()
    times = durations(program, machine)
    collectives: dict[Kind, int] = {}
    for at in first_class:
        operation = program.operations[at]
        if operation.action is Action.COLLECTIVE and operation.collective is not None:
            kind = program.names[at].rpartition(".")[2], operation.collective, operation.size
            collectives[kind] = int(times[at])
    return Prediction(int(done.finish.max()), int(done.finish.min()), len(done.late), collectives)


def kinds_of(workload: Workload, placed: Mapping[str, ExportedGroup]) -> Counter[Kind]:
    """Return how often an iteration runs each kind of collective, groups of one NPU aside."""
    phases = (phase for layer in workload.layers for phase in layer.phases)
    return Counter(kind for phase in phases if (kind := kind_of(phase)) and kind[0] in placed)


def kind_of(phase: Phase) -> Kind | None:
    """Return the kind of a phase's collective."""
    return None if phase.collective is None else (phase.group, phase.collective, round(phase.size))


def modelled_seconds(
    kinds: Counter[Kind], loop: WeightedLoop, time: TimeModel, design: Population
) -> dict[Kind, float]:
    """Return the seconds that a design's problem gives to each kind of collective of one of its workloads."""
    places = time.placed(design.npus)
    return {
        (group, collective, size): float(time.seconds(collective, size, places[loop.layouts[group], group], design)[0])
        for group, collective, size in kinds
    }
