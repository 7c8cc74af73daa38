"""What makes a run the run that it is: problem, engine, settings, budget and seed, as plain data."""

from __future__ import annotations

import hashlib
import json
import sys
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Literal

from evo_libra.errors import InputError
from evo_libra.experiment.method import PLAIN, Method
from evo_libra.experiment.provenance import canonical_hash
from evo_libra.experiment.store import plain_name
from evo_libra.model.source import Source
from evo_libra.problem.load import problem_of
from evo_libra.problem.protocol import SearchProblem
from evo_libra.problem.registry import load_problem, problem_source

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
    engine, population, evaluations, seed : as for `evo_libra.search.run.search`.
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


def build(origin: Origin) -> SearchProblem:
    """Build a problem; the last few are kept, since runs often differ in their seeds alone.

    Raises
    ------
    InputError : as for `load_problem`.
    """
    return _build(_text(origin))


def _text(origin: Origin) -> str:
    return json.dumps(asdict(origin), sort_keys=True)


def _remember(origin: Origin, source: Source, folder: Path) -> None:
    """Keep what this process has read, for the places of mistakes and for paths as the user gave them."""
    _READ[_text(origin)] = source, folder
    while len(_READ) > _KEPT:
        _READ.popitem(last=False)


_KEPT = 16
_READ: OrderedDict[str, tuple[Source, Path]] = OrderedDict()


@lru_cache(maxsize=_KEPT)
def _build(text: str) -> SearchProblem:
    origin = json.loads(text)
    if origin["data"] is None:
        if origin["folder"] not in sys.path:
            sys.path.insert(0, origin["folder"])
        return load_problem(origin["name"])
    return problem_of(*_READ.get(text, (Source(origin["name"], origin["data"], {}), Path(origin["folder"]))))


def forget_problems() -> None:
    """Make `build` read all files again."""
    _build.cache_clear()


def identity_of(problem: SearchProblem, origin: Origin) -> dict[str, Any]:
    """Return what the results of a problem depend on: its identity, and digests of the files it reads.

    Raises
    ------
    InputError : such a file cannot be read any more.
    """
    identity = dict(problem.identity())
    workloads = identity.get("workloads") if origin.data is not None else None
    named = [one.get("file") for one in workloads or () if isinstance(one, Mapping)]
    files = {str(file): _digest(Path(origin.folder) / str(file)) for file in named if file is not None}
    return {**identity, "files": files} if files else identity


def run_of(origin: Origin, **settings: Any) -> RunSpec:  # noqa: ANN401 - as RunSpec and Method have them
    """Return a run of a problem; what the settings leave out or have None for is the problem's own choice.

    Raises
    ------
    InputError : the problem cannot be built, or a setting is out of range.
    """
    problem = build(origin)
    own = asdict(problem.settings)
    chosen = {**own, **{key: value for key, value in settings.items() if value is not None}}
    for key, (least, most) in _WHOLE.items():
        if key in chosen and not least <= chosen[key] <= most:
            bound = f"at least {least}" if chosen[key] < least else f"at most {most}"
            raise InputError(f"--{key}: found {chosen[key]}; it must be {bound}")
    for key, (low, high) in _BETWEEN.items():
        if key in chosen and not low <= chosen[key] <= high:
            raise InputError(f"--{key}: found {chosen[key]:g}; it must be a number from {low:g} to {high:g}")
    if chosen["engine"] == "optimize" and settings.get("evaluations") is None:
        chosen["evaluations"] = 1  # it has no more to ask for
    method = Method(**{key: chosen.pop(key) for key in _METHOD if key in chosen})
    return RunSpec(problem.name, identity_of(problem, origin), origin, method=method, **chosen)


_WHOLE = {
    "evaluations": (1, 2**62), "population": (4, 2**31), "seed": (0, 2**63 - 1), "stagnation": (1, 2**62),
    "restarts": (0, 10_000), "islands": (1, 4096),
}  # fmt: skip
_BETWEEN = {"seconds": (1e-3, 1e9), "gap": (0, 1e9), "memetic": (0, 0.5)}
_METHOD = tuple(field.name for field in fields(Method))


def _stable(name: str, path: Path) -> str:
    """Return a name that means the same in any folder."""
    return str(path.resolve()) if Path(name).suffix or "/" in name else name


def _digest(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {(error.strerror or '').lower()}") from None
