"""Designs while a part of them is in repair: their times, the share of time, and the verdict with both."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from evo_libra.arrays import FloatArray, IntArray, Population
from evo_libra.errors import InputError
from evo_libra.explain.choice import Choice
from evo_libra.explain.verdict_basis import Basis
from evo_libra.explain.what_if import Asked, WhatIf, span_of
from evo_libra.network.blocks import ITEMS
from evo_libra.network.blocks.blast import STATED
from evo_libra.network.catalog.failures import NPU, Failures
from evo_libra.network.faults import blasts
from evo_libra.network.orders.failures import What, order_failure
from evo_libra.problem.figures import NONE_LEFT
from evo_libra.problem.orders import OrderBook
from evo_libra.problem.pricing.parts import BillOfMaterials
from evo_libra.problem.problem import Problem

WHATS: tuple[What, ...] = ("nic", "link", "leaf", "rail", "plane", "npu")
_SWITCH = "switch"
_REPLICAS = re.compile(r"\bdp(\d+)\b")


@dataclass(frozen=True)
class Degraded:
    """n designs while a part is in repair.

    Attributes
    ----------
    slower : (n,) time over that of the whole design; infinite where the job stops.
    share : (n,) share of time in which a part or more is in repair; NaN where no source gives its rate.
    says : what happens to each, as a clause; empty where that is not to be said.
    """

    slower: FloatArray
    share: FloatArray
    says: Sequence[str]

    def of_all_time(self, times: float = 1.0) -> FloatArray:
        """Return (n,) the time of the same work over that without failures, at `times` the rate of failures.

        Work goes on at the degraded pace while a part is in repair, and not at all where the job stops.
        """
        share = 1.0 - (1.0 - np.nan_to_num(self.share)) ** times
        return np.asarray(1.0 / np.maximum(1.0 - share + share / self.slower, _LEAST))


_LEAST = 1e-9


def degraded(problem: Problem, designs: Population, texts: Sequence[str], what: What) -> Degraded:
    """Return designs while a part is in repair; an `InputError` says that they have no such parts."""
    if problem.book is not None:
        return _of_orders(problem, problem.book, designs, texts=texts, what=what)
    if what in ("rail", "plane"):
        raise InputError(f"--fail: a design has no {what}s that are wired apart; nic, link, leaf and npu can fail")
    if not isinstance(problem.pricing, BillOfMaterials) or problem.optimal:
        raise InputError(f"--fail: failures are of parts, and the prices of '{problem.name}' are per bandwidth")
    return _of_designs(problem, problem.pricing, designs, what=what, texts=texts)


def _failures(problem: Problem) -> Failures:
    faults = problem.sources.faults
    return Failures({}, {}) if faults is None else faults.failures


def _share(problem: Problem, pieces: FloatArray, kind: str) -> FloatArray:
    """Return (n,) the share of time in which a piece or more is in repair: their number has a Poisson distribution."""
    if not kind:
        return np.full(len(pieces), np.nan)
    one = _failures(problem).named(kind)
    return np.asarray(-np.expm1(-pieces * one.rate * one.repair))


def _of_orders(
    problem: Problem, book: OrderBook, designs: Population, *, texts: Sequence[str], what: What
) -> Degraded:  # fmt: skip
    places = book.place(designs).tolist()
    found = [order_failure(book.orders[place], book.trees[place], book.products, what) for place in places]
    if not any(one.pieces for one in found):
        raise InputError(f"--fail {what}: no order of the front has one: {found[0].says}")
    last = np.maximum((designs.npus > 1).sum(axis=0) - 1, 0)
    slower = _slowed(problem, designs, last, np.array([one.left for one in found]))
    if what == NPU:
        slower = np.where(np.isinf(slower), _while_out(problem, designs, texts), slower)
    kinds = {one.kind for one in found}
    pieces = np.array([one.pieces for one in found], dtype=np.float64)
    share = sum(np.where([one.kind == kind for one in found], _share(problem, pieces, kind), 0.0) for kind in kinds)
    return Degraded(slower, np.asarray(share), [one.says for one in found])


def _while_out(problem: Problem, designs: Population, texts: Sequence[str]) -> FloatArray:
    """Return (n,) the time of the same work while a server or a tray is out; infinite where nothing is left."""
    npu, served = problem.sources.npu, problem.measure(designs).served
    if served is not None and served.left is not None:
        return np.where(served.left > NONE_LEFT, 1.0 / served.left, np.inf)
    assert npu.stopped is not None, "orders know it"  # noqa: S101 - internal error
    out = npu.stopped[npu.of(designs.technology)] / designs.npus.prod(axis=0)
    return np.array([_fewer_replicas(text, one) for text, one in zip(texts, out.tolist(), strict=True)])


def _slowed(problem: Problem, designs: Population, dimension: IntArray, left: FloatArray) -> FloatArray:
    """Return (n,) times over those of whole designs, with a share of the bandwidth of a dimension left to each."""
    each = np.arange(len(designs))
    bandwidth = designs.bandwidth.copy()
    bandwidth[dimension, each] *= np.where(left > 0, left, 1.0)
    ratio = problem.time(replace(designs, bandwidth=bandwidth)) / problem.time(designs)
    return np.asarray(np.where(left > 0, ratio, np.inf))


def _fewer_replicas(design: str, out: float) -> float:
    """Return the time of the same work with a share of NPUs out, one replica of the model at least; infinite of one.

    >>> _fewer_replicas("112 gb300-nvl72 / 1 x 400G / sn5600 tor 1:1 | pp8 dp5", 0.01), _fewer_replicas("dp1", 0.01)
    (1.25, inf)
    """
    replicas = min((int(found) for found in _REPLICAS.findall(design)), default=1)
    lost = max(1.0 / replicas, out)
    return 1.0 / (1.0 - lost) if lost < 1.0 else float("inf")


def _stated_replicas(problem: Problem) -> str:
    """Return the data parallel groups that a file itself states, as plans of designs say theirs."""
    known = [loop.degrees for loop in problem.time.loops if "dp" in loop.degrees]
    return "".join(f" dp{one.get('ep+dp', one['dp'])}" for one in known)


def _of_designs(
    problem: Problem, pricing: BillOfMaterials, designs: Population, *, what: What, texts: Sequence[str]
) -> Degraded:
    npus = designs.npus.prod(axis=0).astype(np.float64)
    if what == NPU:
        slower = np.array([_fewer_replicas(f"{text}{_stated_replicas(problem)}", 0.0) for text in texts])
        says = [
            "it has a single replica of the model" if np.isinf(one) else "one of its replicas is out" for one in slower
        ]
        return Degraded(slower, _share(problem, npus, NPU), says)
    item = _SWITCH if what == "leaf" else what
    blast = blasts(pricing.kits, designs.technology, designs.npus)[:, STATED.index(item)]
    pieces = pricing.items(designs)[ITEMS.index(item)]
    if not pieces.any():
        raise InputError(f"--fail {what}: no design of the front has one")
    ports = pricing.ports_of(pricing.built(designs), designs.bandwidth)
    gone = np.divide(blast[2], ports, out=np.zeros_like(ports), where=ports > 0)
    left = np.where(blast[0] + blast[1] > 0, 0.0, 1.0 - gone)
    # Of several dimensions with such a part, the one counts whose failure costs the most.
    each = [
        _slowed(problem, designs, np.full(len(npus), d), np.where(pieces[d] > 0, left[d], 1.0))
        for d in range(len(left))
    ]
    slower = np.max(each, axis=0)
    says = ["it cuts NPUs off" if np.isinf(one) else "its dimension loses bandwidth" for one in slower.tolist()]
    return Degraded(slower, _share(problem, pieces.sum(axis=0), item), says)


def if_failed(asked: Asked, texts: Sequence[str], what: What) -> WhatIf:
    """Return the verdict with a part that fails: times of the design to buy and its best rival, and the share of time.

    Parameters
    ----------
    texts : the designs of the front in the notation.
    """
    basis = asked.basis
    found = degraded(basis.problem, basis.problem.read(list(texts)), texts, what)
    rows = [basis.bought[0]]
    if basis.weighs and basis.stated.others(*basis.bought).any():
        rows.append(basis.lead(basis.stated)[1])
    said = " ".join(_sentence(asked, found, row) for row in rows)
    change, known = f"{NAMES[what]} fails", not np.isnan(found.share).any()
    if known:
        at = partial(_at, basis, found)
        rate = "times today's rate"
        return asked.outcome(change, at, 1.0, (rate, 1.0), said=said, span=span_of("today's rate of failures"))
    said += " If that lasts:"
    turns = asked.turns_at(partial(_at_share, basis, found), lambda tenths: f"{10.0 * tenths:.3g} % of the time")
    return asked.answer(
        change, _at_share(basis, found, 10.0), turns, said=said, span="from 1 to 100 % of the time"
    )  # fmt: skip


NAMES = {"nic": "a NIC", "link": "a link", "leaf": "a leaf", "rail": "a rail", "plane": "a plane", "npu": "an NPU"}
_STOPPED = 1e6
"""Factor on the time of a job that stops."""


def _at(basis: Basis, found: Degraded, times: float) -> Choice:
    return basis.choice(slower=found.of_all_time(times))


def _at_share(basis: Basis, found: Degraded, tenths: float) -> Choice:
    """Return the choice where a part is in repair for a share of time, in tenths: no source gives a share."""
    share, slower = np.minimum(0.1 * tenths, 1.0), np.minimum(found.slower, _STOPPED)
    return basis.choice(slower=1.0 / (1.0 - share + share / slower))


def _sentence(asked: Asked, found: Degraded, row: int) -> str:
    """Return what a failure does to a design, and in what share of time."""
    slower, share = float(found.slower[row]), float(found.share[row])
    name = f"#{int(asked.basis.found.ids[row])}"
    if slower == 1.0:
        return f"{name} goes on as before, because {found.says[row]}."
    does = f"{name} stops" if np.isinf(slower) else f"{name} takes {100.0 * (slower - 1.0):.3g} % longer"
    when = "no source gives the share of time" if np.isnan(share) else f"{100.0 * share:.3g} % of the time"
    return f"{does} until the repair, restarts not counted, because {found.says[row]} ({when})."
