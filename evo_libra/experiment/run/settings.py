"""What makes a run the run that it is: problem, engine, settings, budget and seed, as plain data."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from evo_libra.errors import InputError
from evo_libra.experiment.run.provenance import canonical_hash
from evo_libra.experiment.store.folder import plain_name
from evo_libra.files.source import Source, set_value
from evo_libra.problem.file.load import files_of, problem_of
from evo_libra.problem.file.registry import load_python_problem, problem_source
from evo_libra.problem.protocol import SearchProblem, SearchSettings
from evo_libra.searching.generations import settled


@dataclass(frozen=True)
class Method:
    """How a run searches. Whatever differs from what it is here is a part of what the run is.

    Attributes
    ----------
    stagnation : evaluations over which the hypervolume has to grow, or the search ends; None for no such end.
    growth : by how much of itself it has to grow over them.
    gap : the search ends when its front is proven to be so near the best one; None for no such end.
    gap_every : evaluations before the first proof; each further one comes after a quarter more of them.
    restarts : how often a search that stagnates is started anew instead of being ended.
    start_from : folders of the runs, or files of the fronts, that the search starts from. Where they lie is no part of
        what the run is.
    start_digest : SHA-256 of the designs that it starts from.
    memetic : share of the evaluations that are designs of the archive with better bandwidths.
    islands : searches side by side.
    asynchronous : whether the engine is told of each design when it is done, and not of a generation.
    timeout : seconds that a design may take to evaluate in a process of its own; None for any time.
    """

    stagnation: int | None = None
    growth: float = 1e-3
    gap: float | None = None
    gap_every: int = 10_000
    restarts: int = 0
    start_from: tuple[str, ...] = ()
    start_digest: str = ""
    memetic: float = 0.0
    islands: int = 1
    asynchronous: bool = False
    timeout: float | None = None

    def settings(self) -> dict[str, Any]:
        """Return what differs from a plain search, as JSON-able data; the results depend on nothing else here."""
        plain = asdict(PLAIN)
        return {key: value for key, value in asdict(self).items() if value != plain[key] and key != "start_from"}

    def keys(self) -> dict[str, Any]:
        """Return what differs from a plain search as an experiment file says it."""
        told = {key: value for key, value in self.settings().items() if key != "start_digest"}
        # What pays is chosen where a file does not say it; none has to be said.
        return {**told, "memetic": self.memetic, **({"start_from": list(self.start_from)} if self.start_from else {})}

    @staticmethod
    def of(data: Mapping[str, Any]) -> Method:
        """Return how a run searches from JSON-able data of all its fields."""
        return Method(**{**data, "start_from": tuple(data["start_from"])})


PLAIN = Method()


Keep = Literal["front", "designs"]


@dataclass(frozen=True)
class Origin:
    """Where a problem comes from, so that another process can build it.

    Attributes
    ----------
    name : what the user named: a path, a name or ``module:object``.
    assignments : ``KEY=VALUE``, as for `load_problem`.
    data : the problem file with its assignments made; None for a problem in Python.
    folder : what paths in the data are relative to; for a problem in Python, where its module is looked for.
    """

    name: str
    assignments: tuple[str, ...]
    data: Any
    folder: str


@dataclass(frozen=True)
class RunSpec:
    """A run.

    Attributes
    ----------
    name : of the problem.
    problem : the identity of the validated problem, digests of the files that it reads included.
    origin : how to build it.
    engine, population, evaluations, seed : as for `evo_libra.searching.generations.search`.
    keep : the front alone, or every design that is evaluated, too.
    method : how it searches, beside that.
    seconds : of work after which it ends, whatever its evaluations; None for no such end.
    workers : processes that evaluate its designs, one at a time; None for none. They decide nothing but the time.
    experiment, label : whose run it is, and what tells it from its neighbours; not part of what it is.
    """

    name: str
    problem: Mapping[str, Any]
    origin: Origin
    engine: str
    population: int
    evaluations: int
    seed: int
    keep: Keep = "front"
    method: Method = PLAIN
    seconds: float | None = None
    workers: int | None = None
    experiment: str = ""
    label: str = ""

    @cached_property
    def search(self) -> str:
        """Hash of problem, engine and settings: runs that share it and the seed are one search of several lengths."""
        return canonical_hash(self._settings())

    @cached_property
    def hash(self) -> str:
        """Hash of problem, engine, settings and budget; with the seed it identifies the run."""
        budget = {"evaluations": self.evaluations, **({} if self.seconds is None else {"seconds": self.seconds})}
        return canonical_hash({"search": self.search, **budget})

    @property
    def id(self) -> str:
        """The run's folder below the folder of results."""
        seconds = "" if self.seconds is None else f"-t{self.seconds:.9g}"
        return f"{plain_name(self.name)}/{self.stem}-e{self.evaluations}{seconds}-s{self.seed}"

    @property
    def stem(self) -> str:
        """What the names of the folders of one search begin with."""
        return f"{plain_name(self.engine)}-{self.search[:8]}"

    def _settings(self) -> dict[str, Any]:
        settings = {"problem": dict(self.problem), "engine": self.engine, "population": self.population}
        settings |= self.method.settings()
        return settings if self.keep == "front" else {**settings, "keep": self.keep}

    def varied(self, **changes: Any) -> RunSpec:  # noqa: ANN401 - as they are here
        """Return a run of the same search: with another seed, budget, experiment or label."""
        other = replace(self, **changes)
        other.__dict__["search"] = self.search  # known already, and long to compute
        return other

    def data(self) -> dict[str, Any]:
        """Return the run as JSON-able data; `RunSpec.of` reads it."""
        return asdict(self)

    @staticmethod
    def of(data: Mapping[str, Any]) -> RunSpec:
        """Return the run that `data` made."""
        origin = dict(data["origin"])
        return RunSpec(**{
            **data,
            "origin": Origin(**{**origin, "assignments": tuple(origin["assignments"])}),
            "method": Method.of(data["method"]),
        })  # fmt: skip


