"""ASTRA-sim's files as a design and the time of a problem file, as far as these can say the same."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

from evo_libra.arrays import TERA
from evo_libra.astra_sim.cluster import ONE_AT_A_TIME, PEAK, dimension_algorithms, npu_bandwidth
from evo_libra.collective import Collective
from evo_libra.network.blocks.registry import BLOCK_NAMES
from evo_libra.network.fabric import Dimension, Fabric
from evo_libra.problem.file.spec import MAX_DIMENSIONS
from evo_libra.timing.collectives.phase import Implementation
from evo_libra.timing.fidelity import NATURAL
from evo_libra.timing.input_files.network_file import NetworkFile
from evo_libra.timing.input_files.system_file import SystemFile
from evo_libra.timing.names import ALGORITHMS, Scheduler
from evo_libra.timing.phase_dimensions import DIRECT


@dataclass(frozen=True)
class Imported:
    """A cluster of ASTRA-sim as a design, with bandwidths per NPU, and the keys of a problem file's time.

    `compute` is TFLOP/s of an NPU, None where the system file has none, or just what exported ones count by. `without`
    are sentences on what problem files cannot say.
    """

    fabric: Fabric
    time: Mapping[str, Any]
    compute: float | None
    without: tuple[str, ...]

    @property
    def technologies(self) -> tuple[str, ...]:
        """Names of the technologies, each once."""
        return tuple(dict.fromkeys(str(dimension.technology) for dimension in self.fabric.dimensions))


def read_cluster(network: NetworkFile, system: SystemFile) -> Imported:
    """Return a cluster of ASTRA-sim as a design with the time of a problem file.

    Dimensions of one latency are of one technology; otherwise each has its own.
    """
    found = [_algorithm(d, network, system) for d in range(len(network.npus))]
    algorithms, without = [algorithm for algorithm, _ in found], [text for _, texts in found for text in texts]
    latencies = [float(latency) for latency in network.latency]
    one = len(set(latencies)) == 1
    names = ["link" if one else f"dim{d}" for d in range(len(latencies))]
    dimensions = tuple(
        Dimension(block, npus, name, npu_bandwidth(bandwidth, block, npus, algorithm))
        for block, npus, bandwidth, name, algorithm in zip(
            network.block, network.npus, network.bandwidth, names, algorithms, strict=True
        )
    )
    asked, options = _algorithms(dimensions, algorithms)
    latency = latencies[0] if one else dict(zip(names, latencies, strict=True))
    time = {**_how(system), **asked, **_messages(dimensions, algorithms), "latency_ns": latency}
    if Collective.ALL_REDUCE not in system.system.implementations:
        without.append("there are no algorithms of an all-reduce; in a design they say what bandwidths mean")
    if len(dimensions) > MAX_DIMENSIONS:
        without.append(f"the network has {len(dimensions)} dimensions, a design has {MAX_DIMENSIONS} at most")
    compute = system.compute.peak / TERA if system.compute.roofline and system.compute.peak != PEAK else None
    if system.compute.replay:
        without.append("replay-only: in a problem file collectives are always timed")
    return Imported(Fabric(dimensions, options), time, compute, tuple(without))


def _how(system: SystemFile) -> dict[str, Any]:
    """Return the keys of a problem's time but for latency and algorithms."""
    found: dict[str, Any] = {"model": "themis" if system.scheduler.greedy else "astra"}
    found["chunks"] = system.system.splits
    if system.scheduler is not Scheduler.BASELINE:
        found["scheduler"] = system.scheduler.key
    if system.policy is not system.scheduler.default_policy:
        found["policy"] = system.policy.key
    found["endpoint_delay_ns"] = int(system.system.overheads.endpoint)
    if system.system.overheads.memory < inf:
        found["local_memory_GBps"] = system.system.overheads.memory
    found["active_chunks"] = system.system.active
    found["collective_optimization"] = "local-bandwidth-aware" if system.system.shrinking else "baseline"
    return found


def _algorithms(
    dimensions: Sequence[Dimension], algorithms: Sequence[int]
) -> tuple[dict[str, Any], tuple[tuple[str, str], ...]]:
    """Return the key of the algorithms, if one is needed, and the option of the design where blocks have several."""
    of_block: dict[int, set[int]] = {}
    for dimension, algorithm in zip(dimensions, algorithms, strict=True):
        of_block.setdefault(dimension.block, set()).add(algorithm)
    if any(len(several) > 1 for several in of_block.values()):
        return {"algorithms": "search"}, (("algorithms", ",".join(ALGORITHMS[a] for a in algorithms)),)
    chosen = {
        BLOCK_NAMES[block]: ALGORITHMS[a] for block, some in of_block.items() for a in some if a != NATURAL[block]
    }
    return ({"algorithms": chosen} if chosen else {}), ()


def _messages(dimensions: Sequence[Dimension], algorithms: Sequence[int]) -> dict[str, Any]:
    """Return the key of messages where a switch runs direct, whose links are a part of what an NPU sends."""
    direct = any(
        BLOCK_NAMES[dimension.block] == "switch" and algorithm == DIRECT
        for dimension, algorithm in zip(dimensions, algorithms, strict=True)
    )
    return {"message_bandwidth": "link"} if direct else {}


