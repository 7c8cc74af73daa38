"""What each NPU does, from the nodes of its trace."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from operator import attrgetter

from evo_libra.chakra.trace import Kind, Node
from evo_libra.errors import InputError
from evo_libra.timing.traces.operations import Script, read_script, with_ends
from evo_libra.timing.traces.process_groups import ProcessGroups

Traces = Sequence[Sequence[Node]]
"""One for each NPU, or a single one that all NPUs run."""

_MESSAGES = (Kind.COMM_SEND, Kind.COMM_RECV)
_ENDS = ("comm_src", "comm_dst")


def scripts_of(traces: Traces, groups: ProcessGroups) -> list[Script]:
    """Return what each NPU does; errors are those of `read_script`, or that the number of traces is wrong.

    Traces that consist of the same nodes, the same objects, but for the ranks that their messages name, as those of
    the NPUs of a pipeline stage do, are looked through once only.
    """
    if len(traces) not in (1, groups.total):
        total = groups.total
        raise InputError(f"there are {len(traces)} traces for {total} NPUs; one each is needed, or one for all")
    replay = groups.machine is not None and groups.machine.compute.replay
    scripts = list[Script]()
    given = list(traces) if len(traces) > 1 else [traces[0]] * groups.total
    read: dict[int, Script] = {}
    alike: dict[Hashable, Script] = {}
    for npu, trace in enumerate(given):
        if id(trace) not in read or read[id(trace)].channels:  # whose messages name the NPU
            shape = tuple(map(_shape, trace))
            found = with_ends(alike[shape], _messages(trace), npu) if shape in alike else None
            read[id(trace)] = alike[shape] = found or read_script(trace, npu, groups.dimensions, replay=replay)
        scripts.append(read[id(trace)])
    return scripts


def _messages(trace: Sequence[Node]) -> list[Node]:
    return sorted((node for node in trace if node.kind in _MESSAGES), key=attrgetter("id"))


def _shape(node: Node) -> Hashable:
    """Return what tells a node from others, of a message without the ranks at its ends."""
    if node.kind not in _MESSAGES:
        return id(node)
    kept = tuple((name, a.type, None if name in _ENDS else a.value) for name, a in node.attributes.items())
    return node.id, node.name, node.kind, node.control, node.data, kept
