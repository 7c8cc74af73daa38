"""The writers by name: those of this package, and those that other packages register."""

from __future__ import annotations

from importlib.metadata import entry_points

from evo_libra.errors import InputError, unknown
from evo_libra.exchange import bill_writers, deepspeed_writer, graphviz, megatron_writer, netbox
from evo_libra.exchange.writer import Writer

ENTRY_POINTS = "evo_libra.writers"
"""Group under which a package registers its writers: objects of `Writer`, or tuples of them."""

PACKAGED = (
    *megatron_writer.WRITERS, *deepspeed_writer.WRITERS, *bill_writers.WRITERS, *graphviz.WRITERS, *netbox.WRITERS,
)  # fmt: skip


def _registered() -> list[Writer]:
    found: list[Writer] = []
    for entry in sorted(entry_points(group=ENTRY_POINTS), key=lambda entry: entry.name):
        loaded = entry.load()
        for writer in loaded if isinstance(loaded, tuple) else (loaded,):
            if not isinstance(writer, Writer):
                raise InputError(f"entry point '{entry.name}' of group {ENTRY_POINTS} is no writer but {writer!r:.80}")
            found.append(writer)
    return found


def writers() -> dict[str, Writer]:
    """Return every writer by its name; users cannot replace those of this package."""
    return {writer.name: writer for writer in (*_registered(), *PACKAGED)}


def writer_named(name: str) -> Writer:
    """Return a writer; an `InputError` says that there is none, with the nearest name."""
    known = writers()
    if name not in known:
        raise InputError(unknown("format", name, known))
    return known[name]
