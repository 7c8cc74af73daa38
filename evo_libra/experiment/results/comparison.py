"""Groups of runs that can be ranked against one another, with their fronts.

Runs can be ranked that are of one problem, what was varied on purpose aside. Their fronts are compared by hypervolume,
epsilon, coverage, and attainment over seeds.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import moocore
import numpy as np

from evo_libra.arrays import BoolArray, FloatArray
from evo_libra.errors import InputError
from evo_libra.experiment.store.folder import MANIFEST, RunFolder
from evo_libra.experiment.store.stored_runs import problem_as_run
from evo_libra.files.integrity import canonical_hash
from evo_libra.front.archive import front as non_dominated_in_order
from evo_libra.front.archive import non_dominated
from evo_libra.front.indicators import hypervolume, largest_factor
from evo_libra.problem.objectives import MEASURES
from evo_libra.problem.problem import Problem

PER_ITERATION = tuple(measure.objective.column for measure in MEASURES.values() if measure.timed)
"""Objectives of one iteration, which is more or less work where another number of sequences is trained."""
_MEASURES = ("objectives", "tco", "uncertainty")
_TIME = {"model": None, "weights": "absolute"}
_TRAINED = ("name", "model", "file", "trace", "groups", "generator", "weight")
_DEGREES = "parallelism"
_KEY = re.compile(r"[^.\[\]]+")


@dataclass(frozen=True)
class Subject:
    """The problem of a run: identity and source of its problem, and the columns that were minimised.

    The folder is that of the run; None where only its manifest is known.
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
    varied, found = set().union(*(subject.assigned for subject in subjects)), dict[str, list[int]]()
    for place, subject in enumerate(subjects):
        found.setdefault(canonical_hash(_kind(subject, varied)), []).append(place)
    return list(found.values())


