"""The readers and writers by name: those of this package, and those that other packages register."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TypeVar

from evo_libra.errors import InputError, Mistake, unknown
from evo_libra.exchange import (
    bill_writers,
    calculon,
    deepspeed,
    graphviz,
    hugging_face,
    megatron_script,
    megatron_writer,
    nemo,
    netbox,
    nodes,
)
from evo_libra.exchange.formats import Chosen, Draft, Reader, Writer, Written
from evo_libra.files.source import Source, parse_source
from evo_libra.installed import entry_points_of

ENTRY_POINTS = "evo_libra.readers"
"""Group under which a package registers its readers: objects of `Reader`, or tuples of them."""

ENTRY_POINTS_OF_WRITERS = "evo_libra.writers"
"""The same of objects of `Writer`."""

Format = TypeVar("Format", Reader, Writer)

PACKAGED = (
    *calculon.READERS,
    *hugging_face.READERS,
    *megatron_script.READERS,
    *nemo.READERS,
    *deepspeed.READERS,
    *nodes.READERS,
)
PACKAGED_WRITERS = (
    *megatron_writer.WRITERS, *deepspeed.WRITERS, *bill_writers.WRITERS, *graphviz.WRITERS,
    *netbox.WRITERS,
)  # fmt: skip


def _registered(group: str, kind: type[Format]) -> list[Format]:
    found: list[Format] = []
    for entry in sorted(entry_points_of(group), key=lambda entry: entry.name):
        loaded = entry.load()
        for one in loaded if isinstance(loaded, tuple) else (loaded,):
            if not isinstance(one, kind):
                raise InputError(
                    f"entry point '{entry.name}' of group {group} is no {kind.__name__.lower()} but {one!r:.80}"
                )
            found.append(one)
    return found


def readers() -> dict[str, Reader]:
    """Return every reader by its name; users cannot replace those of this package."""
    return {reader.name: reader for reader in (*_registered(ENTRY_POINTS, Reader), *PACKAGED)}


def writers() -> dict[str, Writer]:
    """Return every writer by its name, likewise."""
    return {one.name: one for one in (*_registered(ENTRY_POINTS_OF_WRITERS, Writer), *PACKAGED_WRITERS)}


def write_as(name: str, chosen: Chosen) -> Written:
    """Return a design in a format.

    Raises
    ------
    InputError : there is no such format, or the design lacks something.
    """
    known = writers()
    if name not in known:
        raise InputError(f"--to: {unknown('format', name, known)}")
    return known[name].write(chosen)


def _parsed(text: str, file: str, parse: Callable[[str, str], Source]) -> Source | InputError:
    """Return a text as data, or the mistake in it."""
    try:
        return parse(text, file)
    except InputError as error:
        return error


def read_text_as(text: str, file: str, name: str | None = None) -> tuple[Reader, Draft]:
    """Return what a text says of a problem, and the format that it is in.

    Parameters
    ----------
    name : of the format; None to recognise it by the content.

    Raises
    ------
    InputError : there is no such format, no reader recognises the text, or the text is wrong.
    """
    known = readers()
    if name is not None and name not in known:
        raise InputError(unknown("format", name, known))
    wrong = None
    parse = cache(_parsed)  # most formats are YAML or JSON, which take long to parse
    for reader in known.values() if name is None else [known[name]]:
        source = parse(text, file, reader.parse or parse_source)
        if isinstance(source, InputError):
            if reader.mark is not None and reader.mark in text:
                raise source
            wrong = wrong or source
            continue
        if name is not None or reader.recognise(source):
            if not isinstance(source.data, dict):
                raise InputError(source.mistake((), "a mapping is needed"))
            return reader, reader.read(source)
    if name is not None and wrong is not None:
        raise wrong
    if wrong is not None and text.lstrip().startswith("{"):
        raise wrong
    raise InputError(Mistake(f"is of no known format; allowed: {', '.join(known)}", file))
