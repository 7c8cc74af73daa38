"""Nodes that ASTRA-sim can run, with attributes of the types that each version of its reader takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from evo_libra.chakra.trace import Attribute, CollectiveType, Kind, Node, Value

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
    control: Ids = (),
    data: Ids = (),
) -> Node:
    """Return a computation.

    Parameters
    ----------
    number, name : its id and what it is called.
    operations, size : operations and the bytes they move, of which a roofline makes a time; both or none.
    duration : microseconds, which it takes where no roofline is used.
    on_cpu : whether it takes the NPU's CPU and not its accelerator.
    control, data : ids of the nodes that must finish first.

    >>> compute_node(3, "gemm", operations=2 * 4096**3, size=6 * 4096**2).attributes["num_ops"]
    Attribute(type='int64', value=137438953472, doc='')
    """
    values = {"is_cpu_op": on_cpu, "num_ops": operations, "tensor_size": size}
    return _node(number, name, Kind.COMP, values, control, data, duration)


def collective_node(
    number: int,
    name: str,
    collective: CollectiveType,
    size: int,
    *,
    group: str = "",
    involved: Sequence[bool] | None = None,
    control: Ids = (),
    data: Ids = (),
) -> Node:
    """Return a collective.

    Parameters
    ----------
    number, name : its id and what it is called.
    collective : what it does.
    size : bytes that each NPU brings; for an all-gather those of its shard.
    group : name of its communicator group; empty for all NPUs.
    involved : whether each dimension of the network takes part, where all NPUs do; None for all dimensions, of which
        ASTRA-sim takes the first four.
    control, data : ids of the nodes that must finish first.
    """
    values: dict[str, Value | None] = {"is_cpu_op": False, "comm_type": collective.value, "comm_size": size}
    values |= {"pg_name": group or None, "involved_dim": None if involved is None else tuple(involved)}
    return _node(number, name, Kind.COMM_COLL, values, control, data)


def send_node(
    number: int,
    name: str,
    *,
    source: int,
    destination: int,
    size: int,
    tag: int,
    control: Ids = (),
    data: Ids = (),
) -> Node:
    """Return the sending of a message, which the receive of the same source, destination, size and tag awaits.

    Parameters
    ----------
    number, name : its id and what it is called.
    source, destination : NPUs.
    size : bytes.
    tag : tells messages between the same NPUs apart.
    control, data : ids of the nodes that must finish first.
    """
    return _node(number, name, Kind.COMM_SEND, _message(source, destination, size, tag), control, data)


def receive_node(
    number: int,
    name: str,
    *,
    source: int,
    destination: int,
    size: int,
    tag: int,
    control: Ids = (),
    data: Ids = (),
) -> Node:
    """Return the receipt of a message; the parameters are those of `send_node`."""
    return _node(number, name, Kind.COMM_RECV, _message(source, destination, size, tag), control, data)


def load_node(number: int, name: str, size: int, *, control: Ids = (), data: Ids = ()) -> Node:
    """Return a load of so many bytes from remote memory."""
    return _node(number, name, Kind.MEM_LOAD, {"is_cpu_op": False, "tensor_size": size}, control, data)


def store_node(number: int, name: str, size: int, *, control: Ids = (), data: Ids = ()) -> Node:
    """Return a store of so many bytes to remote memory."""
    return _node(number, name, Kind.MEM_STORE, {"is_cpu_op": False, "tensor_size": size}, control, data)


def _message(source: int, destination: int, size: int, tag: int) -> Mapping[str, Value | None]:
    ends = {"comm_src": source, "comm_dst": destination}
    return {"is_cpu_op": False, **ends, "comm_size": size, "comm_tag": tag}


def _node(
    number: int,
    name: str,
    kind: Kind,
    values: Mapping[str, Value | None],
    control: Ids,
    data: Ids,
    duration: int = 0,
) -> Node:
    given = {key: Attribute(_TYPES[key], value) for key, value in values.items() if value is not None}
    return Node(number, name, kind, tuple(control), tuple(data), 0, duration, attributes=MappingProxyType(given))
