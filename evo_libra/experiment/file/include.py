"""Experiment files that begin with others."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from evo_libra.errors import InputError
from evo_libra.files.mistakes import KeyPath
from evo_libra.files.source import Source, read_source
from evo_libra.files.yaml_reader import Position

_KEY = "include"


def read_with_includes(path: Path, above: tuple[Path, ...] = ()) -> Source:
    """Read a file and those it includes; mappings are merged key by key, of anything else the including file's stays.

    Raises
    ------
    InputError : a file cannot be read, or includes itself.
    """
    source = read_source(path)
    names = source.data.get(_KEY) if isinstance(source.data, dict) else None
    if names is None:
        return source
    merged: Source | None = None
    for index, name in enumerate(names if isinstance(names, list) else [names]):
        if not isinstance(name, str):
            return source  # the schema says what is wrong
        place: KeyPath = (_KEY, index) if isinstance(names, list) else (_KEY,)
        other = path.parent / name
        if not os.path.isfile(other):  # noqa: PTH113 - false for what cannot be the name of a file
            raise InputError(source.mistake(place, f"there is no file {other}"))
        if other.resolve() in [one.resolve() for one in (*above, path)]:
            raise InputError(source.mistake(place, f"'{name}' includes itself"))
        part = _without_key(read_with_includes(other, (*above, path)))
        merged = part if merged is None else _merged(merged, part)
    return source if merged is None else _merged(merged, source)


def folder_of(source: Source, path: KeyPath) -> Path:
    """Return the folder of the file in which a value was written; paths in the value are relative to it."""
    place = next(source.places[path[:n]] for n in range(len(path), -1, -1) if path[:n] in source.places)
    return Path(place.file).parent


def _without_key(source: Source) -> Source:
    if not isinstance(source.data, dict):
        return source
    data = {key: value for key, value in source.data.items() if key not in (_KEY, "name")}
    return replace(source, data=data)


def _merged(base: Source, over: Source) -> Source:
    places: dict[KeyPath, Position] = dict(base.places)
    data = _join(base.data, over.data, (), places, over.places)
    return Source(over.file, data, {**places, (): over.places[()]})


def _join(
    base: Any,  # noqa: ANN401 - data of a file
    over: Any,  # noqa: ANN401 - the same
    path: KeyPath,
    places: dict[KeyPath, Position],
    new: Mapping[KeyPath, Position],
) -> Any:  # noqa: ANN401 - the same
    if isinstance(base, dict) and isinstance(over, dict):
        # Where the including file has all keys, their order is its own: of process groups it means something.
        joined = dict.fromkeys(over) if base.keys() <= over.keys() else dict(base)
        for key, value in over.items():
            joined[key] = _join(base[key], value, (*path, key), places, new) if key in base else value
            if key not in base:
                _take(places, new, (*path, key))
        return joined
    for known in [known for known in places if known[: len(path)] == path]:
        del places[known]
    _take(places, new, path)
    return over


def _take(places: dict[KeyPath, Position], new: Mapping[KeyPath, Position], path: KeyPath) -> None:
    places |= {known: place for known, place in new.items() if known[: len(path)] == path}
