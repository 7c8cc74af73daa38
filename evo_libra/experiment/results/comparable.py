"""Which runs can be ranked against one another: those of one problem, what was varied on purpose aside."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from evo_libra.errors import InputError
from evo_libra.experiment.run.spec import problem_as_run
from evo_libra.experiment.store.folder import MANIFEST, RunFolder
from evo_libra.files.integrity import canonical_hash
from evo_libra.problem.objectives import MEASURES
from evo_libra.problem.problem import Problem

PER_ITERATION = tuple(measure.objective.column for measure in MEASURES.values() if measure.timed)
"""Objectives of one iteration, which is more or less work where another number of sequences is trained."""
_MEASURES = ("objectives", "tco")
_TIME = {"model": None, "weights": "absolute"}
_TRAINED = ("name", "model", "file", "trace", "groups", "generator", "weight")
_DEGREES = "parallelism"
_KEY = re.compile(r"[^.\[\]]+")


@dataclass(frozen=True)
class Subject:
    """What a run searched, of its manifest.

    Attributes
    ----------
    problem : the identity of its problem.
    source : where the problem came from, assignments included.
    objectives : columns that were minimised.
    folder : of the run; None where only its manifest is known.
    """

    problem: Mapping[str, Any]
    source: Mapping[str, Any]
    objectives: tuple[str, ...]
    folder: RunFolder | None = field(default=None, compare=False)

    @staticmethod
    def of_run(folder: RunFolder) -> Subject:
        """Return the subject of the run in a folder."""
        return replace(Subject.of(folder.read_json(MANIFEST)), folder=folder)

    @staticmethod
    def of(manifest: Mapping[str, Any]) -> Subject:
        """Return the subject of the run with this manifest."""
        columns = tuple(str(one["column"]) for one in manifest["objectives"])
        return Subject(manifest["problem"], manifest.get("source") or {}, columns)

    @property
    def assigned(self) -> set[str]:
        """The keys of the problem file that were set to other values."""
        return {str(one).partition("=")[0] for one in self.source.get("set") or ()}


def by_problem(subjects: Sequence[Subject]) -> list[list[int]]:
    """Return the places of runs that can be ranked against one another, together.

    They have the same objectives, measured in the same way, train the same models, and their problems are equal but for
    the values that one of them was given on purpose. Degrees of parallelism, NPUs and batch may be among these.
    """
    varied = set().union(*(subject.assigned for subject in subjects))
    found: dict[str, list[int]] = {}
    for place, subject in enumerate(subjects):
        found.setdefault(canonical_hash(_kind(subject, varied)), []).append(place)
    return list(found.values())


def differing(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    """Return the keys whose values differ in the identities of two problems."""
    keys = dict.fromkeys((*one, *other))
    return [key for key in keys if key != "technologies" and one.get(key) != other.get(key)]


def unlike(one: Subject | None, other: Subject | None) -> str:
    """Return why designs of two runs are not to be ranked against one another; empty where they may be."""
    if one is None or other is None or one == other:
        return ""
    if len(by_problem([one, other])) > 1:
        return "another problem"
    return "" if _work(one) == _work(other) else "an iteration is other work"


def sequences(subjects: Sequence[Subject]) -> list[float] | None:
    """Return how many sequences an iteration of each run trains, of its first workload; None where it is not known.

    Of several workloads the numbers of one run are all the same multiple of those of another run, or not known either.
    """
    if all(_work(subject) == _work(subjects[0]) for subject in subjects):
        return [1.0] * len(subjects)
    sizes = [_sizes(subject) for subject in subjects]
    if not sizes[0] or any(size is None or len(size) != len(sizes[0]) for size in sizes):
        return None
    known = [size for size in sizes if size is not None]
    shares = {tuple(one / size[0] for one in size) for size in known}
    return [float(size[0]) for size in known] if len(shares) == 1 else None


def _work(subject: Subject) -> tuple[Any, Any]:
    """Return what decides how much work an iteration is."""
    return subject.problem.get("npus"), subject.problem.get("workloads")


def _sizes(subject: Subject) -> list[int] | None:
    """Return the global batch of each workload; problems in Python, whose code would run, are not asked."""
    if subject.folder is None or subject.source.get("data") is None:
        return None
    try:
        problem = problem_as_run(subject.folder)
    except InputError:
        return None  # A file that the problem reads is gone, or is another one by now.
    loops = problem.time.loops if isinstance(problem, Problem) else ()
    sizes = [loop.size.figures["global_batch"] for loop in loops]
    return [size for size in sizes if size] if all(sizes) else None


def _kind(subject: Subject, varied: Iterable[str]) -> Any:  # noqa: ANN401 - plain data
    """Return what is the same in all runs that can be ranked against one another."""
    problem, time = subject.problem, subject.problem.get("time")
    workloads = problem.get("workloads")
    listed = workloads if isinstance(workloads, list | tuple) else ()
    return [
        list(subject.objectives),
        [problem.get(key) for key in _MEASURES],
        [time.get(key) for key in _TIME] if isinstance(time, Mapping) else [time, _TIME["weights"]],
        [_trained(one) for one in listed if isinstance(one, Mapping)],
        _rest(problem, varied),
    ]


def _trained(workload: Mapping[str, Any]) -> list[Any]:
    """Return what a workload trains, whatever the batch."""
    values = [workload.get(key) for key in _TRAINED]
    return [
        {key: part for key, part in value.items() if key != "batch"} if isinstance(value, Mapping) else value
        for value in values
    ]


def _rest(problem: Mapping[str, Any], varied: Iterable[str]) -> dict[str, Any]:
    """Return a problem without the values that are varied, and without figures that follow from them."""
    rest = copy.deepcopy(dict(problem))
    rest.pop("search", None)
    for key in varied:
        path = _KEY.findall(key)
        # The degrees of one workload belong together.
        path = path[: path.index(_DEGREES) + 1] if _DEGREES in path else path
        if path[:1] == ["fabric"]:
            rest.pop("technologies", None)
        _without(rest, path)
    return rest


def _without(data: Any, path: Sequence[str]) -> None:  # noqa: ANN401 - plain data
    for part in path[:-1]:
        if isinstance(data, list) and part.isdigit() and int(part) < len(data):
            data = data[int(part)]
        elif isinstance(data, dict) and part in data:
            data = data[part]
        else:
            return
    if isinstance(data, dict) and path:
        data.pop(path[-1], None)
    elif isinstance(data, list) and path and path[-1].isdigit() and int(path[-1]) < len(data):
        data[int(path[-1])] = None
