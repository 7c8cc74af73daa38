"""Engines of a user's own: by entry point, or as ``module:object``."""

from __future__ import annotations

import inspect
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, cast

from evo_libra.errors import EngineError
from evo_libra.problem.file.registry import import_object
from evo_libra.problem.protocol import SearchProblem

if TYPE_CHECKING:
    from evo_libra.searching.engine import Engine

ENTRY_POINTS = "evo_libra.engines"
_PARTS = ("start", "ask", "tell")


def own_engine_names() -> tuple[str, ...]:
    """Return the names of the installed engines of others."""
    return tuple(sorted(entry_points(group=ENTRY_POINTS).names))


def load_own_engine(name: str, problem: SearchProblem) -> Engine:
    """Return a user's own engine for a problem.

    Parameters
    ----------
    name : of an entry point of group ``evo_libra.engines``, or ``module:object``; the folder that the program runs in
        is searched for modules, too. What it names is called with the problem and returns the engine.
    problem : what the engine will search.

    Raises
    ------
    EngineError : it cannot be imported, cannot be called, or returns no engine.
    """
    found = entry_points(group=ENTRY_POINTS)
    try:
        make = found[name].load() if name in found.names else import_object(name)
    except (ImportError, AttributeError, ValueError) as error:
        raise EngineError(f"the engine '{name}' cannot be imported: {error}") from None
    if not callable(make):
        raise EngineError(f"the engine '{name}' must be a function of the problem; it is a {type(make).__name__}")
    try:
        inspect.signature(make).bind(problem)
    except TypeError as error:
        raise EngineError(f"the engine '{name}' must be a function of the problem: {error}") from None
    engine = make(problem)
    missing = [part for part in _PARTS if not callable(getattr(engine, part, None))]
    if missing:
        raise EngineError(f"'{name}' returns no engine: its {type(engine).__name__} has no {', '.join(missing)}")
    return cast("Engine", engine)
