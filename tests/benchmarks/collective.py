"""Designs a second of ASTRA-sim's collective model: closed forms, queue model, the simulator's recorded times."""

from __future__ import annotations

import json
import time
from pathlib import Path

import numpy as np

from evo_libra.model.astra import queues
from evo_libra.model.astra.collective import System, collective_time
from evo_libra.model.astra.phase import FULLY_CONNECTED, RING, SWITCH, Implementation, Link, Overheads
from evo_libra.model.collective import Collective

CASES = Path(__file__).parents[1] / "golden" / "astra_collectives.json"
BLOCKS = (RING, FULLY_CONNECTED, RING, SWITCH)
NPUS = (4, 8, 4, 32)
ALGORITHMS = ("ring", "direct", "ring", "halvingDoubling")
CHUNKS = 64
POPULATION = 4096
SIZE = 2**30


def links(count: int) -> list[Link]:
    random = np.random.default_rng(0)
    return [
        Link(
            np.full(count, block), np.full(count, npus), random.uniform(10, 500, count), random.uniform(0, 2000, count)
        )
        for block, npus in zip(BLOCKS, NPUS, strict=True)
    ]


def rate(collective: Collective, *, shrinking: bool, repeats: int) -> float:
    names = [Implementation.read(name) for name in ALGORITHMS]
    system = System({collective: names}, CHUNKS, 1, shrinking, Overheads(10.0, 1600.0))
    population = links(POPULATION)
    start = time.perf_counter()
    for _ in range(repeats):
        collective_time(collective, SIZE, population, system)
    return repeats * POPULATION / (time.perf_counter() - start)


def main() -> None:
    walls = [case["wall_s"] for case in json.loads(CASES.read_text()) if case["wall_s"]]
    simulator = len(walls) / sum(walls)
    print(
        f"4 dimensions, {CHUNKS} chunks, population {POPULATION}; ASTRA-sim's recorded runs: {simulator:,.0f} a second"
    )
    rows = [
        ("reduce-scatter, closed form", Collective.REDUCE_SCATTER, True, 20),
        ("all-gather, closed form", Collective.ALL_GATHER, True, 20),
        ("baseline all-reduce, closed form", Collective.ALL_REDUCE, False, 20),
        ("all-reduce, queue model, NumPy", Collective.ALL_REDUCE, True, 1),
    ]
    print("| what | designs a second | times ASTRA-sim's |\n|---|---:|---:|")
    compiled, queues.compiled = queues.compiled, lambda: None
    for what, collective, shrinking, repeats in rows:
        found = rate(collective, shrinking=shrinking, repeats=repeats)
        print(f"| {what} | {found:,.0f} | {found / simulator:,.0f} |")
    queues.compiled = compiled
    rate(Collective.ALL_REDUCE, shrinking=True, repeats=1)
    found = rate(Collective.ALL_REDUCE, shrinking=True, repeats=1)
    print(f"| all-reduce, queue model, compiled (extra fast) | {found:,.0f} | {found / simulator:,.0f} |")


if __name__ == "__main__":
    main()
