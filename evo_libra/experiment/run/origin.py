"""Where the problem of a run comes from, how it is built again, and whether building it runs code.

Files may name code as ``module:object``. The code of a command line, or of an experiment that a user runs, is run. A
result may be from anybody, and a plan only looks at an experiment: their code runs only with ``--trust-code``.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from evo_libra.errors import InputError
from evo_libra.files.integrity import canonical_hash
from evo_libra.files.source import Source, set_value
from evo_libra.problem.file import registry
from evo_libra.problem.file.load import files_of, problem_of
from evo_libra.problem.file.registry import load_python_problem, problem_source
from evo_libra.problem.protocol import SearchProblem
from evo_libra.searching import registry as engines

TRUST_OPTION = "--trust-code"


class UntrustedError(InputError):
    """A file names code that the user has not allowed to run."""


@dataclass(frozen=True)
class Origin:
    """Where a problem comes from, so that another process can build it.

    Attributes
    ----------
    name, assignments : what the user named, a path, a name or ``module:object``, and ``KEY=VALUE``, as for
        `load_problem`.
    data : the problem file with its assignments made; None for a problem in Python.
    folder : the folder that paths in the data are relative to; for a problem in Python, the folder of its module and
        of paths in its options.
    """

    name: str
    assignments: tuple[str, ...]
    data: Any
    folder: str


def origin_of(name: str, assignments: Sequence[str], folder: Path | None = None) -> Origin:
    """Return the origin of a problem that a user names; InputErrors as for `load_problem`.

    A path is relative to `folder`, and a module is in it; the current folder when left out.
    """
    found = problem_source(name, assignments, folder or Path())
    if found is not None:
        source, path = found
        stable = str(path.resolve()) if Path(name).suffix or "/" in name else name  # means the same in any folder
        origin = Origin(stable, tuple(assignments), source.data, str(path.parent.resolve()))
        _remember(origin, source, path.parent)
        return origin
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
    other = replace(origin, assignments=(*origin.assignments, *assignments), data=source.data)
    _remember(other, source, folder)
    return other


def source_of(origin: Origin) -> Source:
    """Return the data of a problem file, with the places of its keys where this process has read it."""
    return _read(origin)[0]


def build(origin: Origin) -> SearchProblem:
    """Build a problem. The last 16 are kept for as long as their files do not change; see `load_problem` for errors."""
    return _kept(_BUILT, origin, _read)


def build_to_check(origin: Origin) -> SearchProblem:
    """Build a problem from its data and its files as they are now, which no search has had; the last 16 are kept, too.

    A module is imported once in each process.
    """
    return _kept(_CHECKING, origin, _unread)


def _kept(kept: _Problems, origin: Origin, read: Callable[[Origin], tuple[Source, Path]]) -> SearchProblem:
    text = _text(origin)
    known = kept.pop(text, None)
    if known is None or known[1] != _stamps(known[1]):
        stamps = _stamps(_files_of(origin))  # before they are read, so that a change meanwhile is noticed
        known = _built(origin, read(origin)), stamps
    kept[text] = known
    if len(kept) > _KEPT:
        kept.popitem(last=False)
    return known[0]


def _built(origin: Origin, read: tuple[Source, Path]) -> SearchProblem:
    if origin.data is None:
        return load_python_problem(origin.name, Path(origin.folder), origin.assignments)
    return problem_of(*read)


def _read(origin: Origin) -> tuple[Source, Path]:
    return _READ.get(_text(origin)) or _unread(origin)


def _unread(origin: Origin) -> tuple[Source, Path]:
    return Source(origin.name, origin.data, {}), Path(origin.folder)


def _files_of(origin: Origin) -> list[Path]:
    if origin.data is None:  # values of its options may be paths
        return [Path(origin.folder) / assignment.partition("=")[2] for assignment in origin.assignments]
    try:
        return files_of(*_unread(origin))
    except InputError:
        return []  # Building the problem reports the mistake with its place.


def _text(origin: Origin) -> str:
    return json.dumps(asdict(origin))  # in the order of its keys, which means something for process groups


def _remember(origin: Origin, source: Source, folder: Path) -> None:
    """Keep the file as this process has read it: places of keys, and paths as the user gave them."""
    _READ[_text(origin)] = source, folder
    if len(_READ) > _KEPT:
        _READ.popitem(last=False)


_KEPT = 16
_Stamps = Mapping[Path, tuple[int, ...]]
_READ: OrderedDict[str, tuple[Source, Path]] = OrderedDict()
_Problems = OrderedDict[str, tuple[SearchProblem, _Stamps]]
_BUILT: _Problems = OrderedDict()
_CHECKING: _Problems = OrderedDict()
"""Problems with the stamps of their files, by the text of their origins; the last one used comes last."""


def _stamps(paths: Iterable[Path]) -> _Stamps:
    return {path: _stamp(path) for path in paths}


def _stamp(path: Path) -> tuple[int, ...]:
    """Return what differs once a file has changed; empty for a missing file."""
    try:
        found = path.stat()
    except (OSError, ValueError):  # no file can have a name with a NUL
        return ()
    return found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino


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


def refuse_code(names: tuple[str, ...], source: str, error: type[InputError] = UntrustedError) -> None:
    """Raise an error where there are names of code in a file, the source; see `code_of`."""
    if names:
        raise error(f"{source} names code, {' and '.join(names)}; where you trust it, {TRUST_OPTION} runs it")
