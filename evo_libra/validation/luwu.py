"""LuWu, now DisDP (arXiv 2409.00918v2): optimizers in a server of the network.

Needs of the server at a line rate, models that fit, and the speed of the 175B model are computed as for any plan. The
testbed and its software are those of the shipped problem `opt-175b-offload`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from evo_libra.collective import PushPull
from evo_libra.network.catalog.parts import load_parts_spec
from evo_libra.problem.file.registry import load_problem
from evo_libra.problem.problem import Problem
from evo_libra.validation.source import Basis, PublishedRow, PublishedSource, published
from evo_libra.workload.models.decoder import Decoder, load_decoders
from evo_libra.workload.plans.placement import per_byte
from evo_libra.workload.plans.plan_rules import placement_allowed
from evo_libra.workload.plans.plans import NETWORK, NPU, NVME, Plans, one_plan
from evo_libra.workload.plans.recomputation import FULL
from evo_libra.workload.training.memory import memory
from evo_libra.workload.training.offload import Offload, ParameterServer, offload_streams
from evo_libra.workload.training.races import DATA, PerByte
from evo_libra.workload.training.step_time import step_time
from evo_libra.workload.training.training_setup import Setup

WORKERS, SEQUENCE, LINK = 8, 1024, 12.5e9
RESERVE = 0.05
_GIBI, _BILLION = 2.0**30, 1e9


@cache
def luwu() -> Any:  # noqa: ANN401 - plain data
    """Return the published figures."""
    return published("luwu_published.json")


@cache
def testbed() -> Setup:
    """Return the setup of the shipped problem: the hosts and the server of the paper's cluster, and its software."""
    problem = load_problem("opt-175b-offload")
    assert isinstance(problem, Problem), "it is a file"  # noqa: S101 - internal error
    setup = problem.time.tables[0].setups[0]
    assert isinstance(setup, Setup), "its model is a decoder"  # noqa: S101 - internal error
    return setup


def setup_of(size: str, micro_batch: int, *, workers: int = WORKERS, base: Setup | None = None) -> Setup:
    """Return how a model of table V is trained, with the hosts and the software of a setup, or of the testbed."""
    layers, heads, hidden = luwu()["models"][size]
    words = load_decoders()["opt-175b"].vocabulary
    model = Decoder(
        name=f"opt-{size}", layers=layers, hidden=hidden, heads=heads, kv_heads=heads, head_width=hidden // heads,
        feed_forward=4 * hidden, gated=False, vocabulary=words, sequence=SEQUENCE, experts=None, latent=None,
        source="", tied=True,
    )  # fmt: skip
    base = base or testbed()
    return Setup(
        model, base.accelerator, SEQUENCE, workers * micro_batch, gradient_bytes=2, offload=base.offload,
        stack=base.stack,
    )  # fmt: skip


def plan_of(optimizer: int, micro_batch: int, *, zero: int = 3, **degrees: int) -> Plans:
    """Return a plan with activation checkpointing, whose collectives run alongside compute."""
    return one_plan(
        **{"dp": WORKERS, **degrees}, micro_batch=micro_batch, zero=zero, recompute=FULL, optimizer=optimizer,
        overlap_dp=True,
    )  # fmt: skip


def seconds_of(setup: Setup, plan: Plans, sizes: Sequence[int] = (WORKERS,), rates: Sequence[float] = (LINK,)) -> float:
    """Return the seconds of a step on dimensions of some sizes and B/s, the last of which leaves servers."""
    npus, bandwidth = np.array(sizes)[:, None], np.array(rates)[:, None]
    traffic = per_byte(npus, bandwidth, plan, outside=np.arange(len(sizes))[:, None] == len(sizes) - 1)
    found = dict(traffic.seconds_per_byte)
    found[DATA, PushPull()] = np.array([1.0 / rates[-1]])
    return float(step_time(setup, plan)(PerByte(found))[0])


