"""The engines by name: those of this package, those of libraries, and those of users."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from math import ceil
from typing import Any, cast

from evo_libra.errors import EngineError, unknown
from evo_libra.installed import entry_points_of
from evo_libra.named_code import UntrustedError, import_object
from evo_libra.optimality.whole_designs import bound_of, effort_of
from evo_libra.problem.problem import Problem
from evo_libra.problem.protocol import SearchProblem
from evo_libra.searching.engine import Engine
from evo_libra.searching.engines.contributions import MAX_OBJECTIVES

ENTRY_POINTS = "evo_libra.engines"
_METHODS = ("start", "ask", "tell")


@dataclass(frozen=True)
class EngineEntry:
    """An engine of this package, or of a library that it wraps: the algorithm, and the problems that it is made for.

    `home` is ``module:function`` in `evo_libra.searching.engines`, imported when the engine is chosen; the function
    makes the engine from the problem and, for a library, from the name of the algorithm. A deterministic engine asks
    for the same designs whatever the seed, and learns nothing from others. `memetic` is the share of evaluations with
    better bandwidths that pays by default.
    """

    title: str
    purpose: str
    home: str
    deterministic: bool = False
    memetic: float = 0.0


_FRONT, _MANY, _SHAPES = "two objectives, or few", "three objectives and more", "fronts of irregular shape"

ENGINES = {
    "nsga2": EngineEntry("NSGA-II on arrays", _FRONT, "nsga:nsga2", memetic=0.05),
    "nsga3": EngineEntry("NSGA-III on arrays", _MANY, "nsga:nsga3", memetic=0.05),
    "smsemoa": EngineEntry(
        "SMS-EMOA on arrays", "small populations, up to three objectives", "nsga:smsemoa", memetic=0.05
    ),
    "random": EngineEntry("random search", "the baseline of every comparison", "nsga:RandomEngine"),
    "exhaustive": EngineEntry(
        "every topology, pruned by bounds", "the exact front of a space of topologies",
        "exact:ExhaustiveEngine", deterministic=True,
    ),
    "optimize": EngineEntry(
        "exact bandwidths of a few networks", "one proven design", "exact:OptimizeEngine", deterministic=True
    ),
    "pymoo:nsga2": EngineEntry("NSGA-II of pymoo", _FRONT, "pymoo:PymooEngine.of"),
    "pymoo:nsga3": EngineEntry("NSGA-III of pymoo", _MANY, "pymoo:PymooEngine.of"),
    "pymoo:unsga3": EngineEntry("U-NSGA-III of pymoo", "one objective to many", "pymoo:PymooEngine.of"),
    "pymoo:agemoea": EngineEntry("AGE-MOEA of pymoo; needs numba", _SHAPES, "pymoo:PymooEngine.of"),
    "pymoo:agemoea2": EngineEntry("AGE-MOEA2 of pymoo; needs numba", _SHAPES, "pymoo:PymooEngine.of"),
    "pymoo:smsemoa": EngineEntry("SMS-EMOA of pymoo", "the hypervolume of few objectives", "pymoo:PymooEngine.of"),
    "pymoo:moead": EngineEntry("MOEA/D of pymoo", "even fronts", "pymoo:PymooEngine.of"),
    "pymoo:rvea": EngineEntry("RVEA of pymoo", "many objectives and a fixed budget", "pymoo:PymooEngine.of"),
    "pymoo:spea2": EngineEntry("SPEA2 of pymoo", _FRONT, "pymoo:PymooEngine.of"),
    "pymoo:ctaea": EngineEntry("C-TAEA of pymoo", "narrow constraints", "pymoo:PymooEngine.of"),
    "pymoo:omnioptimizer": EngineEntry("Omni-optimizer of pymoo", "one objective or several", "pymoo:PymooEngine.of"),
    "deap:nsga2": EngineEntry("NSGA-II of DEAP", _FRONT, "deap:DeapEngine"),
    "deap:nsga3": EngineEntry("NSGA-III of DEAP", _MANY, "deap:DeapEngine"),
    "deap:spea2": EngineEntry("SPEA2 of DEAP", _FRONT, "deap:DeapEngine"),
}  # fmt: skip
"""Engines of this package by name; an algorithm of a library is called ``<library>:<algorithm>``."""

DETERMINISTIC = tuple(name for name, entry in ENGINES.items() if entry.deterministic)
_LIBRARIES = {name.partition(":")[0] for name in ENGINES if ":" in name}


def engine_names() -> tuple[str, ...]:
    """Return the names that `load_engine` takes, besides ``module:object`` for an engine of one's own."""
    return (*ENGINES, *sorted(entry_points_of(ENTRY_POINTS).names))


