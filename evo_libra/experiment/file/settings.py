"""The schema of an experiment file."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Population = Annotated[int, Field(ge=4, le=2**31)]
Evaluations = Annotated[int, Field(ge=1, le=2**62)]
Share = Annotated[float, Field(ge=0, le=0.5)]
Islands = Annotated[int, Field(ge=1, le=4096)]
Seed = Annotated[int, Field(ge=0, le=2**62)]
Values = Annotated[tuple[Any, ...], Field(min_length=1)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


class EngineSpec(_Strict):
    """An engine with a population of its own."""

    engine: str = Field(
        description="nsga2, nsga3, random, exhaustive, optimize, pymoo:NAME, deap:NAME, or one of your own (code)"
    )
    population: Population | None = Field(None, description="designs per generation")
    memetic: Share | None = Field(None, description="share of the evaluations that improve designs")
    islands: Islands | None = Field(None, description="searches side by side")


class RunsSpec(_Strict):
    """A set of runs: every problem x changes x evaluations x engine x seed."""

    problem: str | Annotated[tuple[str, ...], Field(min_length=1)] | None = Field(
        None, description="the base problem, or several: a path relative to this file, a name, or module:object (code)"
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
    seconds: Annotated[float, Field(gt=0, le=1e9)] | None = Field(
        None,
        description="of work, after which a run ends whatever its evaluations; where that is depends on the machine",
    )
    stagnation: Evaluations | None = Field(
        None, description="evaluations over which the hypervolume has to grow, or the run ends"
    )
    growth: Annotated[float, Field(ge=0, lt=1)] | None = Field(
        None, description="by how much of itself the hypervolume has to grow; 0.001 when left out"
    )
    gap: Annotated[float, Field(ge=0)] | None = Field(
        None, description="a run ends when its front is proven to be so near the best one, such as 0.01"
    )
    gap_every: Evaluations | None = Field(None, description="evaluations before the first proof; 10000 when left out")
    restarts: Annotated[int, Field(ge=0, le=10_000)] | None = Field(
        None, description="how often a run that stagnates is started anew instead of being ended"
    )
    start_from: str | tuple[str, ...] | None = Field(
        None, description="folders of runs, or files of fronts, whose designs a run starts from, relative to this file"
    )
    memetic: Share | None = Field(
        None, description="share of the evaluations that improve designs; what pays when left out, 0 for none"
    )
    islands: Islands | None = Field(None, description="searches side by side that exchange designs")
    workers: Annotated[int, Field(ge=1, le=4096)] | None = Field(
        None, description="processes of each run that evaluate one design at a time, for designs that take long"
    )
    timeout: Annotated[float, Field(gt=0, le=1e9)] | None = Field(
        None, description="seconds that a design may take in such a process; one that takes longer is infeasible"
    )
    asynchronous: bool | None = Field(
        None, description="tell the engine of each design when it is done, which leaves the order to chance"
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


METHOD = (
    "keep", "seconds", "stagnation", "growth", "gap", "gap_every", "restarts", "start_from", "memetic", "islands",
    "workers", "timeout", "asynchronous",
)  # fmt: skip
"""Keys that say how all runs of a set search, as `evo_libra.experiment.file.expansion.planned_run` takes them."""
