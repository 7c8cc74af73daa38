"""What reads a file of another program, and what it finds there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from evo_libra.exchange.gpu_node import GpuNode
from evo_libra.files.source import Source

PARTS = ("generator", "training", "parallelism")
"""Mappings of a `Draft`, by their names in a workload of a problem file."""


@dataclass(frozen=True)
class Draft:
    """What one file says of a problem; several files make a problem together.

    Attributes
    ----------
    generator, training, parallelism : keys of these parts of a workload.
    npus, npu : how many NPUs there are, and which accelerator of the catalogue they are; None where it is not said.
    node : a server of GPUs, which is the first dimension of the network.
    bus : ranks, and bus bandwidth in B/s that their collectives reach with large messages.
    suggested : part, key and value that hold where no file says another one, and what is then assumed.
    left : keys that were left out, a sentence each.
    assumed : figures that the file leaves to its program, a sentence each.
    """

    generator: Mapping[str, Any] = field(default_factory=dict)
    training: Mapping[str, Any] = field(default_factory=dict)
    parallelism: Mapping[str, int] = field(default_factory=dict)
    npus: int | None = None
    npu: str | None = None
    node: GpuNode | None = None
    bus: tuple[int, float] | None = None
    suggested: tuple[tuple[str, str, Any, str], ...] = ()
    left: tuple[str, ...] = ()
    assumed: tuple[str, ...] = ()


@dataclass(frozen=True)
class Reader:
    """A format of another program.

    Attributes
    ----------
    name : what ``--format`` calls it.
    reads : what it reads, for the reference.
    recognise : whether a source is of this format, by its content. It gets any data and raises nothing.
    read : reads a source; an `InputError` names line and key of every mistake.
    parse : makes a source of text and the name of its file; None for YAML and JSON.
    mark : what a text has that is meant to be of this format, so that a mistake in it is told; None where any may be.
    samples : small texts of this format, for `evo_libra.exchange.conformance`.
    """

    name: str
    reads: str
    recognise: Callable[[Source], bool]
    read: Callable[[Source], Draft]
    samples: tuple[str, ...]
    parse: Callable[[str, str], Source] | None = None
    mark: str | None = None


def without_none(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values that are known.

    >>> without_none({"tp": 8, "pp": None})
    {'tp': 8}
    """
    return {key: value for key, value in values.items() if value is not None}
