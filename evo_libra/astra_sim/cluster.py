"""From a design to what ASTRA-sim's files say of it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from evo_libra.arrays import IntArray, Population
from evo_libra.collective import Collective
from evo_libra.errors import InputError
from evo_libra.network.blocks.registry import BLOCKS
from evo_libra.network.routing import ROUTINGS
from evo_libra.timing.collectives.phase import Implementation
from evo_libra.timing.collectives.system import System
from evo_libra.timing.fidelity import Fidelity
from evo_libra.timing.input_files.network_file import NetworkFile
from evo_libra.timing.input_files.system_file import SystemFile
from evo_libra.timing.machine import ComputeModel
from evo_libra.timing.names import ASTRA_SCHEDULERS, CollectiveAlgorithm, Scheduler
from evo_libra.timing.phase_dimensions import OPTICAL, PHASE_BLOCK, link_bandwidth, runnable
from evo_libra.workload.parallelism import ALL, Layout, lay_groups, members_of, parts_of
from evo_libra.workload.trace_nodes import DimensionGroup, GroupPlace, ListedGroup

ONE_AT_A_TIME = Implementation(CollectiveAlgorithm.DIRECT, 1)
"""All-to-all with one message under way: an NPU with the bandwidth of one link then sends no more than that."""

PEAK = 1e12
"""FLOP/s of an NPU in exported files; their computations say in ns what they take, which these turn into operations."""


@dataclass(frozen=True)
class Cluster:
    """A design as ASTRA-sim's files say it; `dimensions` are those of the design that the network has."""

    network: NetworkFile
    system: SystemFile
    dimensions: tuple[int, ...]


def cluster_of(fidelity: Fidelity, design: Population) -> Cluster:
    """Return what ASTRA-sim's files say of a design, as the search timed it.

    A network file has one bandwidth for a dimension. If an all-to-all would need another one than the all-reduce, it
    runs `ONE_AT_A_TIME`. A scheduler that ASTRA-sim does not have is left out. An NPU computes 1 TFLOP/s at most. The
    design is a population of one, with its schedule.
    """
    schedule = design.schedule
    assert schedule is not None  # noqa: S101 - internal error, as a fidelity always makes one
    dimensions = tuple(np.flatnonzero(design.npus[:, 0] > 1).tolist())
    algorithm = np.broadcast_to(schedule.algorithm, design.npus.shape)
    block = PHASE_BLOCK[design.block]
    rows = [dimension_algorithms(*(int(a[d, 0]) for a in (algorithm, block, design.npus))) for d in dimensions]
    runs = runnable(algorithm, Collective.ALL_REDUCE, block, design.npus)
    bandwidth = link_bandwidth(design.bandwidth, runs, block, design.npus)
    arrays = (block, design.npus, bandwidth, fidelity.link_latency(design))
    network = NetworkFile(*(tuple(array[list(dimensions), 0].tolist()) for array in arrays))
    asked = tuple(Scheduler)[int(schedule.scheduler[0])]
    scheduler = asked if asked in ASTRA_SCHEDULERS else Scheduler.BASELINE
    system = System(
        {collective: tuple(row[collective] for row in rows) for collective in Collective},
        int(schedule.chunks[0]), fidelity.active, fidelity.shrinking, fidelity.overheads,
    )  # fmt: skip
    policy = fidelity.policy_of(scheduler)
    return Cluster(network, SystemFile(system, ComputeModel(PEAK, roofline=True), scheduler, policy), dimensions)


def check_blocks(design: Population, fidelity: Fidelity) -> None:
    """Refuse a design with a dimension that ASTRA-sim's files cannot say, by an `InputError` that names it."""
    for d in np.flatnonzero(design.npus[:, 0] > 1).tolist():
        block = BLOCKS[int(design.block[d, 0])]
        if block.divided or block.sited or block.timed_as == "tree":
            raise InputError(
                f"dimension {d} is a {block.name}; ASTRA-sim's network files have rings, fully connected dimensions "
                "and switches of 1:1, and the groups of a design lie on its dimensions as they are"
            )
        kit = fidelity.kits[int(design.technology[d, 0])] if fidelity.kits else None
        if kit is not None and kit.routing and ROUTINGS[kit.routing].hashed:
            raise InputError(f"dimension {d} hashes flows ({kit.routing}); messages of ASTRA-sim never share a link")
        if fidelity.ocs_setting and OPTICAL[design.block[d, 0]]:
            raise InputError(f"dimension {d} is an {block.name}; ASTRA-sim has no time.ocs_setting_us")


