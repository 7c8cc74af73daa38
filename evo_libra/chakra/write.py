"""Traces to files, in schema 0.0.4."""

from __future__ import annotations

import gzip
import uuid
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import MappingProxyType
from typing import Any

from evo_libra.chakra.schema import OLDER_SCALARS, TODAY, messages
from evo_libra.chakra.trace import Attribute, CollectiveType, Kind, Metadata, Node, Tensors, Value
from evo_libra.errors import unusable


def write_trace(path: Path, metadata: Metadata, nodes: Iterable[Node]) -> None:
    """Write a trace of schema 0.0.4, so that it is there whole or not at all.

    Nodes that `read.read_nodes` returns of a trace of 0.0.4 become the bytes that they were read from. The same nodes
    always become the same bytes, gzipped too. A name that ends in ``.gz`` makes it gzipped, which ASTRA-sim's own
    reader does not take. Raises `InputError` if the file cannot be written.
    """
    try:
        temporary = path.with_name(f".tmp-{uuid.uuid4().hex}.et")
        try:
            with ExitStack() as opened:
                file = opened.enter_context(temporary.open("xb"))
                packed = path.name.endswith(".gz")
                # Neither the name nor the time: the same nodes become the same bytes.
                stream = opened.enter_context(gzip.GzipFile("", "wb", fileobj=file, mtime=0)) if packed else file
                stream.write(framed(encode_metadata(metadata)))
                stream.writelines(framed(encode_node(node)) for node in nodes)
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise unusable(path, "written", error) from None


def write_traces(prefix: Path, traces: Sequence[Sequence[Node]]) -> list[Path]:
    """Write the trace of each NPU to ``PREFIX.<npu>.et`` and return these paths; errors are those of `write_trace`."""
    paths = [prefix.with_name(f"{prefix.name}.{npu}.et") for npu in range(len(traces))]
    for path, nodes in zip(paths, traces, strict=True):
        write_trace(path, Metadata(), nodes)
    return paths


def framed(message: bytes) -> bytes:
    r"""Return a message with its length before it.

    >>> framed(bytes(300))[:3]
    b'\xac\x02\x00'
    """
    digits, left = bytearray(), len(message)
    while left > 0x7F:  # noqa: PLR2004 - what seven bits hold
        digits.append(left & 0x7F | 0x80)
        left >>= 7
    return bytes((*digits, left)) + message


def encode_metadata(metadata: Metadata) -> bytes:
    """Return the message of a trace's metadata."""
    version = TODAY if metadata.version in OLDER_SCALARS else metadata.version
    message = messages(TODAY).metadata(version=version)
    for name, attribute in metadata.attributes.items():
        _add_attribute(message.attr, name, attribute)
    return bytes(message.SerializeToString())


def encode_node(node: Node) -> bytes:
    """Return the message of a node."""
    message = messages(TODAY).node(
        id=node.id,
        name=node.name,
        type=node.kind.value,
        ctrl_deps=node.control,
        data_deps=node.data,
        start_time_micros=node.start,
        duration_micros=node.duration,
        inputs=_tensors(node.inputs),
        outputs=_tensors(node.outputs),
    )
    for name, attribute in node.attributes.items():
        _add_attribute(message.attr, name, attribute)
    return bytes(message.SerializeToString())


def _tensors(tensors: Tensors | None) -> dict[str, str] | None:
    return None if tensors is None else {"values": tensors.values, "shapes": tensors.shapes, "types": tensors.types}


def _add_attribute(attributes: Any, name: str, attribute: Attribute) -> None:  # noqa: ANN401 - messages of protobuf
    message = attributes.add(name=name, doc_string=attribute.doc)
    if attribute.type.endswith("_list"):
        values = getattr(message, attribute.type)
        values.SetInParent()  # an empty list is a value, too
        values.values.extend(attribute.value)
    elif attribute.type:
        setattr(message, attribute.type, attribute.value)


_TYPES = {
    "is_cpu_op": "bool",
    "num_ops": "int64",
    "tensor_size": "uint64",
    "comm_type": "int64",
    "comm_size": "int64",
    "comm_src": "int32",
    "comm_dst": "int32",
    "comm_tag": "int32",
    "pg_name": "string",
    "involved_dim": "bool_list",
}

Ids = Sequence[int]


def compute_node(
    number: int,
    name: str,
    *,
    operations: int | None = None,
    size: int | None = None,
    duration: int = 0,
    on_cpu: bool = False,
    **after: Ids,
) -> Node:
    """Return a computation; like the other nodes it waits for those of the ids in `control` and `data`.

    A roofline makes a time of its operations and the bytes that they move, both or none; elsewhere it takes its
    duration in microseconds. `on_cpu` says that it takes the NPU's CPU and not its accelerator.

    >>> compute_node(3, "gemm", operations=2 * 4096**3, size=6 * 4096**2).attributes["num_ops"]
    Attribute(type='int64', value=137438953472, doc='')
    """
    values = {"is_cpu_op": on_cpu, "num_ops": operations, "tensor_size": size}
    return _node(number, name, Kind.COMP, values, duration, **after)


def collective_node(
    number: int,
    name: str,
    collective: CollectiveType,
    size: int,
    *,
    group: str = "",
    involved: Sequence[bool] | None = None,
    **after: Ids,
) -> Node:
    """Return a collective.

    Each NPU brings `size` bytes, for an all-gather those of its shard. An empty group is that of all NPUs;
    `involved` dimensions take part; None for all dimensions; ASTRA-sim takes the first four.
    """
    values: dict[str, Value | None] = {"is_cpu_op": False, "comm_type": collective.value, "comm_size": size}
    values |= {"pg_name": group or None, "involved_dim": None if involved is None else tuple(involved)}
    return _node(number, name, Kind.COMM_COLL, values, **after)


def send_node(number: int, name: str, *, source: int, destination: int, size: int, tag: int, **after: Ids) -> Node:
    """Return the sending of a message, which the receive of the same source, destination, size and tag awaits.

    The tag tells messages between the same NPUs apart.
    """
    return _node(number, name, Kind.COMM_SEND, _message(source, destination, size, tag), **after)


def receive_node(number: int, name: str, *, source: int, destination: int, size: int, tag: int, **after: Ids) -> Node:
    """Return the receipt of a message; the parameters are those of `send_node`."""
    return _node(number, name, Kind.COMM_RECV, _message(source, destination, size, tag), **after)


def load_node(number: int, name: str, size: int, **after: Ids) -> Node:
    """Return a load of some bytes from remote memory."""
    return _node(number, name, Kind.MEM_LOAD, {"is_cpu_op": False, "tensor_size": size}, **after)


def store_node(number: int, name: str, size: int, **after: Ids) -> Node:
    """Return a store of some bytes to remote memory."""
    return _node(number, name, Kind.MEM_STORE, {"is_cpu_op": False, "tensor_size": size}, **after)


def _message(source: int, destination: int, size: int, tag: int) -> Mapping[str, Value | None]:
    return {"is_cpu_op": False, "comm_src": source, "comm_dst": destination, "comm_size": size, "comm_tag": tag}


def _node(
    number: int, name: str, kind: Kind, values: Mapping[str, Value | None], duration: int = 0, /,
    *, control: Ids = (), data: Ids = (),
) -> Node:  # fmt: skip
    given = {key: Attribute(_TYPES[key], value) for key, value in values.items() if value is not None}
    return Node(
        id=number, name=name, kind=kind, control=tuple(control), data=tuple(data), start=0, duration=duration,
        attributes=MappingProxyType(given),
    )  # fmt: skip
