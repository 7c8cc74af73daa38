"""How long the operations of a program take on a machine."""

from __future__ import annotations

import numpy as np

from evo_libra.arrays import GIGA, FloatArray
from evo_libra.errors import InputError, Mistake
from evo_libra.timing.traces.collective_times import PartyTimes
from evo_libra.timing.traces.machine import Machine
from evo_libra.timing.traces.operations import Action, Operation
from evo_libra.timing.traces.program import Program
from evo_libra.units import roofline_ns


def durations(program: Program, machine: Machine, times: PartyTimes | None = None) -> FloatArray:
    """Return (o,) ns of each operation; of a collective, until the last of members that begin together ends.

    A receive takes no time once its message is there. All is rounded down to a ns, as ASTRA-sim does it.

    Parameters
    ----------
    program : compiled for the machine.
    machine : the cluster.
    times : of the program's parties on the machine; made anew when left out.

    Raises
    ------
    InputError : a computation lacks what the roofline needs, or a collective cannot run. All operations that are wrong
        are told.
    """
    times = PartyTimes(machine, program.parties) if times is None else times
    found, mistakes = np.zeros(len(program)), list[Mistake]()
    for at, operation in enumerate(program.operations):
        try:
            found[at] = _duration(program, at, operation, machine, times)
        except ValueError as error:
            mistakes.append(program.mistake(at, str(error)))
    if mistakes:
        raise InputError(mistakes)
    return found


def _duration(program: Program, at: int, operation: Operation, machine: Machine, times: PartyTimes) -> float:
    if operation.action is Action.COLLECTIVE:
        return float(times.together(int(program.party[at]), program.exchanges[program.exchange[at]]).max())
    if operation.action is Action.SEND:
        sender = program.classes[program.owner[at]][0]
        return machine.transfer(operation.size, machine.route(sender, int(program.peer[at])))
    if operation.action is Action.MEMORY:
        return machine.memory.transfer(operation.size)
    if operation.action is Action.COMPUTE and machine.compute.roofline:
        return _roofline(operation, machine)
    return 0.0 if operation.action is Action.RECEIVE else float(operation.duration)


def _roofline(operation: Operation, machine: Machine) -> float:
    if operation.work < 1 or operation.size < 1:
        raise ValueError(
            f"has num_ops {_told(operation.work)} and tensor_size {_told(operation.size)};"
            " with roofline-enabled both must be above 0"
        )
    memory = machine.system.overheads.memory * GIGA
    if min(memory, machine.compute.peak) <= 0:
        raise ValueError("needs a peak-perf and a local-mem-bw above 0, as roofline-enabled is set")
    return float(roofline_ns(operation.work, operation.size, machine.compute.peak, memory))


def _told(number: int) -> str:
    return "missing" if number < 0 else str(number)