def origin_of(name: str, assignments: Sequence[str], folder: Path | None = None) -> Origin:
    """Return where a problem comes from.

    Parameters
    ----------
    name, assignments : as for `load_problem`.
    folder : what a path is relative to, and where a module is looked for; the current folder when left out.

    Raises
    ------
    InputError : as for `load_problem`.
    """
    found = problem_source(name, assignments, folder or Path())
    if found is not None:
        source, path = found
        origin = Origin(_stable(name, path), tuple(assignments), source.data, str(path.parent.resolve()))
        _remember(origin, source, path.parent)
        return origin
    if assignments:
        raise InputError(f"values of a problem file can be changed, and '{name}' is none")
    return Origin(name, (), None, str((folder or Path()).resolve()))


def changed(origin: Origin, assignments: Sequence[str]) -> Origin:
    """Return where a problem comes from, with more of its values replaced.

    Raises
    ------
    InputError : an assignment cannot be made, or the problem is written in Python.
    """
    if not assignments:
        return origin
    if origin.data is None:
        raise InputError(f"values of a problem file can be changed, and '{origin.name}' is none")
    source, folder = _read(origin)
    for assignment in assignments:
        source = set_value(source, assignment)
    other = replace(origin, assignments=(*origin.assignments, *assignments), data=source.data)
    _remember(other, source, folder)
    return other


def source_of(origin: Origin) -> Source:
    """Return the data of a problem file, with the places of its keys where this process has read it."""
    return _read(origin)[0]


def build(origin: Origin) -> SearchProblem:
    """Build a problem; the last few are kept while the files that they were read from stay as they are.

    Raises
    ------
    InputError : as for `load_problem`.
    """
    text = _text(origin)
    known = _BUILT.pop(text, None)
    if known is None or known[1] != _stamps(known[1]):
        stamps = _stamps(_files_of(origin))  # before they are read: whoever changes one meanwhile is noticed
        known = _built(origin, _READ.get(text)), stamps
    _BUILT[text] = known
    if len(_BUILT) > _KEPT:
        _BUILT.popitem(last=False)
    return known[0]


