"""The schema of an experiment file."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Population = Annotated[int, Field(ge=4, le=2**31)]
Evaluations = Annotated[int, Field(ge=1, le=2**62)]
Seed = Annotated[int, Field(ge=0, le=2**62)]
Values = Annotated[tuple[Any, ...], Field(min_length=1)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


class EngineSpec(_Strict):
    """An engine with a population of its own."""

    engine: str = Field(description="nsga2, nsga3, random or exhaustive")
    population: Population | None = Field(None, description="designs per generation")


class RunsSpec(_Strict):
    """A set of runs: every problem x changes x evaluations x engine x seed."""

    problem: str | Annotated[tuple[str, ...], Field(min_length=1)] | None = Field(
        None, description="the base problem, or several: a path relative to this file, a name, or module:object"
    )
    set: dict[str, Any] | None = Field(None, description="changes of all runs: key path of the problem file -> value")
    grid: dict[str, Values] | None = Field(
        None, description="key path -> values; every combination of them makes a run"
    )
    zip: dict[str, Values] | None = Field(
        None, description="key path -> values; the first ones together, the second ones together, ..."
    )
    list: Annotated[tuple[dict[str, Any], ...], Field(min_length=1)] | None = Field(
        None, description="mappings of key path -> value, one for each variant"
    )
    engines: str | Annotated[tuple[str | EngineSpec, ...], Field(min_length=1)] | None = Field(
        None, description="engines; the problem's own when left out"
    )
    evaluations: Evaluations | Annotated[tuple[Evaluations, ...], Field(min_length=1)] | None = Field(
        None, description="budgets; the problem's own when left out; a longer one goes on where a shorter one ended"
    )
    population: Population | None = Field(None, description="designs per generation; the problem's own when left out")
    seeds: Seed | Annotated[tuple[Seed, ...], Field(min_length=1)] | None = Field(
        None, description="seeds; the problem's own when left out"
    )
    repeats: int | None = Field(
        None, ge=1, le=100_000, description="runs for each seed, with that seed and those that follow it"
    )
    keep: Literal["front", "designs"] | None = Field(
        None, description="what is kept: the front, or every design that is evaluated as well"
    )


class ExperimentSpec(RunsSpec):
    """An experiment file."""

    version: Literal[1] = Field(1, description="version of this format")
    name: str | None = Field(
        None, min_length=1, max_length=80, description="what results call it; else the file's name"
    )
    description: str = Field("", description="for people")
    include: str | tuple[str, ...] = Field(
        (), description="files that this one begins with, relative to it; what this one says wins"
    )
    checkpoint_s: Annotated[float, Field(gt=0, le=86_400)] = Field(1.0, description="seconds between checkpoints")
    runs: Annotated[dict[str, RunsSpec], Field(min_length=1)] | None = Field(
        None, description="named sets of runs; each takes what it leaves out from the top of the file"
    )
