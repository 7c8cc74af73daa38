"""Execution of a program for a population of designs at once, which differ in the times of its operations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evo_libra.arrays import FloatArray
from evo_libra.timing.traces.program import TraceProgram
from evo_libra.timing.traces.program_arrays import arrays_of_program
from evo_libra.timing.traces.replay_compiled import arrays_of, compiled_replay
from evo_libra.timing.traces.replay_numpy import replay_numpy


@dataclass(frozen=True)
class Finish:
    """When n designs have done everything: (n,) the last NPU, and (c, n) the NPUs of each class."""

    all: FloatArray
    classes: FloatArray


def replay_population(program: TraceProgram, durations: FloatArray, *, compiled: bool = True) -> Finish:
    """Return when all NPUs of each design have done everything.

    The rules are those of `evo_libra.timing.traces.execute.execute`, with one difference: a collective begins when its
    last member comes to it and then ends for all members together, after the longest of the durations that its classes
    have for it. That is exact where members come together; where they do not, the end is right for the last one and too
    late for those of a ring that came before.

    Parameters
    ----------
    program : of the traces; one that is compiled without a network is good for designs with different networks.
    durations : (o, n) of the operations, in any unit, finite and not negative; those of receives are not used.
    compiled : whether to use the compiled executions where numba is installed; they have the same results.

    Raises
    ------
    InputError : messages with the same ends, tag and size have no order; members of a group come to different
        collectives; or traces wait for each other for ever.
    ValueError : the durations have another shape, or are negative, infinite or no numbers.
    """
    schedule = arrays_of_program(program)
    operations = len(schedule.owner)
    if durations.ndim != 2 or len(durations) != operations:  # noqa: PLR2004 - a table
        raise ValueError(f"durations of the shape {durations.shape}; ({operations}, n) is needed")
    if not ((durations >= 0) & (durations < np.inf)).all():
        raise ValueError("durations must be finite and not negative")
    run = compiled_replay() if compiled and durations.size else None
    if run is None:
        classes = replay_numpy(schedule, durations)
    else:
        each = np.ascontiguousarray(durations.T, dtype=np.float64)
        classes, wrong = run(arrays_of(schedule), schedule.is_collective, each)
        if wrong.any():
            replay_numpy(schedule, durations[:, [int(wrong.argmax())]])  # which tells what is wrong
    return Finish(classes.max(axis=0), classes)