def is_code(name: str) -> bool:
    """Return whether a name is ``module:object``, which is imported to load it."""
    library, _, _ = name.rpartition(":")
    return bool(library) and library not in _LIBRARIES


def load_engine(name: str, problem: SearchProblem) -> Engine:
    """Return an engine by name for a problem; users cannot replace the engines of this package.

    Raises
    ------
    EngineError : there is no such engine, or one of a user's own cannot be loaded or is not trusted; `auto` is none,
        but a choice that `evo_libra.searching.generations.settle` makes.
    InputError : it cannot search this problem.
    """
    if name == AUTO:
        raise EngineError(f"auto chooses between {PROOF}, {SMALL} and {SEARCH} for a search; name one of them here")
    if name not in ENGINES:  # Reading the entry points takes as long as a short search.
        return _users_engine(name, problem)
    module, _, path = ENGINES[name].home.partition(":")
    make: Any = import_module(f"evo_libra.searching.engines.{module}")
    for part in path.split("."):
        make = getattr(make, part)
    library, _, algorithm = name.rpartition(":")
    return cast("Engine", make(algorithm, problem) if library else make(problem))


def _users_engine(name: str, problem: SearchProblem) -> Engine:
    """Return the engine of an entry point, or of ``module:object``; the current folder is searched for modules, too."""
    engine = _users_function(name, problem)(problem)
    missing = [method for method in _METHODS if not callable(getattr(engine, method, None))]
    if missing:
        raise EngineError(f"'{name}' returns no engine: its {type(engine).__name__} has no {', '.join(missing)}")
    return cast("Engine", engine)


def _users_function(name: str, problem: SearchProblem) -> Callable[[SearchProblem], object]:
    found = entry_points_of(ENTRY_POINTS)
    if not is_code(name) and name not in found.names:
        raise EngineError(unknown("engine", name, (AUTO, *engine_names())))
    try:
        make = found[name].load() if name in found.names else import_object(name)
    except UntrustedError as error:
        raise EngineError(str(error)) from None
    except (ImportError, AttributeError, ValueError) as error:
        raise EngineError(f"the engine '{name}' cannot be imported: {error}") from None
    if not callable(make):
        raise EngineError(f"the engine '{name}' must be a function of the problem; it is a {type(make).__name__}")
    try:
        inspect.signature(make).bind(problem)
    except TypeError as error:
        raise EngineError(f"the engine '{name}' must be a function of the problem: {error}") from None
    return cast("Callable[[SearchProblem], object]", make)


AUTO, PROOF, SEARCH, SMALL = "auto", "exhaustive", "nsga2", "smsemoa"
"""Name of the choice, and the engines chosen: a proof, a search, and a search with a small population."""

SMALL_POPULATION = 325
"""Below it SMS-EMOA finds larger fronts than NSGA-II; with twice as many designs both find the same, and NSGA-II takes
less time. See `docs/studies/engine_quality.md`."""

_LOOKS, _LOOKS_AT_PLANS, _LOOKS_AT_TIMES = 8, 2, 1
"""Designs that an exact front evaluates in the time of an evaluation: networks, their pairs with groups of plans, and
designs that no bound leaves out; see `tests/benchmarks/quality.py`."""

_FEW = 2
"""Objectives up to which a front has far fewer designs than are evaluated."""


def choose(problem: SearchProblem, evaluations: int, population: int, *, searched: str = "") -> tuple[str, str]:
    """Return the engine of a search with some evaluations, and the reason; none where only a search will do.

    The choice counts designs and no seconds, so that it is the same on every machine. `searched` names a setting that
    only a search has; empty where there is none.
    """
    few = population < SMALL_POPULATION and len(problem.objectives) <= MAX_OBJECTIVES
    engine = SMALL if few else SEARCH
    if not isinstance(problem, Problem) or not problem.pricing.whole:
        return engine, ""
    if searched:
        return engine, f"Engine {engine}: {searched} belongs to a search"
    looks = effort_of(problem)
    if looks is None:
        return engine, f"Engine {engine}: there are too many designs of whole ports to enumerate"
    needed = ceil(looks / _looks(problem))
    if needed > evaluations:
        than = f"would take more than {evaluations:,} evaluations; {needed:,} give the exact front"
        return engine, f"Engine {engine}: enumerating {looks:,} designs {than}"
    return PROOF, f"Engine {PROOF}: enumerating {looks:,} designs takes less than {evaluations:,} evaluations"


def _looks(problem: Problem) -> int:
    if bound_of(problem) is None or len(problem.objectives) > _FEW:
        return _LOOKS_AT_TIMES
    return _LOOKS_AT_PLANS if problem.time.tables else _LOOKS
