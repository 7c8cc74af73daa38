"""Throughput of the traffic of training: experts, data and pipeline, over paths that a file chooses.

Each NPU is in one group of each kind: NPUs whose numbers differ in one digit only. All groups send at once. The time of
a step is the largest load of a link over its rate: messages are sprayed, so that no hash makes two flows collide, and
rates are max-min fair.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf

import numpy as np

from evo_libra.arrays import BoolArray, FloatArray
from evo_libra.errors import InputError, unknown
from evo_libra.network.fabrics.layered import LayeredFabric
from evo_libra.network.fabrics.reach import lengths_of, unreached
from evo_libra.network.fabrics.rooted import Rooted
from evo_libra.network.fabrics.routing import orbit_loads, routes
from evo_libra.network.fabrics.seen import Question, Seen, seen, seen_failing

KINDS = ("experts", "data", "pipeline")
PATHS = ("shortest", "striped")


@dataclass(frozen=True)
class Traffic:
    """Messages of groups of NPUs: those whose numbers are equal but for the digit ``npu // place % members``.

    Attributes
    ----------
    kind : `experts` is an all-to-all. `data` is a reduce-scatter and an all-gather by halving and doubling: in step s,
        NPUs whose digit differs in bit s exchange 1 / 2^(s + 1) of the bytes, and the steps come back in reverse. Each
        step waits for the one before. `pipeline` sends the bytes to the next member, and from the last to the first,
        as interleaved stages do.
    place, members : of the digit; a place of 8 is the server in servers of eight, so that messages keep to rails.
    """

    kind: str
    place: int
    members: int


@dataclass(frozen=True)
class Policy:
    """Ways of messages; both decide which fabric is faster.

    Attributes
    ----------
    paths : ``shortest``, or ``striped``: each kind of ports of an NPU takes a part in the ratio of its rate, on the
        shortest path that leaves and enters by ports of this kind. Kinds without such a path take none, and third NPUs
        do not forward stripes.
    forwarding : one of `evo_libra.network.fabrics.routing.FORWARDING`.
    """

    paths: str
    forwarding: str


@dataclass(frozen=True)
class Throughput:
    """The rate of some traffic.

    Attributes
    ----------
    rate : B/s that each NPU sends.
    traffic, policy : the question.
    method : ``digits`` or ``graph``; both are exact.
    """

    rate: float
    traffic: Traffic
    policy: Policy
    method: str


_Stripe = tuple[int | None, float]
"""The relation that a part of a message leaves and enters by, None for any, and the part."""


@dataclass(frozen=True)
class _Step:
    """Messages that are sent at once: places that cut numbers of NPUs, the view, and bytes of an NPU over all of it."""

    cuts: tuple[int, int]
    question: Question
    sent: float


def throughput(fabric: LayeredFabric, traffic: Traffic, policy: Policy, method: str = "") -> Throughput:
    """Return B/s that each NPU sends; an InputError names groups that do not fit, or NPUs without a path.

    Parameters
    ----------
    fabric, traffic, policy : the question.
    method : as in `evo_libra.network.fabrics.seen.Question`.
    """
    stripes = _checked(fabric, traffic, policy)
    seconds, sent, methods = 0.0, 0.0, set()
    for step in _steps(traffic, method):
        view = seen(fabric, step.question)
        loads, missed = _loads(view, traffic, step, policy, stripes)
        if missed:
            raise InputError(missed)
        seconds += step.sent * float((loads / view.orbits.rate).max())
        sent += step.sent
        methods.add(view.method)
    return Throughput(sent / seconds, traffic, policy, max(methods))


def slow_downs(fabric: LayeredFabric, traffic: Traffic, policy: Policy, method: str = "") -> tuple[float, ...]:
    """Return for each layer of switches how many times as long traffic takes when one of its switches has failed.

    It is the mean over the switches of the layer, and infinite where a failure leaves NPUs without a path.

    Parameters
    ----------
    fabric, traffic, policy, method : as in `throughput`.
    """
    stripes = _checked(fabric, traffic, policy)
    seconds, sent = np.zeros(len(fabric.layers)), 0.0
    for step in _steps(traffic, method):
        sent += step.sent
        for view in seen_failing(fabric, step.question):
            loads, missed = _loads(view, traffic, step, policy, stripes)
            longest = inf if missed else float((loads / view.orbits.rate).max())
            seconds[view.layer] += step.sent * view.weight * longest
    whole = sent / throughput(fabric, traffic, policy, method).rate
    return tuple((seconds[1:] / np.array(fabric.layers[1:]) / whole).tolist())


def _checked(fabric: LayeredFabric, traffic: Traffic, policy: Policy) -> list[_Stripe]:
    """Return the stripes of a question that makes sense."""
    _check(fabric, traffic, policy)
    return _stripes(fabric, policy)


def _check(fabric: LayeredFabric, traffic: Traffic, policy: Policy) -> None:
    if traffic.kind not in KINDS:
        raise InputError(unknown("traffic", traffic.kind, KINDS))
    if policy.paths not in PATHS:
        raise InputError(unknown("paths", policy.paths, PATHS))
    if policy.paths == "striped" and policy.forwarding == "any":
        raise InputError(
            "paths 'striped' with forwarding 'any': a stripe might come back to its sender; allowed: none, server"
        )
    found = f"{traffic.kind} groups of {traffic.members} NPUs, {traffic.place} apart"
    if traffic.members <= 1 or traffic.place < 1 or fabric.npus % (traffic.place * traffic.members):
        raise InputError(
            f"{found}, do not divide {fabric.npus:,} NPUs; allowed: 2 and more whose product with the distance does"
        )
    if traffic.kind == "data" and traffic.members & (traffic.members - 1):
        raise InputError(f"{found}; allowed: powers of two, as steps halve the bytes")


def _steps(traffic: Traffic, method: str) -> Iterator[_Step]:
    low, high = traffic.place, traffic.place * traffic.members
    if traffic.kind == "data":
        for bit in range(traffic.members.bit_length() - 1):
            cuts = (low << bit, low << bit + 1)
            # Reduce-scatter and all-gather have the same messages, in opposite order.
            yield _Step(cuts, Question(cuts, method=method), 2.0 / 2 ** (bit + 1))
    else:
        counted = (low, high) if traffic.kind == "pipeline" else (1, 1)
        yield _Step((low, high), Question((low, high), counted, method), 1.0)


def _loads(view: Seen, traffic: Traffic, step: _Step, policy: Policy, stripes: list[_Stripe]) -> tuple[FloatArray, str]:
    """Return the bytes on a link of each kind, where each NPU sends one, and the sentence about NPUs without a path."""
    loads = np.zeros(len(view.orbits.links))
    for root in view.roots():
        sent = root.size[: root.npus] * _senders(root, view, traffic, step)
        ways = [routes(root, view.orbits, policy.forwarding, port) for port, _ in stripes]
        lengths = np.stack([lengths_of(root, one) for one in ways])
        shortest = np.where(sent > 0, lengths.min(axis=0), 0.0)
        if np.isinf(shortest).any():
            return loads, unreached(view, root, shortest, policy.forwarding)
        shares = np.isfinite(lengths) * np.array([[share] for _, share in stripes])
        shares /= np.maximum(shares.sum(axis=0), np.finfo(np.float64).tiny)
        for one, share in zip(ways, shares, strict=True):
            loads += root.weight * orbit_loads(one, share * sent, len(loads))
    return loads / view.orbits.links, ""


def _senders(root: Rooted, view: Seen, traffic: Traffic, step: _Step) -> FloatArray:
    """Return the bytes that an NPU of each class sends to the root."""
    inside = np.array([step.cuts[0] <= place < step.cuts[1] for place, _ in view.places], dtype=np.bool_)
    equal = root.values == root.values[root.root]
    group: BoolArray = equal[:, ~inside].all(axis=1)
    if traffic.kind == "pipeline":
        places = np.array([place // traffic.place for place, _ in view.places])
        number = root.values[:, inside] @ places[inside]
        before: BoolArray = (number + 1) % traffic.members == number[root.root]
        return np.where(group & before, 1.0, 0.0)
    others: BoolArray = group & ~equal[:, inside].all(axis=1)
    return np.where(others, 1.0 if traffic.kind == "data" else 1.0 / (traffic.members - 1), 0.0)


def _stripes(fabric: LayeredFabric, policy: Policy) -> list[_Stripe]:
    """Return the relations that parts of a message leave and enter by, and the parts."""
    if policy.paths == "shortest":
        return [(None, 1.0)]
    rates = {index: one.links * one.parallel * one.rate for index, one in enumerate(fabric.between) if one.lower == 0}
    if not rates:
        raise InputError("paths 'striped': no layer of switches is joined to the NPUs; allowed: shortest")
    return [(index, rate / sum(rates.values())) for index, rate in rates.items()]
