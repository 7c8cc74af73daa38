"""Designs a second of ASTRA-sim's collective model: closed forms, queue model, the simulator's recorded times."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from evo_libra.collective import Collective
from evo_libra.timing.collectives import queues, themis
from evo_libra.timing.collectives import system as systems
from evo_libra.timing.collectives.collective_time import collective_time
from evo_libra.timing.collectives.phase import FULLY_CONNECTED, RING, SWITCH, Implementation, Link, Overheads
from evo_libra.timing.collectives.system import Choice, System
from evo_libra.timing.collectives.themis_paper import Fabrics, paper_time
from evo_libra.timing.names import Policy, Scheduler

CASES = Path(__file__).parents[1] / "golden" / "astra_collectives.json"
BLOCKS = (RING, FULLY_CONNECTED, RING, SWITCH)
NPUS = (4, 8, 4, 32)
ALGORITHMS = ("ring", "direct", "ring", "halvingDoubling")
EXCHANGES = ("ring", "direct", "ring", "direct")
COMPILED = ((queues, "compiled_queues"), (systems, "can_compile"), (themis, "compiled_greedy"))
CHUNKS = 64
POPULATION = 4096
SIZE = 2**30


def links(count: int) -> list[Link]:
    random = np.random.default_rng(0)
    return [
        Link(
            np.full(count, block),
            np.full(count, npus),
            random.uniform(10e9, 500e9, count),
            random.uniform(0, 2000, count),
        )
        for block, npus in zip(BLOCKS, NPUS, strict=True)
    ]


def system(collective: Collective, *, shrinking: bool = True, scheduler: Scheduler = Scheduler.BASELINE) -> System:
    names = [Implementation.read(name) for name in (EXCHANGES if collective is Collective.ALL_TO_ALL else ALGORITHMS)]
    return System({collective: names}, CHUNKS, 1, shrinking, Overheads(10.0, 1600.0), scheduler=scheduler)


def searched(collective: Collective, count: int, **kinds) -> tuple[list[Link], System]:
    """Return designs as a search has them: other shapes, chunks and algorithms in each (rings run ring)."""
    random = np.random.default_rng(1)
    options = tuple(map(Implementation.read, ("ring", "direct", "halvingDoubling")))
    population = [replace(link, npus=np.where(random.random(count) < 0.2, 1, link.npus)) for link in links(count)]
    most = 2 if collective is Collective.ALL_TO_ALL else 3
    choices = [Choice(options, random.integers(0, 1 if block == RING else most, count)) for block in BLOCKS]
    chunks = random.choice([4, 16, 64, 256], count)
    return population, replace(system(collective, **kinds), implementations={collective: choices}, splits=chunks)


def rate(run: Callable[[], object], repeats: int) -> float:
    """Return the designs a second of processor time, in the fastest run."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        run()
        times.append(time.process_time() - start)
    return POPULATION / min(times)


def rows() -> Iterator[tuple[str, Callable[[], object], bool]]:
    """Give name and call of each pair of rows, and whether these need the queue model."""
    scatter, gather, reduce = Collective.REDUCE_SCATTER, Collective.ALL_GATHER, Collective.ALL_REDUCE
    exchange = Collective.ALL_TO_ALL
    plain = links(POPULATION)
    for what, collective, shrinking in (
        ("reduce-scatter", scatter, True), ("all-gather", gather, True), ("all-to-all", exchange, True),
        ("baseline all-reduce", reduce, False),
    ):  # fmt: skip
        given = system(collective, shrinking=shrinking)
        yield what, partial(collective_time, collective, SIZE, plain, given), False
        population, given = searched(collective, POPULATION, shrinking=shrinking)
        yield f"{what}, as searched", partial(collective_time, collective, SIZE, population, given), False
    yield "all-reduce in 2 dimensions", partial(collective_time, reduce, SIZE, plain[:2], system(reduce)), False
    for what, scheduler in (
        ("", Scheduler.BASELINE), (", round robin", Scheduler.ROUND_ROBIN),
        (", offline greedy", Scheduler.OFFLINE_GREEDY), (", offline greedy flex", Scheduler.OFFLINE_GREEDY_FLEX),
    ):  # fmt: skip
        given = system(reduce, scheduler=scheduler)
        yield f"all-reduce{what}", partial(collective_time, reduce, SIZE, plain, given), True
    population, given = searched(reduce, POPULATION)
    yield "all-reduce, as searched", partial(collective_time, reduce, SIZE, population, given), True
    fields = (np.array([getattr(link, name) for link in plain]) for name in ("block", "npus", "bandwidth", "latency"))
    fabrics = Fabrics(*fields)
    for policy in (Policy.FIFO, Policy.SMALLEST_CHUNK_FIRST):
        run = partial(paper_time, reduce, SIZE, fabrics, chunks=CHUNKS, policy=policy)
        yield f"all-reduce, Themis' paper, {policy.value}", run, True


def main() -> None:
    walls = [case["wall_s"] for case in json.loads(CASES.read_text()) if case["wall_s"]]
    simulator = len(walls) / sum(walls)
    print(
        f"4 dimensions, {CHUNKS} chunks, population {POPULATION}; ASTRA-sim's recorded runs: {simulator:,.0f} a second"
    )
    print("| what | how | designs a second | times ASTRA-sim's |\n|---|---|---:|---:|")
    compiled = {(module, name): getattr(module, name) for module, name in COMPILED}
    for what, run, is_queued in rows():
        for how, repeats in (("NumPy", 2), ("compiled", 5)):
            for (module, name), function in compiled.items():
                setattr(module, name, function if how == "compiled" else lambda *_: None)
            run()
            found = rate(run, repeats if is_queued else 20)
            print(f"| {what} | {how} | {found:,.0f} | {found / simulator:,.0f} |", flush=True)


if __name__ == "__main__":
    main()
