"""Records of an execution trace, the same for every version of the schema."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType


class Kind(Enum):
    """Kind of a node; the values are those of schema 0.0.4."""

    INVALID = 0
    METADATA = 1
    MEM_LOAD = 2
    MEM_STORE = 3
    COMP = 4
    COMM_SEND = 5
    COMM_RECV = 6
    COMM_COLL = 7


NO_OPERATION = "is of type INVALID, which is no operation; the trace is damaged, or was not finished"
"""Message about a node without a kind."""


class CollectiveType(Enum):
    """Kind of a collective, as its attribute ``comm_type`` says; the values are those of schema 0.0.4."""

    ALL_REDUCE = 0
    REDUCE = 1
    ALL_GATHER = 2
    GATHER = 3
    SCATTER = 4
    BROADCAST = 5
    ALL_TO_ALL = 6
    REDUCE_SCATTER = 7
    REDUCE_SCATTER_BLOCK = 8
    BARRIER = 9


Value = float | int | bool | str | bytes | tuple[float, ...] | tuple[int, ...] | tuple[str, ...] | tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class Attribute:
    """A value by name; `type` is the schema's name of its field, such as ``int64`` or ``bool_list``.

    An attribute without a value has the type "" and the value "".
    """

    type: str
    value: Value
    doc: str = ""


@dataclass(frozen=True, slots=True)
class Tensors:
    """Inputs or outputs of a node, as JSON-like texts that nothing here interprets."""

    values: str = ""
    shapes: str = ""
    types: str = ""


@dataclass(frozen=True, slots=True)
class Node:
    """One operation of one NPU. Of the nodes that may run, the one with the least id goes first.

    `control` and `data` are ids of the nodes that must finish first; start and duration are microseconds, as recorded.
    """

    id: int
    name: str = ""
    kind: Kind = Kind.INVALID
    control: tuple[int, ...] = ()
    data: tuple[int, ...] = ()
    start: int = 0
    duration: int = 0
    inputs: Tensors | None = None
    outputs: Tensors | None = None
    attributes: Mapping[str, Attribute] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True)
class Metadata:
    """Header of a trace: the version of its schema, and attributes."""

    version: str = "0.0.4"
    attributes: Mapping[str, Attribute] = field(default_factory=lambda: MappingProxyType({}))