def _algorithm(d: int, network: NetworkFile, system: SystemFile) -> tuple[int, list[str]]:
    """Return the algorithm that a problem would name for a dimension, and what it does otherwise there."""
    block, npus = network.block[d], network.npus[d]
    rows = {c: row[d] if d < len(row) else None for c, row in system.system.implementations.items()}
    names = [NATURAL[block], *(a for a in range(len(ALGORITHMS)) if a != NATURAL[block])]
    names = names if BLOCK_NAMES[block] != "ring" else names[:1]
    candidates = {a: list(_mismatches(d, block, npus, a, rows)) for a in names}
    # The all-reduce decides what a bandwidth means; of what is alike in that, the nearest, and of equals the first.
    row = rows.get(Collective.ALL_REDUCE)
    other = {a: row not in (None, dimension_algorithms(a, block, npus)[Collective.ALL_REDUCE]) for a in names}
    best = min(names, key=lambda a: (other[a], len(candidates[a])))
    return best, candidates[best]


def _mismatches(d: int, block: int, npus: int, algorithm: int, rows: Mapping[Collective, Any]) -> Iterator[str]:
    expected = dimension_algorithms(algorithm, block, npus)
    for collective, row in rows.items():
        if row is None:
            yield f"dimension {d} is not used by {collective.called}; in a design all dimensions are"
        elif row != expected[collective]:
            yield (
                f"dimension {d}, a {BLOCK_NAMES[block]} of {npus} NPUs: its {collective.value} runs {_name(row)}; what "
                f"a problem file calls {ALGORITHMS[algorithm]} would run {_name(expected[collective])}"
            )
        elif row == ONE_AT_A_TIME:
            yield (
                f"dimension {d}, a {BLOCK_NAMES[block]} of {npus} NPUs: its {collective.value} runs {_name(row)}, one "
                "message after the other; in a design an NPU sends all of them at once, and latency counts once"
            )


def _name(row: Implementation) -> str:
    return f"{row.algorithm.value}{row.window or ''}"


@dataclass(frozen=True)
class TraceWorkload:
    """Traces and their groups, as a problem file names them, and the TFLOP/s and GB/s of a roofline.

    Without a roofline, recorded times count.
    """

    prefix: str
    groups: str | None
    roofline: tuple[float, float] | None

    @property
    def text(self) -> str:
        """The workload of a problem file."""
        keys = {"trace": json.dumps(self.prefix)}
        if self.groups is not None:
            keys["groups"] = json.dumps(self.groups)
        if self.roofline is not None:
            keys |= dict(
                zip(("compute_TFLOPS", "memory_GBps"), (f"{rate:.15g}" for rate in self.roofline), strict=True)
            )
        return "  - " + "\n    ".join(f"{key}: {value}" for key, value in keys.items()) + "\n"


def problem_texts(
    found: Imported, name: str, catalog_file: str, traces: TraceWorkload | None = None
) -> tuple[str, str]:
    """Return a problem file with the network pinned and traces or a workload to begin with, and its catalogue.

    ASTRA-sim's files have no prices: the catalogue has 0 for all, and the problem asks for time alone. The path of the
    catalogue is relative to the problem file.
    """
    npus = found.fabric.npus
    shape = str(Fabric(found.fabric.dimensions))
    rate = 234 if found.compute is None else found.compute
    options = "".join(f" {key}={value}" for key, value in found.fabric.options)
    workload = f"""\
# ASTRA-sim's files of a cluster have no workload; put yours here.
workloads:
  - model: gpt-3-libra
    parallelism: {{tp: 1}}
    compute_TFLOPS: {rate:.15g}
"""
    if traces is not None:
        workload = f"workloads:\n{traces.text}"
    problem = f"""\
# A cluster of ASTRA-sim: its network and how collectives run on it. It is evaluated by
#   evo-libra evaluate THIS_FILE --design '{shape}{options}'
version: 1
name: {json.dumps(name)}
npus: {npus}
fabric:
  catalog: {json.dumps(catalog_file)}
  max_dimensions: {len(found.fabric.dimensions)}
  # Without the shape, every shape is searched.
  shape: {shape}
{workload}time:
{time_text(found.time)}objectives: [time]                     # with cost, when the catalogue has prices
"""
    rows = "".join(f"  {name_}: {_PRICES}\n" for name_ in found.technologies)
    catalog = f"""\
name: {json.dumps(name)}
source: ASTRA-sim's network file, which has no prices; 0 stands for them
technologies:
{rows}"""
    return problem, catalog


_PRICES = "{link_usd_per_GBps: 0, switch_usd_per_GBps: 0, nic_usd_per_GBps: 0}"


def time_text(time: Mapping[str, Any]) -> str:
    """Return the keys of a problem's time as its file writes them, below ``time:``."""
    rows = []
    for key, value in time.items():
        text = f"{{{', '.join(f'{k}: {v}' for k, v in value.items())}}}" if isinstance(value, dict) else str(value)
        rows.append(f"  {key}: {text}\n")
    return "".join(rows)
