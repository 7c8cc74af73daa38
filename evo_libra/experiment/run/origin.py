"""The origin of a run's problem, its loading, and the names of it that are code."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from evo_libra.files.integrity import canonical_hash
from evo_libra.files.source import Source, set_value
from evo_libra.problem.file import registry
from evo_libra.problem.file.registry import file_problem, load_python_problem, problem_source
from evo_libra.problem.protocol import SearchProblem
from evo_libra.searching import registry as engines


@dataclass(frozen=True)
class Origin:
    """The origin of a problem, so that another process can build it.

    Attributes
    ----------
    name, assignments : what the user named, a path, a name or ``module:object``, and ``KEY=VALUE``, as for
        `load_problem`.
    data : the problem file with its assignments made; None for a problem in Python.
    folder : the folder that paths in the data are relative to; for a problem in Python, the folder of its module and
        of paths in its options.
    read : the problem file as this process has read it, with the places of its keys, and its folder as the user gave
        it; None where the data came from elsewhere.
    """

    name: str
    assignments: tuple[str, ...]
    data: Any
    folder: str
    read: tuple[Source, Path] | None = field(default=None, compare=False, repr=False)

    def json(self) -> dict[str, Any]:
        """Return the origin as JSON-able data, for another process."""
        return {"name": self.name, "assignments": self.assignments, "data": self.data, "folder": self.folder}


def origin_of(name: str, assignments: Sequence[str], folder: Path | None = None) -> Origin:
    """Return the origin of a problem that a user names; InputErrors as for `load_problem`.

    A path is relative to `folder`, and a module is in it; the current folder when left out.
    """
    found = problem_source(name, assignments, folder or Path())
    if found is not None:
        source, path = found
        stable = str(path.resolve()) if Path(name).suffix or "/" in name else name  # means the same in any folder
        return Origin(stable, tuple(assignments), source.data, str(path.parent.resolve()), (source, path.parent))
    return Origin(name, tuple(assignments), None, str((folder or Path()).resolve()))


def with_assignments(origin: Origin, assignments: Sequence[str]) -> Origin:
    """Return the origin of the same problem with more values replaced, or with more options in Python."""
    if not assignments:
        return origin
    if origin.data is None:
        return replace(origin, assignments=(*origin.assignments, *assignments))
    source, folder = _read(origin)
    for assignment in assignments:
        source = set_value(source, assignment)
    given = (*origin.assignments, *assignments)
    return replace(origin, assignments=given, data=source.data, read=(source, folder))


def source_of(origin: Origin) -> Source:
    """Return the data of a problem file, with the places of its keys where this process has read it."""
    return _read(origin)[0]


def build(origin: Origin) -> SearchProblem:
    """Build a problem from its data and its files as they are now; see `load_problem` for errors."""
    if origin.data is None:
        return load_python_problem(origin.name, Path(origin.folder), origin.assignments)
    return file_problem(*_read(origin))


def text_of(origin: Origin) -> str:
    """Return what an origin says, in the order of its keys, which means something for process groups."""
    return json.dumps(origin.json())


def _read(origin: Origin) -> tuple[Source, Path]:
    return origin.read or (Source(origin.name, origin.data, {}), Path(origin.folder))


def digest_of(problem: SearchProblem) -> str:
    """Return the hash of a problem's identity; problems of one hash are one problem."""
    return canonical_hash(problem.identity())


def code_of(problem: str, engine: str = "") -> tuple[str, ...]:
    """Return those of the names of a problem and an engine that are code.

    >>> code_of("gpt3-4k", "deap:nsga2"), code_of("mine:problem", "climber:make")
    ((), ('mine:problem', 'climber:make'))
    """
    problems = (problem,) if registry.is_code(problem) else ()
    return (*problems, engine) if engines.is_code(engine) else problems