def tokens_per_second(
    size: str, optimizer: int, micro_batch: int, *, workers: int = WORKERS, zero: int = 3, base: Setup | None = None
) -> float:
    """Return the tokens per second of a GPU of the testbed, or of another setup."""
    setup = setup_of(size, micro_batch, workers=workers, base=base)
    plan = plan_of(optimizer, micro_batch, zero=zero, dp=workers)
    return micro_batch * SEQUENCE / seconds_of(setup, plan, (workers,))


def fits(size: str, optimizer: int, micro_batch: int = 1, *, zero: int = 3) -> bool:
    """Return whether a model fits GPUs and hosts of the testbed."""
    setup, plan = setup_of(size, micro_batch), plan_of(optimizer, micro_batch, zero=zero)
    used = sum(float(np.ravel(bytes_)[0]) for bytes_ in memory(setup, plan).values())
    return used <= (1.0 - RESERVE) * setup.accelerator.memory_capacity and bool(placement_allowed(setup, plan)[0])


def needs(link: float) -> dict[str, dict[str, float]]:
    """Return what a server needs per second at a line rate, by pass and stream, in B and FLOP: table III."""
    # A server of rate 1 takes as many seconds as it would need per second.
    server, weights = ParameterServer(link, 1.0, 1.0, 1.0), np.full(1, link / 2.0)
    none = np.zeros(1)
    streams = offload_streams(Offload(None, server), one_plan(optimizer=NETWORK), none, weights, none)
    return {
        name: {one.name: float(one.seconds[0]) for one in of_pass}
        for name, of_pass in (("fwd", streams.forward), ("bwd", streams.backward))
    }


_STREAMS = {"mem": "server memory", "ssd": "server SSD", "ssd_per_dir": "server SSD", "compute": "server compute"}


def _table_3() -> Iterator[PublishedRow]:
    for name, value in luwu()["figures"].items():
        if not name.startswith("ps_need"):
            continue
        _, gigabits, of_pass, figure = name.split(".")
        found = needs(float(gigabits) * _BILLION / 8.0)[of_pass][_STREAMS[figure]] / _GIBI
        unit = "GFLOP/s" if figure == "compute" else "GB/s"
        yield PublishedRow(f"{gigabits} Gb/s, {of_pass} {figure}", value, found, f"{unit} of 2^30")


def _throughput() -> Iterator[PublishedRow]:
    best = max(tokens_per_second("175B", NETWORK, 2**power) for power in range(5))
    yield PublishedRow("175B, up to", luwu()["figures"]["175B.tok"], best, "token/s on a GPU")
    small = max(tokens_per_second("1.3B", NETWORK, 2**power) for power in range(7))
    yield PublishedRow("1.3B, up to", luwu()["figures"]["1.3B.tok"], small, "token/s on a GPU")


@dataclass(frozen=True)
class _System:
    """A system whose largest model is known: where it has the optimizer, and its stage of ZeRO."""

    name: str
    optimizer: int
    zero: int = 3


SYSTEMS = (_System("LuWu", NETWORK), _System("ZeRO-Infinity", NVME), _System("ATP", NPU, 0))


def largest(system: _System) -> str:
    """Return the largest model of table V that a system can train with one sequence on each GPU."""
    allowed = [size for size in luwu()["models"] if fits(size, system.optimizer, zero=system.zero)]
    return max(allowed, key=_parameters, default="none")


def _parameters(size: str) -> float:
    return 1000.0 * float(size[:-1]) if size.endswith("T") else float(size[:-1])


def largest_micro_batch(size: str) -> int:
    """Return the largest power of two as the sequences of a GPU under LuWu."""
    return max((2**power for power in range(8) if fits(size, NETWORK, 2**power)), default=0)