def differing(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    """Return the keys whose values differ in the identities of two problems."""
    keys = dict.fromkeys(key for key in (*one, *other) if key != "technologies")
    return [key for key in keys if one.get(key) != other.get(key)]


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
    shares = {tuple(one / size[0] for one in size) for size in sizes if size}
    return [float(size[0]) for size in sizes if size] if len(shares) == 1 else None


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
    sizes = [loop.workload.size.figures["global_batch"] for loop in loops]
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
        problem.get("shares"),
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


_FOLLOWING = {"fabric": ("technologies",), "npu": ("technologies", "accelerator")}
"""Figures of a problem that follow from a key of its file."""


def _rest(problem: Mapping[str, Any], varied: Iterable[str]) -> dict[str, Any]:
    """Return a problem without the values that are varied, and without figures that follow from them."""
    rest = copy.deepcopy({key: value for key, value in problem.items() if key != "search"})
    for key in varied:
        path = _KEY.findall(key)
        # The degrees of one workload belong together.
        path = path[: path.index(_DEGREES) + 1] if _DEGREES in path else path
        for figures in _FOLLOWING.get(path[0] if path else "", ()):
            rest.pop(figures, None)
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


LEVELS = (0, 50, 100)
"""Attainment surfaces: what the best run attains, half of them, and all of them [% of the runs]."""
_ATTAINABLE = (2, 3)
_PAIR = 2


@dataclass(frozen=True)
class Measured:
    """A run in a comparison, with the number of designs on its front.

    The hypervolume is on log10 axes on which the best of all runs together reach from 0 to 1; reference point 1.1. By
    the factor epsilon every objective would have to be better for the run to weakly dominate that best; 1 is the best.
    """

    hypervolume: float
    epsilon: float
    designs: int


@dataclass(frozen=True)
class Comparison:
    """A comparison of groups of runs; the runs of a group differ in their seeds alone.

    Attributes
    ----------
    objectives : the columns that are compared, all minimised.
    ideal, nadir : (m,) of the best of all runs together.
    runs : of each group, its runs.
    epsilon : of each pair of groups (a, b) the factor by which a would have to be better to weakly dominate b; the
        median over pairs of their runs.
    coverage : of each pair (a, b) the share of b's designs that a weakly dominates; the median over pairs of runs.
    attainment : of each group, for each of `LEVELS` the (m, k) corners of the surface that this share of its runs
        attains; empty for more than three objectives, where it is not known how to compute it fast.
    """

    objectives: tuple[str, ...]
    ideal: FloatArray
    nadir: FloatArray
    runs: Mapping[str, tuple[Measured, ...]]
    epsilon: Mapping[tuple[str, str], float]
    coverage: Mapping[tuple[str, str], float]
    attainment: Mapping[str, Mapping[int, FloatArray]]


def compare(objectives: tuple[str, ...], groups: Mapping[str, Sequence[FloatArray]]) -> Comparison:
    """Compare the (m, k) fronts of the runs of each group, all values above 0; the objectives are names of the rows.

    Raises an `InputError` where there is nothing to compare, or a front is empty.
    """
    fronts = [front for group in groups.values() for front in group]
    if not fronts:
        raise InputError("there are no runs to compare")
    if any(not front.shape[1] for front in fronts):
        raise InputError("a front is empty; it cannot be compared")
    every = np.concatenate(fronts, axis=1)
    kept = non_dominated(every)
    best = every[:, kept]
    # A design that nothing else weakly dominates is covered by no other front; pairs need not ask for it again.
    alone = np.split(kept & ~_repeated(every), np.cumsum([front.shape[1] for front in fronts])[:-1])
    rest = iter([front[:, ~mask] for front, mask in zip(fronts, alone, strict=True)])
    contested = {name: [(front.shape[1], next(rest)) for front in group] for name, group in groups.items()}
    ideal, nadir = best.min(axis=1), best.max(axis=1)

    def measured(front: FloatArray) -> Measured:
        return Measured(hypervolume(front, ideal, nadir), _epsilon(front, best), front.shape[1])

    return Comparison(
        objectives=objectives, ideal=ideal, nadir=nadir,
        runs={name: tuple(map(measured, group)) for name, group in groups.items()},
        epsilon={(a, b): _typical(_epsilon, groups[a], groups[b]) for a in groups for b in groups if a != b},
        coverage={(a, b): _typical(_coverage, groups[a], contested[b]) for a in groups for b in groups if a != b},
        attainment={name: _attainment(group) for name, group in groups.items() if len(objectives) in _ATTAINABLE},
    )  # fmt: skip


def _typical(measure: Callable[[FloatArray, Any], float], one: Sequence[FloatArray], other: Sequence[Any]) -> float:
    return float(np.median([measure(a, b) for a in one for b in other]))


def _epsilon(front: FloatArray, reference: FloatArray) -> float:
    """Return the multiplicative epsilon indicator (Zitzler et al. 2003)."""
    return _epsilon_of_two(front, reference) if len(front) == _PAIR else largest_factor(front, reference)


def _epsilon_of_two(front: FloatArray, reference: FloatArray) -> float:
    """Return the same for two objectives, by one sort instead of all pairs."""
    x, y = front[:, non_dominated_in_order(front)]
    # Along a front x rises and y falls: the largest of both factors is the least where they cross.
    cross = np.searchsorted(x / y, reference[0] / reference[1])
    near = np.clip([cross - 1, cross], 0, len(x) - 1)
    return float(np.maximum(x[near] / reference[0], y[near] / reference[1]).min(axis=0).max())


def _repeated(designs: FloatArray) -> BoolArray:
    """Return (n,) which of (m, n) designs are equal to others."""
    order = np.lexsort(designs)
    same = (designs[:, order[1:]] == designs[:, order[:-1]]).all(axis=0)
    found = np.empty(len(order), dtype=np.bool_)
    found[order] = np.append(False, same) | np.append(same, False)
    return found


def _coverage(front: FloatArray, other: tuple[int, FloatArray]) -> float:
    """Return the share of another front that a front weakly dominates (Zitzler and Thiele 1999).

    The other one is given as its number of designs and those of them that are not known to be outside of that share.
    """
    count, left = other
    while left.shape[1]:
        # The front comes first, so that of equal designs its own one is kept.
        beaten = ~non_dominated(np.concatenate([front, left], axis=1))[front.shape[1] :]
        if beaten.all():
            break
        # A design that is kept is not covered; it may have beaten others of its own front, which are asked for again.
        left = left[:, beaten]
    return float(left.shape[1] / count)


def _attainment(group: Sequence[FloatArray]) -> dict[int, FloatArray]:
    points = np.concatenate([np.ascontiguousarray(front.T) for front in group])
    sets = np.repeat(np.arange(len(group)), [front.shape[1] for front in group])
    surface = moocore.eaf(points, sets=sets, percentiles=list(LEVELS))
    return {level: np.asarray(surface[surface[:, -1] == level, :-1]).T for level in LEVELS}
