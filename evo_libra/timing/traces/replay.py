"""Execution of a program for a population of designs at once, which differ in the times of its operations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from evo_libra.arrays import BoolArray, FloatArray, IntArray
from evo_libra.compiled import compile_function
from evo_libra.timing.traces.program import ProgramArrays, TraceProgram, arrays_of_program
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

    A program that is compiled without a network is good for designs with different networks. The (o, n) durations are
    in any unit; those of receives are not used. Both ways to run, compiled where numba is installed and not, have the
    same results.

    Raises
    ------
    InputError : messages with the same ends, tag and size have no order; members of a group come to different
        collectives; or traces wait for each other for ever.
    ValueError : the durations have another shape, or are negative, infinite or no numbers.
    """
    schedule = arrays_of_program(program)
    operations = len(program)
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


_Arrays = tuple[IntArray, ...]
Run = Callable[[_Arrays, BoolArray, FloatArray], tuple[FloatArray, BoolArray]]


def compiled_replay() -> Run | None:
    """Return the compiled executions, or None where numba (extra ``fast``) is not installed.

    They take what `arrays_of` makes of a program, which operations are collectives, and (n, o) durations; they return
    (c, n) ends of the classes and which designs cannot go on. The rules are those of `replay_numpy`.
    """
    return compile_function(_run)


def arrays_of(schedule: ProgramArrays) -> _Arrays:
    """Return what the compiled executions need of a schedule."""
    program = schedule.program
    graph = (schedule.waits, schedule.first_successor, schedule.successors)
    slots = (program.slot, program.slots, schedule.on_slot)
    communicators = (schedule.communicator, schedule.roles, schedule.role_slot, program.exchange)
    found = (*graph, *slots, *communicators, schedule.receive, schedule.receives, program.owner, program.server)
    return tuple(np.ascontiguousarray(array) for array in found)


def _run(  # noqa: C901, PLR0912, PLR0915 - numba compiles one plain function, and calls of others cost time
    arrays: _Arrays, is_collective: BoolArray, durations: FloatArray
) -> tuple[FloatArray, BoolArray]:
    waits, first_successor, successors, slot, slots, on_slot = arrays[:6]
    communicator, roles, role_slot, exchange, receive, receives, owner, server = arrays[6:]
    designs, operations = durations.shape
    count, most = on_slot.shape
    classes = slots[-1] + 1
    first_slot = np.searchsorted(slots, np.arange(classes + 1))
    finish = np.zeros((classes, designs))
    wrong = np.zeros(designs, np.bool_)
    left = np.empty(operations, np.int64)
    ready = np.empty((count, most), np.int64)  # operations of a slot that may begin, the least id last
    length = np.empty(count, np.int64)
    running = np.empty(count, np.int64)
    ends = np.empty(count)
    begun = np.empty(count)
    joined = np.empty(len(roles), np.int64)
    free = np.empty(server.max() + 1)
    state = np.empty(len(receives), np.int64)  # of a receive: 1 expects its message, 2 finds it there, 3 ends next
    news = np.empty(len(receives), np.int64)  # receives that may expect their message
    done = np.empty(2, np.int64)
    touched = np.empty(classes, np.bool_)
    next_slot = np.empty(classes, np.int64)  # of a class, the one whose operation ends next
    for n in range(designs):
        left[:], length[:], running[:], ends[:], joined[:], free[:], state[:] = waits, 0, -1, np.inf, 0, 0.0, 0
        now, ended, fresh, there, many = 0.0, -1, 0, 0, 1
        done[0], touched[:] = operations, True
        while many:
            # One operation has ended, or a send and the receive of its message: free what waits for them.
            for d in range(many):
                if done[d] < operations:
                    finish[owner[done[d]], n] = now
                    touched[owner[done[d]]] = True
                ended += 1
                for e in range(first_successor[done[d]], first_successor[done[d] + 1]):
                    o = successors[e]
                    left[o] -= 1
                    if left[o]:
                        continue
                    s = slot[o]
                    if s < 0:
                        news[fresh] = receive[o]
                        fresh += 1
                        continue
                    at = length[s]
                    while at > 0 and ready[s, at - 1] < o:
                        ready[s, at] = ready[s, at - 1]
                        at -= 1
                    ready[s, at] = o
                    length[s] += 1
            # Begin the first operation of every idle slot; the last one that comes to a collective begins it for all.
            for c in range(classes):
                if not touched[c]:
                    continue
                while True:
                    o = operations
                    for other in range(first_slot[c], first_slot[c + 1]):
                        if running[other] < 0 and length[other]:
                            o = min(o, ready[other, length[other] - 1])
                    if o == operations:
                        break
                    s, p = slot[o], communicator[o]
                    length[s] -= 1
                    running[s], begun[s] = o, now
                    if p < 0 and server[o] < 0:
                        ends[s] = now + durations[n, o]
                    elif p < 0:
                        free[server[o]] = max(now, free[server[o]]) + durations[n, o]
                        ends[s] = free[server[o]]
                    else:
                        joined[p] += 1
                    if p < 0 or joined[p] < roles[p]:
                        continue
                    joined[p] = 0
                    longest = 0.0
                    for other in role_slot[p]:
                        if other >= 0:
                            longest = max(longest, durations[n, running[other]])
                            wrong[n] |= exchange[running[other]] != exchange[o]
                    for other in role_slot[p]:
                        if other >= 0:
                            ends[other] = now + longest
                            touched[slots[other]] = True
            for k in range(fresh):
                if state[news[k]] == 2:  # noqa: PLR2004 - see above
                    there += 1
                state[news[k]] += 1
            fresh = 0
            # Find what ends next: receives whose messages are there end after all else that ends now.
            for c in range(classes):
                if not touched[c]:
                    continue
                touched[c] = False
                best = first_slot[c]
                for s in range(best + 1, first_slot[c + 1]):
                    before = ends[s] < ends[best]
                    if ends[s] == ends[best] and ends[s] < np.inf:
                        a, b = running[s], running[best]
                        before = a < b
                        if is_collective[a] != is_collective[b]:
                            before = is_collective[b]
                        elif begun[s] != begun[best]:
                            before = begun[s] < begun[best]
                    if before:
                        best = s
                next_slot[c] = best
            best, many = next_slot[0], 0
            for c in range(1, classes):
                if ends[next_slot[c]] < ends[best]:
                    best = next_slot[c]
            if there and ends[best] > now:
                r = 0
                while state[r] != 3:  # noqa: PLR2004 - see above
                    r += 1
                state[r] = 0
                there -= 1
                done[0], many = receives[r], 1
            elif ends[best] < np.inf:
                now, o = ends[best], running[best]
                ends[best], running[best] = np.inf, -1
                done[0], many = o, 1
                r = receive[o]
                if r >= 0 and state[r] == 1:
                    state[r] = 0
                    done[1], many = receives[r], 2
                elif r >= 0:
                    state[r] = 2
        wrong[n] |= ended < operations
    return finish, wrong
