"""Executions of traces: exact ones, and of populations with NumPy and compiled."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from evo_libra.chakra.trace import Attribute, Kind, Node
from evo_libra.collective import Collective
from evo_libra.timing.collectives.phase import RING, SWITCH, Implementation, Link, Overheads
from evo_libra.timing.collectives.system import System
from evo_libra.timing.machine import ComputeModel, Machine
from evo_libra.timing.traces.compile import compile_program
from evo_libra.timing.traces.durations import durations
from evo_libra.timing.traces.execute import execute_program
from evo_libra.timing.traces.replay import replay_population
from evo_libra.units import GIBI

GOLDEN = Path(__file__).parents[1] / "golden" / "astra_graphs.json"
TRACES = ("data_parallel_6layer_overlap", "stg_d2t2p2", "stg_d4t2p1_fsdp", "gpipe_P4_M6_dp1", "gpipe_P8_M6_dp1")
POPULATION = 4096


def traces(golden: dict, name: str) -> list[list[Node]]:
    nodes = [
        Node(number, "", Kind[kind], tuple(control), tuple(data), 0, duration,
             attributes={key: Attribute(*pair) for key, pair in attributes.items()})
        for number, kind, control, data, duration, attributes in golden["nodes"]
    ]  # fmt: skip
    return [[nodes[place] for place in trace] for trace in golden["traces"][name]]


def machine(npus: tuple[int, ...], algorithm: str) -> Machine:
    links = [
        Link(np.array([block]), np.array([n]), np.array([bandwidth * GIBI]), np.array([500.0]))
        for n, block, bandwidth in zip(npus, (RING, SWITCH, RING, SWITCH), (200.0, 100.0, 50.0, 25.0), strict=False)
    ]
    rows = [Implementation.read(algorithm)] * len(npus)
    system = System(dict.fromkeys(Collective, rows), 4, 1, shrinking=True, overheads=Overheads(10.0, 2039.0))
    return Machine(links, system, ComputeModel(312e12, roofline=True))


def seconds(run: Callable[[], object], repeats: int = 3) -> float:
    """Return the least CPU time of some runs: others may share the machine."""
    found = []
    for _ in range(repeats):
        start = time.process_time()
        run()
        found.append(time.process_time() - start)
    return min(found)


def row(golden: dict, name: str) -> str:
    given = traces(golden, name)
    groups = next(case["groups"] for case in golden["cases"] if case["trace"] == name)
    cluster = machine((len(given) if len(given) > 1 else 8,), "ring")
    program = compile_program(given, {key: tuple(members) for key, members in groups.items()}, cluster)
    factors = np.random.default_rng(0).uniform(0.5, 2.0, (len(program), POPULATION))
    population = durations(program, cluster)[:, None] * factors
    replay_population(program, population[:, :2])  # compiles, where that is still to be done
    done = POPULATION * len(program) / 1e6
    lock_step, compiled = (
        seconds(lambda f=f: replay_population(program, population, compiled=f)) for f in (False, True)
    )
    exact = seconds(lambda: execute_program(program, cluster))
    cells = (f"{len(program.npus)}", f"{len(program.classes)}", f"{len(program):,}", f"{1e3 * exact:.1f}")
    rates = (
        f"{done / lock_step:.1f}",
        f"{POPULATION / lock_step:,.0f}",
        f"{done / compiled:.1f}",
        f"{POPULATION / compiled:,.0f}",
    )
    return f"| {name} | {' | '.join((*cells, *rates))} |"


def main() -> None:
    golden = json.loads(GOLDEN.read_text())
    print("| traces | NPUs | classes | operations | exact, ms | NumPy, M/s | designs/s | compiled, M/s | designs/s |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|")
    for name in TRACES:
        print(row(golden, name))
    given, cluster = traces(golden, TRACES[0]), machine((4, 8, 8, 16), "ring")
    compiling = seconds(lambda: compile_program(given, {}, cluster))
    program = compile_program(given, {}, cluster)
    exact = seconds(lambda: execute_program(program, cluster))
    print(f"{TRACES[0]} on 4096 NPUs: {len(program.classes)} class, compiled in {1e3 * compiling:.0f} ms,", end=" ")
    print(f"executed in {1e3 * exact:.1f} ms")


if __name__ == "__main__":
    main()
