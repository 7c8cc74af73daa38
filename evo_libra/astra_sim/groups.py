"""Where the process groups of workloads run their collectives in ASTRA-sim."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from evo_libra.arrays import IntArray
from evo_libra.workload.parallelism import ALL, lay_groups, members_of, parts_of
from evo_libra.workload.training_trace import DimensionGroup, GroupPlace, ListedGroup
from evo_libra.workload.workload import Workload


@dataclass(frozen=True)
class ExportedGroup:
    """A process group of a workload.

    Attributes
    ----------
    extent : NPUs of each dimension in the group.
    place : where its collectives run.
    lists : (N,) number of the member list of each NPU, where there are any; else empty.
    """

    extent: tuple[int, ...]
    place: GroupPlace
    lists: IntArray

    @property
    def npus(self) -> int:
        """NPUs in the group."""
        return int(np.prod(self.extent))


@dataclass(frozen=True)
class Grouping:
    """The process groups of all workloads.

    Attributes
    ----------
    of_workload : those of each workload that run collectives and have more than one NPU, by name.
    members : NPUs of each communicator group, by the name that traces have for it.
    """

    of_workload: tuple[Mapping[str, ExportedGroup], ...]
    members: Mapping[str, tuple[int, ...]]


def group(npus: Sequence[int], workloads: Sequence[tuple[Workload, Mapping[str, int]]]) -> Grouping:
    """Place the process groups of workloads.

    A group that has one NPU or all of each dimension runs over these dimensions, as the world's collectives do. Another
    one has member lists; the same lists serve all workloads.

    Parameters
    ----------
    npus : sizes of the dimensions.
    workloads : with the degrees of their process groups, the innermost first.
    """
    sizes, members = np.array(npus), dict[str, tuple[int, ...]]()
    known: dict[tuple[tuple[int, ...], ...], IntArray] = {}
    found = []
    for workload, degrees in workloads:
        laid = {name: degree for name, degree in degrees.items() if name != ALL and parts_of(name) == (name,)}
        extents = lay_groups(sizes[:, None], np.array(list(laid.values()), dtype=np.int64))[0][:, :, 0]
        placed = {}
        for name in workload.groups:
            parts = [] if name == ALL else [list(laid).index(part) for part in parts_of(name)]
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


def _add_lists(members: dict[str, tuple[int, ...]], rows: IntArray) -> IntArray:
    """Name some member lists; return the number of the list of each NPU."""
    first = len(members) + 1
    for number, row in enumerate(rows.tolist(), first):
        members[str(number)] = tuple(row)
    lists = np.empty(rows.size, dtype=np.int64)
    lists[rows] = np.arange(first, first + len(rows))[:, None]
    return lists
