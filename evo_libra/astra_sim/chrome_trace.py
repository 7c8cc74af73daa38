"""Timelines of runs: events for trace viewers (Chrome's trace event format), and bars for a figure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from evo_libra.arrays import FloatArray, IntArray
from evo_libra.astra_sim.operators import ranges
from evo_libra.pictures.plots.timeline import TimelineRow
from evo_libra.timing.traces.execute import Execution
from evo_libra.timing.traces.operations import Action, Resource, TraceOperation

THREADS = ("CPU", "computation", "communication", "receives")
"""Names of what an NPU does at the same time, by the number of the resource."""

_US = 1e3
_SHOWN = 12


def chrome_trace(done: Execution) -> str:
    """Return the JSON of a run for a trace viewer: a process for each class of NPUs, and a thread for each resource.

    Times are in microseconds, as the format asks.
    """
    events = [*_names(done), *_events(done)]
    return json.dumps({"displayTimeUnit": "ns", "traceEvents": events}, allow_nan=False) + "\n"


def _names(done: Execution) -> Iterator[dict[str, Any]]:
    for number, members in enumerate(done.program.classes):
        process = {"ph": "M", "pid": number}
        yield {**process, "name": "process_name", "args": {"name": class_name(members)}}
        for thread, name in enumerate(THREADS):
            yield {**process, "name": "thread_name", "tid": thread, "args": {"name": name}}


def _events(done: Execution) -> Iterator[dict[str, Any]]:
    program = done.program
    for at, operation in enumerate(program.operations):
        start, end = float(done.starts[at]), float(done.ends[at])
        yield {
            "ph": "X", "pid": int(program.owner[at]), "tid": int(operation.resource), "ts": start / _US,
            "dur": (end - start) / _US, "cat": operation.action.name.lower(),
            "name": program.names[at] or f"node {program.nodes[at]}", "args": _details(operation, program.nodes[at]),
        }  # fmt: skip


def _details(operation: TraceOperation, node: int) -> dict[str, Any]:
    found: dict[str, Any] = {"node": node}
    if operation.collective is not None:
        found["collective"] = operation.collective.value
    if operation.size >= 0:
        found["bytes"] = operation.size
    return found


def class_name(members: Sequence[int]) -> str:
    """Return the name of NPUs that do the same.

    >>> class_name([0, 1, 2]), class_name([5])
    ('NPUs 0-2', 'NPU 5')
    """
    text = ranges(members)
    if len(text) > _SHOWN * 4:
        return f"NPU {members[0]} and {len(members) - 1} more"
    return f"NPU{'s' if len(members) > 1 else ''} {text}"


def timeline_rows(done: Execution, most: int) -> list[TimelineRow]:
    """Return the bars of the first classes of NPUs: computation, communication and remote memory."""
    program = done.program
    kinds = np.array([_bar(operation) for operation in program.operations])
    found = []
    for number, members in enumerate(program.classes[:most]):
        own = np.flatnonzero(program.owner == number)
        bars = {name: _spans(done, own[kinds[own] == at]) for at, name in enumerate(BARS)}
        found.append(TimelineRow(class_name(members), bars))
    return found


BARS = ("computation", "communication", "remote memory", "CPU")


def _bar(operation: TraceOperation) -> int:
    """Return the number of an operation's bar, -1 for a receive, which takes no resource."""
    if operation.action is Action.MEMORY:
        return 2
    return {Resource.COMPUTE: 0, Resource.COMMUNICATION: 1, Resource.CPU: 3}.get(operation.resource, -1)


def _spans(done: Execution, places: IntArray) -> FloatArray:
    return np.stack([done.starts[places], done.ends[places]]) / 1e6