def dimension_algorithms(algorithm: int, block: int, npus: int) -> dict[Collective, Implementation]:
    """Return how ASTRA-sim has to run each collective in a dimension for which a design asks for an algorithm.

    Block and algorithm are indices into `evo_libra.network.blocks.registry.BLOCKS` and
    `evo_libra.timing.names.ALGORITHMS`.
    """
    place = np.array([[block]]), np.array([[npus]])
    runs = {collective: runnable(np.array([[algorithm]]), collective, *place) for collective in Collective}
    links = {collective: link_bandwidth(np.ones((1, 1)), run, *place) for collective, run in runs.items()}
    found = {c: Implementation(tuple(CollectiveAlgorithm)[int(run[0, 0])]) for c, run in runs.items()}
    if links[Collective.ALL_TO_ALL] < links[Collective.ALL_REDUCE]:
        found[Collective.ALL_TO_ALL] = ONE_AT_A_TIME
    return found


def npu_bandwidth(bandwidth: float, block: int, npus: int, algorithm: int) -> float:
    """Return the bandwidth of an NPU in a dimension from that of its links, both in B/s.

    Of numbers that differ in their last digits it is one whose links have just that bandwidth, if there is any, and the
    one of fewest digits. The algorithm is the one that the design asks for.
    """
    place = np.array([[block]]), np.array([[npus]])
    runs = runnable(np.array([[algorithm]]), Collective.ALL_REDUCE, *place)

    def of_link(npu: float) -> float:
        return float(link_bandwidth(np.array([[npu]]), runs, *place)[0, 0])

    near = bandwidth * round(1 / of_link(1.0))
    candidates = (float(f"{near:.15g}"), near, math.nextafter(near, 0.0), math.nextafter(near, math.inf))
    return next((npu for npu in candidates if of_link(npu) == bandwidth), near)


@dataclass(frozen=True)
class ExportedGroup:
    """A process group of a workload: where it runs, and (N,) the member list of each NPU, if it has any."""

    extent: tuple[int, ...]
    place: GroupPlace
    lists: IntArray

    @property
    def npus(self) -> int:
        """NPUs in the group."""
        return int(np.prod(self.extent))


@dataclass(frozen=True)
class Grouping:
    """The process groups of each workload that have several NPUs, by name, and the NPUs of each communicator group."""

    of_workload: tuple[Mapping[str, ExportedGroup], ...]
    members: Mapping[str, tuple[int, ...]]


def group(npus: Sequence[int], workloads: Sequence[Mapping[str, Layout]]) -> Grouping:
    """Place the process groups of workloads. Each has a layout: all groups around it, the innermost first.

    A group that has one NPU or all of each dimension runs over these dimensions, as the world's collectives do. Another
    one has member lists; the same lists serve all workloads.
    """
    sizes, members = np.array(npus), dict[str, tuple[int, ...]]()
    known: dict[tuple[tuple[int, ...], ...], IntArray] = {}
    found = []
    for layouts in workloads:
        placed = {}
        for name, layout in layouts.items():
            parts, extents = laid_parts(sizes, name, layout)
            extent = sizes if name == ALL else extents[parts].prod(axis=0)
            if extent.prod() == 1:
                continue
            if ((extent == 1) | (extent == sizes)).all():
                place: GroupPlace = DimensionGroup(tuple((extent > 1).tolist()))
                placed[name] = ExportedGroup(tuple(extent.tolist()), place, np.empty(0, dtype=np.int64))
                continue
            key = (tuple(parts), *map(tuple, extents[: max(parts) + 1].tolist()))
            if key not in known:
                known[key] = _add_lists(members, members_of(sizes, extents, *parts))
            placed[name] = ExportedGroup(tuple(extent.tolist()), ListedGroup(name), known[key])
        found.append(placed)
    return Grouping(tuple(found), members)


def laid_parts(npus: IntArray, name: str, layout: Layout) -> tuple[list[int], IntArray]:
    """Return the places of a process group in its layout, and (g, d) the NPUs of each dimension in each of those."""
    parts = [place for place, (part, _) in enumerate(layout) if part in parts_of(name)]
    degrees = np.array([degree for _, degree in layout], dtype=np.int64)
    return parts, lay_groups(npus[:, None], degrees)[0][:, :, 0]


def _add_lists(members: dict[str, tuple[int, ...]], rows: IntArray) -> IntArray:
    """Name some member lists; return the number of the list of each NPU."""
    first = len(members) + 1
    for number, row in enumerate(rows.tolist(), first):
        members[str(number)] = tuple(row)
    lists = np.empty(rows.size, dtype=np.int64)
    lists[rows] = np.arange(first, first + len(rows))[:, None]
    return lists
