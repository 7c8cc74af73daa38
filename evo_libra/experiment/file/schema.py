"""The schema of an experiment file; keys of settings come from `evo_libra.experiment.run.settings`."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, create_model

from evo_libra.experiment.run.settings import SETTINGS, Setting, asked_settings

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
