"""A partition as execution traces: what each worker computes, sends and receives, layer after layer."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from evo_libra.chakra.trace import Node
from evo_libra.chakra.write import compute_node, receive_node, send_node, write_traces
from evo_libra.errors import InputError
from evo_libra.plugins.repurpose.partition import Partition


def partition_traces(partition: Partition, *, batch: int = 1, value_bytes: int = 4) -> tuple[tuple[Node, ...], ...]:
    """Return the nodes of each worker for a batch of samples.

    A worker sends each other worker all that it reads of its values in one message per layer. It computes a layer once
    it has the values of the layer before, its own and those of others. Computations carry operations and the bytes of
    their weights, from which a roofline makes a time.

    Raises
    ------
    InputError : a worker has no neurons, so that its trace would be empty.
    """
    return tuple(_nodes(partition, worker, batch, value_bytes) for worker in range(partition.workers))


def write_partition(prefix: Path, partition: Partition, *, batch: int = 1, value_bytes: int = 4) -> list[Path]:
    """Write the traces of `partition_traces` to ``PREFIX.<worker>.et`` and return these paths.

    An `InputError` says that a file cannot be written, or is that of `partition_traces`.
    """
    return write_traces(prefix, partition_traces(partition, batch=batch, value_bytes=value_bytes))


def _nodes(partition: Partition, worker: int, batch: int, value_bytes: int) -> tuple[Node, ...]:
    found: list[Node] = []
    computed: tuple[int, ...] = ()
    for place, copies in enumerate(partition.matrices):
        name, size = f"layer-{place + 1}", copies * (value_bytes * batch)
        for other in np.flatnonzero(size[worker]).tolist():
            found.append(send_node(
                len(found), f"{name}.send", source=worker, destination=other, size=int(size[worker, other]), tag=place,
                data=computed,
            ))  # fmt: skip
        arrived = []
        for other in np.flatnonzero(size[:, worker]).tolist():
            arrived.append(len(found))
            found.append(receive_node(
                len(found), f"{name}.receive", source=other, destination=worker, size=int(size[other, worker]),
                tag=place, data=computed,
            ))  # fmt: skip
        if weights := int(partition.work[place, worker]):
            after = (*computed, *arrived)
            computed = (len(found),)
            operations, size_of_weights = 2 * weights * batch, value_bytes * weights
            found.append(compute_node(len(found), name, operations=operations, size=size_of_weights, data=after))
    if not found:
        raise InputError(f"worker {worker} has nothing to do; give it neurons, or take fewer workers")
    return tuple(found)
