"""A run as it is planned: problem and settings, and the identity that follows from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from evo_libra.experiment.run.origin import Origin, build, code_of
from evo_libra.experiment.run.provenance import canonical_hash
from evo_libra.experiment.run.record import plain_name
from evo_libra.experiment.run.settings import SETTINGS, Settings, searched
from evo_libra.problem.protocol import SearchSettings
from evo_libra.searching.generations import settle

_IDENTITY = ("problem_digest", "search", "hash")


@dataclass(frozen=True, kw_only=True)
class RunSpec(Settings):
    """A run: a problem and its settings.

    Attributes
    ----------
    name : of the problem.
    problem : the identity of the validated problem, digests of the files that it reads included.
    origin : how to build the problem.
    experiment, label : the experiment that the run belongs to, and what distinguishes the run from its neighbours;
        neither is part of the run's identity.
    """

    name: str
    problem: Mapping[str, Any]
    origin: Origin
    experiment: str = ""
    label: str = ""

    @cached_property
    def problem_digest(self) -> str:
        """Hash of the problem; see `evo_libra.experiment.run.origin.digest_of`."""
        return canonical_hash(self.problem)

    @cached_property
    def search(self) -> str:
        """Hash of problem and settings: runs that share it and the seed are one search of several lengths."""
        return canonical_hash({"problem": dict(self.problem), **searched(self, "search")})

    @cached_property
    def hash(self) -> str:
        """Hash of problem, settings and budget; with the seed it identifies the run."""
        return canonical_hash({"search": self.search, **searched(self, "budget")})

    @property
    def id(self) -> str:
        """The run's folder below the folder of results."""
        seconds = "" if self.seconds is None else f"-t{self.seconds:.9g}"
        return f"{plain_name(self.name)}/{self.stem}-e{self.evaluations}{seconds}-s{self.seed}"

    @property
    def stem(self) -> str:
        """The beginning of the names of all folders of one search."""
        return f"{plain_name(self.engine)}-{self.search[:8]}"

    @property
    def code(self) -> tuple[str, ...]:
        """Names of the run that are code, which building or searching its problem runs."""
        return code_of(self.origin.name if self.origin.data is None else "", self.engine)

    def varied(self, **changes: Any) -> RunSpec:  # noqa: ANN401 - as the fields are
        """Return a run of the same search with another seed, budget, experiment or label."""
        other = replace(self, **changes)
        other.__dict__["search"] = self.search  # known already, and long to compute
        return other

    def data(self) -> dict[str, Any]:
        """Return the run with its identity as JSON-able data; `RunSpec.of` reads it."""
        values = {one.name: getattr(self, one.name) for one in fields(self)}
        identity = {name: getattr(self, name) for name in _IDENTITY}
        return {**values, "origin": asdict(self.origin), "identity": identity}

    @staticmethod
    def of(data: Mapping[str, Any]) -> RunSpec:
        """Return the run that `data` described, with the identity that was computed there."""
        origin, values = dict(data["origin"]), {key: value for key, value in data.items() if key != "identity"}
        values |= {key: tuple(value) for key, value in values.items() if key in SETTINGS and isinstance(value, list)}
        spec = RunSpec(**{**values, "origin": Origin(**{**origin, "assignments": tuple(origin["assignments"])})})
        spec.__dict__.update(data.get("identity", {}))
        return spec


@dataclass(frozen=True)
class Experiment:
    """An experiment.

    Attributes
    ----------
    name : of the experiment, under which a folder of results keeps its batch.
    file : path of its file.
    runs : its runs, each once, with those that may share work next to each other.
    checkpoint_seconds : time between checkpoints.
    """

    name: str
    file: Path
    runs: tuple[RunSpec, ...]
    checkpoint_seconds: float


def run_of(origin: Origin, **settings: Any) -> RunSpec:  # noqa: ANN401 - as `Settings` has them
    """Return a run of a problem; the problem chooses what the settings leave out or have None for.

    Raises
    ------
    InputError : the problem cannot be built, or a setting is out of range.
    """
    problem = build(origin)
    asked = {key: value for key, value in settings.items() if value is not None}
    if asked.get("asynchronous") or asked.get("workers"):
        asked = {"memetic": 0.0, **asked}  # an asynchronous search has no generation to improve
    chosen = {**asked, **asdict(settle(problem, **{one.name: asked.get(one.name) for one in fields(SearchSettings)}))}
    for name, value in chosen.items():
        SETTINGS[name].check(value)
    return RunSpec(name=problem.name, problem=dict(problem.identity()), origin=origin, **chosen)