def _largest() -> Iterator[PublishedRow]:
    for system in SYSTEMS:
        size = luwu()["largest"][system.name]
        yield PublishedRow(
            f"{system.name}, largest model", _parameters(size), _parameters(largest(system)), "B weights"
        )
    for size, micro_batch in luwu()["micro_batch"].items():
        yield PublishedRow(f"LuWu, {size}, largest microbatch", micro_batch, largest_micro_batch(size), "sequences")


_DESIGNS = {
    "LuWu": "SW(32)@smart-100g:12.5 | dp32 mb16 zero3 full opt-network",
    "ZeRO-Infinity": "SW(32)@ethernet-100g:12.5 | dp32 mb16 zero3 full opt-nvme",
}
"""The systems of table IX that are built of parts, as designs."""

_MACHINES = 4
"""Machines of 8 GPUs in table IX, with 4 SSDs each under ZeRO-Infinity."""


@dataclass(frozen=True)
class System:
    """A system of table IX that is built of parts: USD, and tokens per second of all of its GPUs."""

    cost: float
    tokens: float


@cache
def systems() -> dict[str, System]:
    """Return the systems of 32 GPUs that are built of parts, with the prices of the catalogues, and 16 sequences."""
    # The memory of these machines is not said, and no part of their price.
    machine = "{base: luwu-testbed, npus: 8, ssds: 4, memory_GB: 1024, source: 'LuWu, table IX, 2024; memory assumed'}"
    changes = [f"system.host={machine}", "npus=32", "workloads[0].training.global_batch=512"]
    problem = load_problem("opt-175b-offload", changes)
    assert isinstance(problem, Problem), "it is a file"  # noqa: S101 - internal error
    found = {}
    for name, text in _DESIGNS.items():
        seconds, cost = problem.evaluate(problem.read(text)).objectives[:, 0]
        found[name] = System(float(cost), 512 * SEQUENCE / float(seconds))
    return found


@cache
def system_costs() -> dict[str, float]:
    """Return the USD of the systems of table IX; a DGX is bought whole."""
    switch = load_parts_spec("luwu-2024").parts["switch-sn2700"].price_usd
    assert isinstance(switch, float), "a price without a range"  # noqa: S101 - internal error
    return {name: one.cost for name, one in systems().items()} | {"DGX": _MACHINES * luwu()["prices"]["dgx"] + switch}


def _table_9() -> Iterator[PublishedRow]:
    costs, listed = system_costs(), luwu()["systems"]
    for name, system in listed.items():
        yield PublishedRow(f"{name}, 32 GPUs", system["cost"], costs[name], "USD")
    for name, (_, price, efficiency) in luwu()["relative"].items():
        cheaper = costs[name] / costs["DGX"]
        yield PublishedRow(f"{name}, price over DGX", price, cheaper, "x")
        faster = listed[name]["tokens"] / listed["DGX"]["tokens"]
        yield PublishedRow(f"{name}, published throughput per dollar over DGX", efficiency, faster / cheaper, "x")


_PAPER = "DisDP, formerly LuWu (arXiv 2409.00918v2)"
_OCR = "a model of the paper; its text was read by OCR"

LUWU = (
    PublishedSource("luwu-server", "luwu", f"{_PAPER}, table III: what a parameter server needs", _table_3, note=_OCR,
           basis=Basis.EQUATIONS),
    PublishedSource("luwu-throughput", "luwu", f"{_PAPER}: throughput on 8 workers", _throughput,
           note=f"an up-to figure of the paper; {_OCR}"),
    PublishedSource("luwu-prices", "luwu", f"{_PAPER}, table IX: systems of 32 GPUs", _table_9,
           note="a DGX is bought whole, and throughputs are the paper's", basis=Basis.EQUATIONS),
    PublishedSource("luwu-largest", "luwu", f"{_PAPER}: what fits 8 workers", _largest,
           note="a host's buffers for ZeRO-Infinity are assumed; any 7.4 to 11.5 bytes a weight give the same",
           basis=Basis.EQUATIONS),
)  # fmt: skip
"""LuWu's figures of its server, its throughput and its prices."""
