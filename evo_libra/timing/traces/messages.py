"""Messages between traces: who sends what another one receives."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from evo_libra.errors import InputError, Mistake
from evo_libra.timing.traces.machine import Machine
from evo_libra.timing.traces.operations import MESSAGES, Channel, Script, mistake_in


@dataclass(frozen=True)
class Peer:
    """The other end of a channel.

    Attributes
    ----------
    npu : where it is.
    number : of the channel there; -1 where nobody receives what is sent, which does no harm.
    label : all that tells the channel from others of the same classes.
    """

    npu: int
    number: int
    label: Hashable


def peers_of(scripts: Sequence[Script], machine: Machine | None) -> list[list[Peer]]:
    """Return the other end of every channel of every NPU.

    Raises
    ------
    InputError : a message to or from an NPU that is not there, or a receive of what is not sent.
    """
    if not any(script.channels for script in scripts):
        return [[] for _ in scripts]
    numbers = [{channel: number for number, channel in enumerate(script.channels)} for script in scripts]
    messages = [Counter(o.use for o in script.operations if o.action in MESSAGES) for script in scripts]
    mistakes: list[Mistake] = []
    found: list[list[Peer]] = [[] for _ in scripts]
    for npu, script in enumerate(scripts):
        for number, channel in enumerate(script.channels):
            if channel.peer >= len(scripts):
                mistakes.append(_mistake(npu, script, number, 0, f"there are {len(scripts)} NPUs"))
                continue
            there = numbers[channel.peer].get(Channel(npu, channel.tag, channel.size, not channel.sends), -1)
            sent = messages[channel.peer][there]
            if not channel.sends and sent < messages[npu][number]:
                mistakes.append(_mistake(npu, script, number, sent, "which does not send it"))
            route = machine.route(npu, channel.peer) if machine is not None else None
            found[npu].append(Peer(channel.peer, there, (number, there, route)))
    if mistakes:
        raise InputError(mistakes)
    return found


def _mistake(npu: int, script: Script, number: int, first: int, reason: str) -> Mistake:
    """Return what is wrong with a message, of those of a channel the one in some place."""
    channel = script.channels[number]
    nodes = [script.nodes[at] for at, o in enumerate(script.operations) if o.action in MESSAGES and o.use == number]
    way = "a message to" if channel.sends else "receives from"
    message = f"{way} NPU {channel.peer} of {channel.size} bytes with tag {channel.tag}; {reason}"
    return mistake_in(npu, nodes[first], message)