def build_afresh(origin: Origin) -> SearchProblem:
    """Build a problem from its data and its files as they are now; a module is imported once in each process.

    Raises
    ------
    InputError : as for `load_problem`.
    """
    return _built(origin, None)


def _built(origin: Origin, read: tuple[Source, Path] | None) -> SearchProblem:
    if origin.data is None:
        return load_python_problem(origin.name, Path(origin.folder))
    return problem_of(*(read or (_source_of(origin), Path(origin.folder))))


def _read(origin: Origin) -> tuple[Source, Path]:
    return _READ.get(_text(origin)) or (_source_of(origin), Path(origin.folder))


def _source_of(origin: Origin) -> Source:
    return Source(origin.name, origin.data, {})


def _files_of(origin: Origin) -> list[Path]:
    try:
        return [] if origin.data is None else files_of(_source_of(origin), Path(origin.folder))
    except InputError:
        return []  # Whoever builds it says what is wrong, with all places.


def _text(origin: Origin) -> str:
    return json.dumps(asdict(origin))  # in the order of its keys, which says something


def _remember(origin: Origin, source: Source, folder: Path) -> None:
    """Keep what this process has read, for the places of mistakes and for paths as the user gave them."""
    _READ[_text(origin)] = source, folder
    if len(_READ) > _KEPT:
        _READ.popitem(last=False)


_KEPT = 16
_Stamps = Mapping[Path, tuple[int, ...]]
_READ: OrderedDict[str, tuple[Source, Path]] = OrderedDict()
_BUILT: OrderedDict[str, tuple[SearchProblem, _Stamps]] = OrderedDict()
"""Problems with the stamps of their files, by where they come from; the one used last comes last."""


def _stamps(paths: Iterable[Path]) -> _Stamps:
    """Return what tells of files that they were changed, without reading them; empty of one that is not there."""
    return {path: _stamp(path) for path in paths}


def _stamp(path: Path) -> tuple[int, ...]:
    try:
        found = path.stat()
    except (OSError, ValueError):  # no file can have a name with a NUL
        return ()
    return found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino


def run_of(origin: Origin, **settings: Any) -> RunSpec:  # noqa: ANN401 - as RunSpec and Method have them
    """Return a run of a problem; what the settings leave out or have None for is the problem's own choice.

    Raises
    ------
    InputError : the problem cannot be built, or a setting is out of range.
    """
    problem = build(origin)
    asked = {key: value for key, value in settings.items() if value is not None}
    if asked.get("asynchronous") or asked.get("workers"):
        asked = {"memetic": 0.0, **asked}  # designs one at a time leave no generation to improve
    chosen = {**asked, **asdict(settled(problem, **{key: asked.get(key) for key in _SETTINGS}))}
    for key, (least, most) in _WHOLE.items():
        if key in chosen and not least <= chosen[key] <= most:
            bound = f"at least {least}" if chosen[key] < least else f"at most {most}"
            raise InputError(f"--{key}: found {chosen[key]}; it must be {bound}")
    for key, (low, high) in _BETWEEN.items():
        if key in chosen and not low <= chosen[key] <= high:
            raise InputError(f"--{key}: found {chosen[key]:g}; it must be a number from {low:g} to {high:g}")
    method = Method(**{key: chosen.pop(key) for key in _METHOD if key in chosen})
    return RunSpec(problem.name, dict(problem.identity()), origin, method=method, **chosen)


_WHOLE = {
    "evaluations": (1, 2**62), "population": (4, 2**31), "seed": (0, 2**63 - 1), "stagnation": (1, 2**62),
    "restarts": (0, 10_000), "islands": (1, 4096),
}  # fmt: skip
_BETWEEN = {"seconds": (1e-3, 1e9), "gap": (0, 1e9), "memetic": (0, 0.5)}
_SETTINGS = tuple(field.name for field in fields(SearchSettings))
_METHOD = tuple(field.name for field in fields(Method))


def _stable(name: str, path: Path) -> str:
    """Return a name that means the same in any folder."""
    return str(path.resolve()) if Path(name).suffix or "/" in name else name
