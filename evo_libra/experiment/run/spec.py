"""A run as it is planned: problem and settings, its identity, which follows from them, and its manifest."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from evo_libra.experiment.run.origin import Origin, build, code_of
from evo_libra.experiment.run.record import git_state, machine, plain_name, program, versions
from evo_libra.experiment.run.settings import SETTINGS, Settings, read_settings, searched, settings_json
from evo_libra.files.integrity import canonical_hash
from evo_libra.problem.file.spec import ordered, settable, with_stated_shares
from evo_libra.problem.protocol import SearchProblem, SearchSettings
from evo_libra.problem.question import Question, identified_question
from evo_libra.searching.generations import settle

_IDENTITY = ("problem_digest", "search", "hash")


@dataclass(frozen=True, kw_only=True)
class RunSpec(Settings):
    """A run: a problem and its settings.

    Attributes
    ----------
    name, problem : the problem's name, and its identity, digests of the files that it reads included.
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
    def question(self) -> Question:
        """The question that the problem asks."""
        return identified_question(self.problem)

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
        return {**values, "origin": self.origin.json(), "identity": identity}

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
    """An experiment: each of its runs once, with those that may share work next to each other."""

    name: str
    file: Path
    runs: tuple[RunSpec, ...]
    checkpoint_seconds: float


def run_of(origin: Origin, problem: SearchProblem | None = None, **settings: Any) -> RunSpec:  # noqa: ANN401 - as `Settings` has them
    """Return a run of a problem, built where it is not given; the problem chooses what the settings leave open.

    Raises an `InputError` where the problem cannot be built, or a setting is out of range.
    """
    problem = problem or build(origin)
    asked = {key: value for key, value in settings.items() if value is not None}
    if asked.get("asynchronous") or asked.get("workers"):
        asked = {"memetic": 0.0, **asked}  # an asynchronous search has no generation to improve
    own = {one.name: asked.get(one.name) for one in fields(SearchSettings)}
    chosen = {**asked, **asdict(settle(problem, _searched(asked), **own))}
    for name, value in chosen.items():
        SETTINGS[name].check(value)
    return RunSpec(name=problem.name, problem=dict(problem.identity()), origin=origin, **chosen)


def _searched(asked: Mapping[str, Any]) -> str:
    """Return the name of a setting that only a search has, such as islands; empty where none is asked for."""
    given = (one for one in SETTINGS.values() if one.of_searches and asked.get(one.name) not in (None, one.default))
    return next((one.option for one in given), "")


def manifest_of(spec: RunSpec, problem: SearchProblem, command: Sequence[str], folder: Path) -> dict[str, Any]:
    """Return problem, settings, versions, git state, machine and start of a run as JSON-able data.

    The command is the words of the command line that started the run; the folder is that of the run.
    """
    origin = spec.origin
    return {
        "problem": dict(spec.problem),
        "source": {
            **_source(origin),
            "data": None if origin.data is None else ordered(origin.data),
            "folder": origin.folder,
            "folder_from_run": os.path.relpath(origin.folder, folder.resolve()),
        },
        **_head(spec),
        **settings_json(spec),
        "experiment": spec.experiment,
        "objectives": [
            {key: getattr(one, key) for key in ("name", "column", "scale", "label")} for one in problem.objectives
        ],
        "program": program(),
        "versions": versions(),
        "git": git_state(),
        "machine": machine(),
        "command": list(command),
        "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }


def planned_json(spec: RunSpec) -> dict[str, Any]:
    """Return a run as the plan of its batch has it; a problem file is named, not copied."""
    folder = {} if spec.origin.data is not None else {"folder": spec.origin.folder}
    return {
        "id": spec.id, **_head(spec), **settings_json(spec, short=True), "source": {**_source(spec.origin), **folder},
    }  # fmt: skip


def _head(spec: RunSpec) -> dict[str, Any]:
    return {
        "name": spec.name, "label": spec.label, "hash": spec.hash, "search": spec.search, "question": spec.question,
    }  # fmt: skip


def _source(origin: Origin) -> dict[str, Any]:
    return {"problem": origin.name, "set": list(origin.assignments)}


def spec_of(manifest: Mapping[str, Any]) -> RunSpec:
    """Return the run that a manifest describes. Raises a KeyError where its version did not keep the problem's data."""
    source = manifest["source"]
    data = None if source["data"] is None else with_stated_shares(settable(source["data"]), manifest["problem"])
    return RunSpec(
        name=manifest["name"],
        problem=manifest["problem"],
        origin=Origin(source["problem"], tuple(source["set"]), data, source["folder"]),
        experiment=manifest["experiment"],
        label=manifest["label"],
        **read_settings(manifest),
    )
