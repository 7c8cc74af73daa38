"""The schema of an experiment file, and how a file that begins with others is read.

Keys of settings come from `evo_libra.experiment.run.settings`.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, create_model

from evo_libra.errors import InputError
from evo_libra.experiment.run.settings import SETTINGS, Setting, asked_settings
from evo_libra.files.mistakes import KeyPath
from evo_libra.files.source import Source, read_source
from evo_libra.files.yaml_reader import Position

Seed = Annotated[int, Field(ge=0, le=2**62)]
Values = Annotated[tuple[Any, ...], Field(min_length=1)]
_OWN = ("engine", "evaluations", "seed")
"""Settings that a set of runs may have several values of, under keys of their own."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


def _bounded(setting: Setting) -> Any:  # noqa: ANN401 - a type
    if setting.low is None:
        return setting.asked
    return Annotated[setting.asked, Field(ge=setting.low, le=setting.high, lt=setting.below)]


def _keys(settings: list[Setting]) -> dict[str, Any]:
    return {one.name: (_bounded(one) | None, Field(None, description=one.help)) for one in settings}


_EngineKeys = create_model(
    "_EngineKeys", __base__=_Strict, **_keys([one for one in asked_settings() if one.per_engine])
)
_RunKeys = create_model(
    "_RunKeys", __base__=_Strict, **_keys([one for one in asked_settings() if one.name not in _OWN])
)
_EVALUATIONS = SETTINGS["evaluations"]
Evaluations = Annotated[int, Field(ge=_EVALUATIONS.low, le=_EVALUATIONS.high)]


class EngineSpec(_EngineKeys):
    """An engine with settings of its own."""

    engine: str = Field(description=SETTINGS["engine"].help)


class RunsSpec(_RunKeys):
    """A set of runs: every problem x changes x evaluations x engine x seed."""

    problem: str | Annotated[tuple[str, ...], Field(min_length=1)] | None = Field(
        None, description="the base problem, or several: a path relative to this file, a name, or module:object (code)"
    )
    set: dict[str, Any] | None = Field(None, description="changes of all runs: key path of the problem file -> value")
    grid: dict[str, Values] | None = Field(
        None, description="key path -> values; every combination of them makes a run"
    )
    zip: dict[str, Values] | None = Field(
        None,
        description="key path -> values; the first values of all keys make a run, the second values make another, ...",
    )
    list: Annotated[tuple[dict[str, Any], ...], Field(min_length=1)] | None = Field(
        None, description="mappings of key path -> value, one for each variant"
    )
    engines: str | Annotated[tuple[str | EngineSpec, ...], Field(min_length=1)] | None = Field(
        None, description="engines; the problem's own when left out"
    )
    evaluations: Evaluations | Annotated[tuple[Evaluations, ...], Field(min_length=1)] | None = Field(
        None,
        description="numbers of evaluations; the problem's own when left out; a larger one continues a smaller one",
    )
    seeds: Seed | Annotated[tuple[Seed, ...], Field(min_length=1)] | None = Field(
        None, description="seeds; the problem's own when left out"
    )
    repeats: int | None = Field(
        None, ge=1, le=100_000, description="runs for each seed, with that seed and the following ones; 1 when left out"
    )


class ExperimentSpec(RunsSpec):
    """An experiment file."""

    version: Literal[1] = Field(1, description="version of this format")
    name: str | None = Field(
        None, min_length=1, max_length=80, description="name of the experiment; the file's name when left out"
    )
    description: str = Field("", description="text for people")
    include: str | tuple[str, ...] = Field(
        (), description="files whose keys this file takes over, relative to it; a key of this file replaces theirs"
    )
    checkpoint_s: Annotated[float, Field(gt=0, le=86_400)] = Field(1.0, description="seconds between checkpoints")
    runs: Annotated[dict[str, RunsSpec], Field(min_length=1)] | None = Field(
        None, description="named sets of runs; each takes what it leaves out from the top of the file"
    )


SHARED = tuple(_RunKeys.model_fields)
"""Settings that all runs of a set share."""
_INCLUDE = "include"
_MOST_FILES = 100


def read_with_includes(path: Path, above: tuple[Path, ...] = (), read: Counter[str] | None = None) -> Source:
    """Read a file and those it includes; mappings are merged key by key, of anything else the including file's stays.

    Raises an `InputError` where a file cannot be read, or includes itself, or more than 100 files would be read.

    Parameters
    ----------
    above : the files that include this one; `read` : how often files were read, for all of them together.
    """
    source, read = read_source(path), Counter[str]() if read is None else read
    read[str(path)] += 1
    names = source.data.get(_INCLUDE) if isinstance(source.data, dict) else None
    if names is None:
        return source
    merged: Source | None = None
    for index, name in enumerate(names if isinstance(names, list) else [names]):
        if not isinstance(name, str):
            return source  # the schema says what is wrong
        place: KeyPath = (_INCLUDE, index) if isinstance(names, list) else (_INCLUDE,)
        other = path.parent / name
        if not os.path.isfile(other):  # noqa: PTH113 - false for what cannot be the name of a file
            raise InputError(source.mistake(place, f"there is no file {other}"))
        if other.resolve() in [one.resolve() for one in (*above, path)]:
            raise InputError(source.mistake(place, f"'{name}' includes itself"))
        if read.total() >= _MOST_FILES:
            raise InputError(
                source.mistake(place, f"more than {_MOST_FILES} files would be read, repeated ones included")
            )
        part = read_with_includes(other, (*above, path), read)
        if isinstance(part.data, dict):
            part = replace(part, data={key: one for key, one in part.data.items() if key not in (_INCLUDE, "name")})
        merged = part if merged is None else _merged(merged, part)
    return source if merged is None else _merged(merged, source)


def folder_of(source: Source, path: KeyPath) -> Path:
    """Return the folder of the file in which a value was written; paths in the value are relative to it."""
    place = next(source.places[path[:n]] for n in range(len(path), -1, -1) if path[:n] in source.places)
    return Path(place.file).parent


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
        # If the including file has all keys, their order is its own: of process groups it means something.
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
