"""Themis' published figures: six networks of 1024 NPUs, an all-reduce of 1000 MiB in 64 chunks."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from evo_libra.model.arrays import FloatArray
from evo_libra.model.astra.phase import GIBI
from evo_libra.model.astra.queues import Policy
from evo_libra.model.astra.themis_paper import Fabrics, paper_time, utilisation
from evo_libra.model.collective import Collective
from evo_libra.model.fabric import BLOCKS

PUBLISHED = json.loads((Path(__file__).parent.parent / "golden" / "themis_published.json").read_text())
NAMES = [block.name for block in BLOCKS]
BLOCK = {"Ring": "ring", "FullyConnected": "fully-connected", "Switch": "switch"}
SIZE = 1000.0 * 2**20


def fabrics_of(depth: int) -> tuple[list[str], Fabrics]:
    chosen = {name: t for name, t in PUBLISHED["topologies"].items() if len(t["npus"]) == depth}
    columns = [
        [[NAMES.index(BLOCK[block]) for block in t["block"]] for t in chosen.values()],
        [t["npus"] for t in chosen.values()],
        [[gigabits / 8 * GIBI / 1e9 for gigabits in t["bw_gbps_per_npu_unidir"]] for t in chosen.values()],
        [t["latency_ns"] for t in chosen.values()],
    ]
    return list(chosen), Fabrics(*(np.array(column).T for column in columns))


def measured(scheduler: str) -> tuple[FloatArray, FloatArray]:
    """Return utilisations in percent, and times relative to the published ones."""
    used, ratio = [], []
    policy = Policy.FIFO if scheduler == "fifo" else Policy.SMALLEST_CHUNK_FIRST
    for depth in (2, 3, 4):
        names, fabrics = fabrics_of(depth)
        time = paper_time(Collective.ALL_REDUCE, SIZE, fabrics, greedy=scheduler != "baseline", policy=policy)
        published = np.array([PUBLISHED["topologies"][name][f"{scheduler}_us"] for name in names]) * 1e3
        used += (100 * utilisation(Collective.ALL_REDUCE, SIZE, fabrics, time)).tolist()
        ratio += (time / published).tolist()
    return np.array(used), np.array(ratio)


def test_average_utilisations_and_times() -> None:
    for scheduler, points, error in (("baseline", 1, 0.01), ("fifo", 6, 0.12), ("smallest_chunk_first", 2, 0.03)):
        used, ratio = measured(scheduler)
        assert len(used) == 6
        assert abs(used.mean() - PUBLISHED["utilisation_percent"][scheduler]) < points
        assert np.abs(ratio - 1).mean() < error
