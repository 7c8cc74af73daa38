"""The parts of a workload that an export needs: its process groups, and the traces of one iteration."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_

import numpy as np

from evo_libra.arrays import NANO, IntArray
from evo_libra.astra_sim.cluster import ExportedGroup, laid_parts
from evo_libra.chakra.trace import CollectiveType, Kind, Node
from evo_libra.collective import Collective
from evo_libra.errors import InputError
from evo_libra.problem.time_models.loops import WeightedLoop
from evo_libra.workload.layers.workload import Layer
from evo_libra.workload.parallelism import Layout, members_of
from evo_libra.workload.step_traces.step_trace import stage_traces
from evo_libra.workload.step_traces.training_trace import training_nodes
from evo_libra.workload.training.races import PIPELINE

Communication = tuple[str, Collective | None, int]
"""Communication that is alike: process group, the collective, None for a message to the next stage, and bytes."""

ROUNDED = 0.5
"""ns that no figure shows."""


@dataclass(frozen=True)
class LoopTraces:
    """The traces of one iteration.

    Attributes
    ----------
    stages : the nodes that all NPUs of a stage of the pipeline run, where messages name stages and collectives of
        listed groups name the process group; one stage where there is no pipeline.
    pipelines : (N / p, p) the NPUs of each pipeline, by stage.
    rounded : ns by which whole nanoseconds make the computations of an NPU longer, where that is the most.
    """

    stages: tuple[tuple[Node, ...], ...]
    pipelines: IntArray
    rounded: float

    @property
    def communication(self) -> Counter[Communication]:
        """The number of times that an NPU runs equal operations, at most over all stages."""
        counts = (Counter(filter(None, map(communication_of, nodes))) for nodes in self.stages)
        return reduce(or_, counts)

    @property
    def begins_with_collective(self) -> bool:
        """Whether an NPU communicates at once, by a collective of dimensions."""
        return any(map(_begins_with_collective, self.stages))


def _begins_with_collective(nodes: Sequence[Node]) -> bool:
    sent = (Kind.COMM_COLL, Kind.COMM_SEND)
    first = [node for node in nodes if node.kind in sent and not (node.control or node.data)]
    node = min(first, key=lambda node: node.id, default=None)
    return node is not None and node.kind is Kind.COMM_COLL and "pg_name" not in node.attributes


def communication_of(node: Node) -> Communication | None:
    """Return what a collective or the sending of a message is; names of nodes end in their process group."""
    group = node.name.rpartition(".")[2]
    if node.kind is Kind.COMM_COLL:
        what = CollectiveType(int(str(node.attributes["comm_type"].value)))
        return group, Collective[what.name], int(str(node.attributes["comm_size"].value))
    return (group, None, int(str(node.attributes["comm_size"].value))) if node.kind is Kind.COMM_SEND else None


def groups_of(loop: WeightedLoop) -> dict[str, Layout]:
    """Return the layouts of the process groups of a workload's collectives.

    An `InputError` says that it is a trace already, or a training step without stages of layers.
    """
    workload = loop.workload
    if workload.unexported:
        raise InputError(workload.unexported)
    return {name: loop.layouts[name] for name in workload.groups if name != PIPELINE or workload.planned is None}


def traces_of(loop: WeightedLoop, placed: Mapping[str, ExportedGroup], npus: Sequence[int]) -> LoopTraces:
    """Return the traces of one iteration of a workload on dimensions of some NPUs; its groups have their places."""
    places = {name: where.place for name, where in placed.items()}
    step, layers = loop.workload.planned, loop.workload.layers
    if step is None:
        alone = np.arange(int(np.prod(npus)))[:, None]
        return LoopTraces((training_nodes(layers, loop.overlap, places),), alone, _rounded(layers))
    stages = stage_traces(*step, loop.degrees, places)
    parts, extents = laid_parts(np.array(npus), PIPELINE, loop.layouts[PIPELINE])
    rounded = max((stage.rounded for stage in stages), key=abs)
    return LoopTraces(tuple(stage.nodes for stage in stages), members_of(np.array(npus), extents, *parts), rounded)


def _rounded(layers: Sequence[Layer]) -> float:
    times = [phase.compute / NANO for layer in layers for phase in layer.phases]
    return sum(round(time) - time for time in times)
