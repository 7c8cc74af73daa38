"""Problems by path, by name, or from Python."""

from __future__ import annotations

import importlib.util
import json
import os
import sys
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evo_libra.errors import InputError, unknown
from evo_libra.files.kinds import ENDINGS
from evo_libra.installed import entry_points_of
from evo_libra.named_code import import_object, own_trust, trust
from evo_libra.problem.protocol import Configurable, SearchProblem
from evo_libra.problem.question import FABRIC, question_of

if TYPE_CHECKING:
    from evo_libra.files.source import Source
    from evo_libra.problem.problem import Problem

ENTRY_POINTS = "evo_libra.problems"
_SOME_GBPS = 1e-6


def problem_folders() -> list[Path]:
    """Return the folders that hold problem files by name: that of the wheel or the checkout, and the user's."""
    return [folder for folder in dict.fromkeys((packaged_folder(), Path("problems").resolve())) if folder.is_dir()]


def problem_names() -> list[str]:
    """Return every name that `load_problem` knows."""
    files = (path.stem for folder in problem_folders() for path in folder.glob("*.yaml"))
    return sorted({*(entry.name for entry in entry_points_of(ENTRY_POINTS)), *files, *packaged_modules()})


def packaged_modules() -> Mapping[str, Path]:
    """Return the problems in Python that come with the package, by name; those of the user's folder are no names."""
    return {path.stem.replace("_", "-"): path for path in sorted(packaged_folder().glob("*.py"))}


def packaged_folder() -> Path:
    """Return the folder of problems that come with the package, of the wheel or of the checkout."""
    package = Path(__file__).parents[2]
    return package / "problems" if (package / "problems").is_dir() else package.parent / "problems"


def load_problem(name: str | Mapping[str, Any], assignments: Sequence[str] = ()) -> Problem | SearchProblem:
    """Load a problem.

    Parameters
    ----------
    name : the path of a problem file; or a name (an entry point of group ``evo_libra.problems``, a problem that comes
        with the package, or one in ``./problems``); or ``module:object`` for a problem written in Python; or what a
        problem file says, as a dictionary, whose paths are relative to the current folder.
    assignments : ``KEY=VALUE``, each replaces a value of the file before it is validated, or sets an option of a
        problem in Python.

    Raises
    ------
    InputError : there is no such problem, or its file is wrong; all mistakes are named.

    >>> problem = load_problem("gpt3-4k", ["npus=1024"])
    >>> problem.npus
    1024
    """
    if not isinstance(name, str):
        return file_problem(_given(name, assignments), Path())
    path = _find_file(name)
    if path is not None:
        return file_problem(_source(path, assignments), path.parent)
    with own_trust():
        trust(name)
        return load_python_problem(name, assignments=assignments)


def file_problem(source: Source, folder: Path) -> Problem | SearchProblem:
    """Build the problem of the data of a file, whatever it asks for; errors are those of `load_problem`."""
    if isinstance(source.data, Mapping) and source.data.get("question") == FABRIC:
        from evo_libra.problem.file.switch_fabrics import (  # noqa: PLC0415 - other files need no fabrics
            switch_fabric_problem,
        )

        return switch_fabric_problem(source, folder)
    from evo_libra.problem.file.load import problem_of  # noqa: PLC0415 - only problem files need YAML

    return problem_of(source, folder)


