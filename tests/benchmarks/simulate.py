"""What `simulate` takes for 1,024 NPUs with 10,000 nodes each, whose ranks exchange messages."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from time import process_time

from evo_libra.astra_sim.simulate import InputFiles, simulate
from evo_libra.chakra.trace import CollectiveType, Kind, Metadata, Node
from evo_libra.chakra.write import (
    collective_node,
    compute_node,
    encode_metadata,
    encode_node,
    framed,
    receive_node,
    send_node,
)
from evo_libra.workload.trace_nodes import between

TENSOR, STAGES, LAYERS = 8, 8, 40
MESSAGES = (Kind.COMM_SEND, Kind.COMM_RECV)
NAMES = ("all-reduce", "all-gather", "reduce-scatter", "all-to-all")


def nodes_of(npu: int, npus: int, count: int) -> Iterator[Node]:
    """Yield microbatches of a stage: each receives, computes layers with an all-reduce of its group, and sends."""
    stride = npus // STAGES
    stage, group = npu // stride, str(npu // TENSOR + 1)
    number, last = 0, list[int]()
    for microbatch in range(-(-count // (2 * LAYERS + 2))):
        message = {"size": 2**20, "tag": microbatch}
        if stage:
            yield receive_node(number, "activations", source=npu - stride, destination=npu, data=last, **message)
            number, last = number + 1, [number]
        for layer in range(LAYERS):
            yield compute_node(number, f"layer{layer}", duration=10 + stage % 3, data=last)
            reduce = CollectiveType.ALL_REDUCE
            yield collective_node(number + 1, f"sum{layer}", reduce, 2**20, group=group, data=[number])
            number, last = number + 2, [number + 1]
        if stage < STAGES - 1:
            yield send_node(number, "activations", source=npu, destination=npu + stride, data=last, **message)
            number += 1


def _moved(node: Node, places: int) -> Node:
    """Return a message between NPUs that are some places further."""
    ranks = {key: int(node.attributes[key].value) for key in ("comm_src", "comm_dst")}  # type: ignore[arg-type]
    return between(node, ranks["comm_src"] + places, ranks["comm_dst"] + places)


def write_inputs(folder: Path, npus: int, count: int) -> InputFiles:
    """Write the files of ASTRA-sim's command line."""
    for first in range(0, npus, TENSOR):
        nodes = [*nodes_of(first, npus, count)]
        packed = [framed(encode_node(node)) for node in nodes]
        for npu in range(first, first + TENSOR):
            with (folder / f"trace.{npu}.et").open("wb") as file:
                file.write(framed(encode_metadata(Metadata())))
                for node, data in zip(nodes, packed, strict=True):
                    file.write(framed(encode_node(_moved(node, npu - first))) if node.kind in MESSAGES else data)
    groups = {str(at + 1): list(range(at * TENSOR, (at + 1) * TENSOR)) for at in range(npus // TENSOR)}
    (folder / "groups.json").write_text(json.dumps(groups))
    network = {"topology": ["Switch"] * 2, "npus_count": [TENSOR, npus // TENSOR]}
    network |= {"bandwidth": [400.0, 50.0], "latency": [500.0, 1000.0]}
    (folder / "network.yml").write_text(json.dumps(network))
    system = {"preferred-dataset-splits": 4, "collective-optimization": "localBWAware", "local-mem-bw": 1600}
    system |= {f"{name}-implementation": ["ring", "ring"] for name in NAMES}
    (folder / "system.json").write_text(json.dumps(system))
    files = {"system": folder / "system.json", "network": folder / "network.yml", "groups": folder / "groups.json"}
    return InputFiles(folder / "trace", **files)


def main(npus: int, count: int) -> None:
    """Print the seconds of CPU time, and when the last NPU finishes."""
    with tempfile.TemporaryDirectory() as name:
        files = write_inputs(Path(name), npus, count)
        begin = process_time()
        stamps = list[tuple[float, str]]()
        done = simulate(files, lambda text: stamps.append((process_time() - begin, text)))
        total = process_time() - begin
        reading = next(at for at, text in stamps if text == "running the traces")
        print(f"{npus} NPUs x {count} nodes: {total:.1f} s, of which {reading:.1f} s reading", end="; ")
        print(f"{len(done.execution.program.classes)} classes, the last NPU ends at {done.execution.finish.max():g} ns")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:] or ("1024", "10000")))
