"""Algorithms of collectives that a system file names by prefixes of traces."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from evo_libra.chakra.read import read_traces
from evo_libra.collective import Collective
from evo_libra.errors import InputError, Mistake
from evo_libra.files.mistakes import KeyPath
from evo_libra.files.source import Source, named_by, parse_source, read_text
from evo_libra.timing.own_algorithms import OwnAlgorithm, OwnAlgorithms, own_steps

OWN_KEYS = {collective: f"{collective.value}-implementation-custom" for collective in Collective}
"""Keys of algorithms of the user's own, which come before those of the simulator."""

PER_NODE = "per-node-custom-implementation"
"""The key of a file of algorithms by the id of a node, which come before all others."""


def read_own_algorithms(source: Source) -> OwnAlgorithms:
    """Return the algorithms that a system file names, with their traces.

    Paths are those of the working directory, as in ASTRA-sim, or lie next to the file. An InputError says that a key is
    no list of one prefix, a file cannot be read, a trace has nodes of other kinds, or there are several chunks.
    """
    if not isinstance(source.data, dict):
        return OwnAlgorithms()
    known, of_kind = dict[str, OwnAlgorithm](), dict[Collective, str]()
    for collective, key in OWN_KEYS.items():
        if key in source.data:
            name = _only(source, key)
            of_kind[collective] = _read(source, (key, 0), name, known)
    of_node = {node: _read(source, (PER_NODE,), name, known) for node, name in _by_node(source)}
    splits = source.data.get("preferred-dataset-splits")
    if known and splits != 1:
        raise InputError(source.mistake(("preferred-dataset-splits",), f"found {splits}; {_SPLITS}"))
    return OwnAlgorithms(known, of_kind, of_node)


_ID, _MOST_BYTES = re.compile(r"^([ \t]*)(\d+)([ \t]*:)", re.MULTILINE), 2**20
_SPLITS = "with an algorithm of one's own ASTRA-sim runs one chunk and waits for the others for ever; 1 is needed"


def _only(source: Source, key: str) -> str:
    assert isinstance(source.data, dict)  # noqa: S101 - the caller has looked
    found = source.data[key]
    if not isinstance(found, list) or len(found) != 1 or not isinstance(found[0], str):
        raise InputError(source.mistake((key,), f"found {found!r}; a list of one prefix of traces is needed"))
    return found[0]


def _by_node(source: Source) -> Iterator[tuple[int, str]]:
    """Yield the prefixes of nodes, from the file that the system file names."""
    name = source.data.get(PER_NODE) if isinstance(source.data, dict) else None
    if name is None:
        return
    if not isinstance(name, str):
        raise InputError(source.mistake((PER_NODE,), f"found {name!r}; the path of a file is needed"))
    path = _near(source, name)
    # Ids are numbers in ASTRA-sim's file, and keys are text in ours.
    file = parse_source(_ID.sub(r'\1"\2"\3', read_text(path, _MOST_BYTES)), str(path))
    if not isinstance(file.data, dict):
        raise InputError(file.mistake((), "must be a map of prefixes of traces by the id of a node"))
    for key, prefix in file.data.items():
        if not str(key).isdecimal() or not isinstance(prefix, str):
            raise InputError(
                file.mistake((key,), f"found {prefix!r}; a prefix of traces by the id of a node is needed")
            )
        yield int(str(key)), prefix


def _read(source: Source, path: KeyPath, name: str, known: dict[str, OwnAlgorithm]) -> str:
    if name not in known:
        prefix = _near(source, f"{name}.0.et").with_name(Path(name).name)
        try:
            traces = [nodes for _, nodes in read_traces(prefix)]
        except InputError as error:
            raise named_by(source, path, error) from None
        try:
            known[name] = OwnAlgorithm(name, tuple(map(own_steps, traces)))
        except ValueError as error:
            raise InputError(Mistake(str(error), str(prefix))) from None
    return name


def _near(source: Source, name: str) -> Path:
    """Return a path of the working directory, or next to a file where it is not there."""
    beside = Path(source.file).parent / name
    return beside if beside.exists() and not Path(name).exists() else Path(name)
