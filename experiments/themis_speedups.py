"""Themis against the fixed order of dimensions: the paper's algorithm, its published figures, and ASTRA-sim's own.

Repeats the all-reduces of Themis' paper (Rashidi et al., ISCA 2022) on its six networks of 1024 NPUs, in 64 chunks. The
paper's "1 GB" is 1000 MiB and its GB/s have 2^30 bytes; its mean speed-ups are geometric.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from common import bars, markdown, picture

from evo_libra.model.arrays import FloatArray
from evo_libra.model.astra.collective import Choice, System, collective_time
from evo_libra.model.astra.phase import FULLY_CONNECTED, GIBI, SWITCH, Algorithm, Implementation, Link, Overheads
from evo_libra.model.astra.queues import Policy
from evo_libra.model.astra.themis import Scheduler
from evo_libra.model.astra.themis_paper import Fabrics, paper_time, utilisation
from evo_libra.model.collective import Collective
from evo_libra.model.fabric import BLOCKS
from evo_libra.ui.figure import COLOURS

PUBLISHED = json.loads((Path(__file__).parents[1] / "tests" / "golden" / "themis_published.json").read_text())
NETWORKS = PUBLISHED["topologies"]
CHUNKS = 64
MEBI = 2**20
LARGEST = 1000 * MEBI
SIZES = range(100 * MEBI, LARGEST + 1, 50 * MEBI)
AR = Collective.ALL_REDUCE
BASELINE, FIFO, SMALLEST = "baseline", "fifo", "smallest_chunk_first"
PAPER = {
    BASELINE: (False, Policy.FIFO), FIFO: (True, Policy.FIFO), SMALLEST: (True, Policy.SMALLEST_CHUNK_FIRST),
}  # fmt: skip
ASTRA = {
    BASELINE: (Scheduler.BASELINE, Policy.FIFO),
    "offlineGreedy, FIFO": (Scheduler.OFFLINE_GREEDY, Policy.FIFO),
    "offlineGreedy, smallestFirst": (Scheduler.OFFLINE_GREEDY, Policy.SMALLEST_FIRST),
    "offlineGreedyFlex, FIFO": (Scheduler.OFFLINE_GREEDY_FLEX, Policy.FIFO),
}
NAMES = {"Ring": "ring", "FullyConnected": "fully-connected", "Switch": "switch"}
_DEPTH = 4


def networks() -> Fabrics:
    """Return the six networks, (d, n); what has fewer dimensions has others of one NPU."""
    codes = {block.name: code for code, block in enumerate(BLOCKS)}
    rows = [
        [
            [codes[NAMES[block]] for block in one["block"]] + [0] * (_DEPTH - len(one["npus"])),
            one["npus"] + [1] * (_DEPTH - len(one["npus"])),
            [gigabits / 8 * GIBI / 1e9 for gigabits in one["bw_gbps_per_npu_unidir"]] + [1] * (_DEPTH - len(one["npus"])),
            one["latency_ns"] + [0] * (_DEPTH - len(one["npus"])),
        ]
        for one in NETWORKS.values()
    ]
    return Fabrics(*(np.array(column).T for column in zip(*rows, strict=True)))


def paper_times(size: int) -> dict[str, FloatArray]:
    """Return (n,) ns of an all-reduce under each scheduler of the paper."""
    fabrics = networks()
    return {
        name: paper_time(AR, size, fabrics, chunks=CHUNKS, greedy=greedy, policy=policy)
        for name, (greedy, policy) in PAPER.items()
    }


def astra_times(size: int) -> dict[str, FloatArray]:
    """Return (n,) ns of an all-reduce under ASTRA-sim's schedulers.

    A link has what the paper's networks have per NPU and step: of a fully connected dimension, whose links all work at a
    time, its part; and half the latency on the way to a switch. NPUs add nothing.
    """
    fabrics = networks()
    direct, switched = fabrics.block == FULLY_CONNECTED, fabrics.block == SWITCH
    bandwidth = np.where(direct, fabrics.bandwidth / np.maximum(fabrics.npus - 1, 1), fabrics.bandwidth)
    latency = np.where(switched, fabrics.latency / 2, fabrics.latency)
    links = [Link(*fields) for fields in zip(fabrics.block, fabrics.npus, bandwidth, latency, strict=True)]
    options = tuple(map(Implementation, (Algorithm.RING, Algorithm.DIRECT, Algorithm.HALVING_DOUBLING)))
    rows = [Choice(options, np.where(switched[d], 2, direct[d])) for d in range(_DEPTH)]
    found = {}
    for name, (scheduler, policy) in ASTRA.items():
        system = System(
            {AR: rows}, CHUNKS, active=1, shrinking=True, overheads=Overheads(0.0, np.inf), scheduler=scheduler,
            policy=policy,
        )  # fmt: skip
        found[name] = collective_time(AR, size, links, system)
    return found


def published(scheduler: str) -> FloatArray:
    """Return the (n,) published ns of the largest all-reduce."""
    return np.array([one[f"{scheduler}_us"] for one in NETWORKS.values()]) * 1e3


def used(time: FloatArray, size: int = LARGEST) -> FloatArray:
    """Return (n,) the utilisation in percent."""
    return 100 * utilisation(AR, size, networks(), time)


def speedups(times: dict[str, FloatArray]) -> dict[str, FloatArray]:
    """Return (n,) the speed-ups over the baseline of all others."""
    return {name: times[BASELINE] / time for name, time in times.items() if name != BASELINE}


def mean(values: FloatArray) -> float:
    """Return the geometric mean."""
    return float(np.exp(np.log(values).mean()))