def _given(data: Mapping[str, Any], assignments: Sequence[str]) -> Source:
    """Return a dictionary as the data of a problem file; an `InputError` says that a file cannot have it."""
    from evo_libra.files.source import parse_source, set_value  # noqa: PLC0415 - only problem files need YAML

    try:
        text = json.dumps(data, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise InputError(f"the dictionary of a problem has what a file cannot have: {error}") from None
    source = parse_source(text, "dictionary")
    for assignment in assignments:
        source = set_value(source, assignment)
    return source


def with_time(problem: Problem, model: str) -> list[str]:
    """Return the assignments that give a problem another model of time, by its name.

    Overlap, weights and shares of its time stay, and so do the keys that the model reads, too. Bandwidths that were
    solved for are searched under a model that cannot solve for them; of parts, in ports. An `InputError` says that
    there is no such model.
    """
    from evo_libra.problem.time_models.registry import time_kind  # noqa: PLC0415 - most commands keep the time

    kind, known = time_kind(model), problem.spec["time"]
    known = {} if isinstance(known, str) else {key: value for key, value in known.items() if value is not None}
    kept = ("overlap", "weights") if kind.solves else ("overlap", "weights", "shares", "efficiency", *kind.keys)
    known = {key: value for key, value in known.items() if key in kept}
    if not problem.time.kits:
        known["shares"] = "libra"
    searched = [f"bandwidth={json.dumps(_searched(problem))}"] if problem.optimal and not kind.solves else []
    return [*searched, f"time={json.dumps({**known, 'model': model})}"]


def _is_path(name: str) -> bool:
    return name.endswith(ENDINGS) or "/" in name or "\\" in name


def _searched(problem: Problem) -> Mapping[str, str | float | None]:
    """Return the bandwidths of a problem that solves for them as one that searches: within its bounds, above 0."""
    known, mode = problem.spec["bandwidth"], "ports" if problem.pricing.kits else "search"
    if isinstance(known, str):
        return {"mode": mode}
    return {**known, "mode": mode, "min_GBps": _SOME_GBPS if known["min_GBps"] == 0 else known["min_GBps"]}


def _find_file(name: str) -> Path | None:
    if _is_path(name):
        return Path(name)
    if ":" in name or name in packaged_modules() or name in entry_points_of(ENTRY_POINTS).names:
        return None
    for folder in problem_folders():
        if os.path.isfile(folder / f"{name}.yaml"):  # noqa: PTH113 - false for what cannot be the name of a file
            return folder / f"{name}.yaml"
    raise InputError(f"{unknown('problem', name, problem_names())} (or give the path of a problem file)")


def problem_source(name: str, assignments: Sequence[str], folder: Path) -> tuple[Source, Path] | None:
    """Return the data of a problem file and its path, relative to a folder; None for the name of a problem in Python.

    An `InputError` is as for `load_problem`, for mistakes that the text of the file alone shows.
    """
    path = _find_file(name)
    if path is None:
        return None
    return _source(folder / path, assignments), folder / path


def _source(path: Path, assignments: Sequence[str]) -> Source:
    from evo_libra.files.source import read_source, set_value  # noqa: PLC0415 - only problem files need YAML

    source = read_source(path)
    for assignment in assignments:
        source = set_value(source, assignment)
    return source


def load_open_problem(
    name: str, assignments: Sequence[str] = (), shape: str | None = None, constraints: Sequence[str] = ()
) -> Problem:
    """Load a problem file for `optimize`, as `open_problem` builds it.

    Errors are those of `load_problem`, and there is one for a problem that is written in Python.
    """
    path = _find_file(name)
    if path is None:
        raise InputError(f"'{name}' is no problem file; bandwidths of a problem in Python cannot be solved for")
    return open_problem(_source(path, assignments), path.parent, shape, constraints)


def open_problem(source: Source, folder: Path, shape: str | None = None, constraints: Sequence[str] = ()) -> Problem:
    """Build a problem for `optimize`: bandwidths are solved for, bounds that its file leaves out do not exist.

    A shape in the notation pins the network; the constraints are added to those of the file. Errors are those of
    `problem_of`.
    """
    from evo_libra.files.source import set_value  # noqa: PLC0415 - only problem files need YAML
    from evo_libra.problem.file.load import problem_of  # noqa: PLC0415 - the same

    if shape is not None:
        fabric = source.data.get("fabric") if isinstance(source.data, dict) else None
        # The shape replaces these keys, but not pins: they may hold bandwidths.
        if isinstance(fabric, dict) and "min_dimensions" in fabric:
            source = set_value(source, "fabric.min_dimensions=1")
        source = set_value(source, f"fabric.shape={json.dumps(shape)}", "--shape")
    if constraints:
        known = source.data.get("constraints") if isinstance(source.data, dict) else None
        if known is None or isinstance(known, list):
            asked = json.dumps([*(known or []), *constraints])
            source = set_value(source, f"constraints={asked}", "--total, --cost, --constraint")
    if question_of(source.data) == "order":
        raise InputError(
            f"the bandwidths of {_called(source)} are those of the products that it orders, and `optimize` solves for "
            "those of designs; `search` finds the best orders, `search --engine exhaustive` all of them"
        )
    return problem_of(source, folder, open_box=True)


def _called(source: Source) -> str:
    name = source.data.get("name") if isinstance(source.data, Mapping) else None
    return f"'{name}'" if isinstance(name, str) else "this file"


def load_python_problem(
    name: str, folder: Path | None = None, assignments: Sequence[str] = ()
) -> SearchProblem:  # fmt: skip
    """Load a problem in Python by its name or as ``module:object``, which runs its code.

    Its module may be in the folder, the current one when left out, and paths in ``KEY=VALUE`` assignments are relative
    to it.

    Raises
    ------
    InputError : it cannot be imported, is no problem, or does not have the options that are set; or a file names the
        code, and the user trusts no file.
    """
    try:
        problem = _python_object(name, folder)
    except (ImportError, AttributeError, ValueError) as error:
        raise InputError(f"the problem '{name}' cannot be imported: {error}") from None
    if not isinstance(problem, SearchProblem):
        raise InputError(
            f"'{name}' is no problem: it is a {type(problem).__name__} without all of name, genome, objectives, "
            "settings, evaluate_genes, describe and identity"
        )
    return _configured(problem, name, folder, assignments) if assignments else problem


def _configured(problem: SearchProblem, name: str, folder: Path | None, assignments: Sequence[str]) -> SearchProblem:
    from evo_libra.files.source import Source, set_value  # noqa: PLC0415 - only options need YAML

    if not isinstance(problem, Configurable):
        raise InputError(
            f"--set changes a problem file, or a problem in Python with `configured`, which '{name}' lacks"
        )
    options = Source(name, {}, {})
    for assignment in assignments:
        options = set_value(options, assignment)
    return problem.configured(options, folder or Path.cwd())


def _python_object(name: str, folder: Path | None) -> object:
    if name in (packaged := packaged_modules()):
        return _packaged_problem(packaged[name])
    found = entry_points_of(ENTRY_POINTS)
    return found[name].load() if name in found.names else import_object(name, folder)


@lru_cache
def _packaged_problem(path: Path) -> object:
    """Return the ``problem`` of a module that comes with the package and is in no package of modules."""
    found = importlib.util.spec_from_file_location(f"evo_libra_{path.stem}", path)
    if found is None or found.loader is None:
        raise ImportError(f"{path} is no module")
    module = importlib.util.module_from_spec(found)
    sys.modules[found.name] = module  # dataclasses and pickle look for it there
    found.loader.exec_module(module)
    return module.problem


def is_code(name: str) -> bool:
    """Return whether a name is ``module:object``, which is imported to load it."""
    return ":" in name and not _is_path(name)
