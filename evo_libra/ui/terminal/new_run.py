"""Starting batches from the UI: as programs of their own, which leaving the UI does not end."""

from __future__ import annotations

import json
import shlex
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evo_libra.errors import EvoLibraError, InputError, explained
from evo_libra.experiment.run.record import BatchRecord, RunRecord, plain_name
from evo_libra.experiment.run.settings import file_keys
from evo_libra.experiment.store.folder import MANIFEST, RUNNER, RunFolder
from evo_libra.experiment.store.records import read_plan
from evo_libra.installed import is_installed
from evo_libra.named_code import OPTION, trusts_files
from evo_libra.ui.processes import AGAIN, program

if TYPE_CHECKING:
    from evo_libra.experiment.run.spec import Experiment

FILES = ".experiments"
"""Folder of results that holds the experiment files which the UI has written."""
_PREFIX = "evo-libra: "
_SECONDS = 60
_WHERE = ("--workers", "--scheduler", "--tls-ca-file", "--tls-cert", "--tls-key")
_LOCAL = (".", "experiments", "problems")
_SEARCH = """\
# A search of {problem}.
# Every key of an experiment file may be used here; below `set:`, those of the problem, such as npus: 1024.
"""
_COPY = """\
# A copy of {id}.
# With more evaluations it goes on where that run ended. Every key of an experiment file may be used here.
"""


def choices(batches: Sequence[BatchRecord]) -> list[str]:
    """Return the experiments and problems to choose from: files of batches, files here, and problems by name."""
    from evo_libra.problem.file.registry import problem_names  # noqa: PLC0415 - the first plot does not wait for it

    recent = [batch.file for batch in batches if Path(batch.file).is_file()]
    local = [str(path) for folder in _LOCAL for path in sorted(Path(folder).glob("*.yaml"))]
    here = {Path(file).resolve() for file in local}
    return [*dict.fromkeys(file for file in recent if Path(file).resolve() not in here), *local, *problem_names()]


def is_problem(name: str) -> bool:
    """Return whether a user names a problem, and not an experiment file; an InputError says that it cannot be read."""
    from evo_libra.files.source import read_source  # noqa: PLC0415 - the first plot does not wait for YAML
    from evo_libra.problem.file.registry import problem_names  # noqa: PLC0415 - the same

    path = Path(name)
    if not path.is_file():
        return name in problem_names()
    data = read_source(path).data
    return isinstance(data, dict) and "workloads" in data


def search_text(problem: str, name: str) -> str:
    """Return the text of an experiment file that searches a problem with the settings of its own."""
    from evo_libra.experiment.run.origin import build, origin_of  # noqa: PLC0415 - the first plot does not wait for it
    from evo_libra.experiment.run.spec import manifest_of, run_of  # noqa: PLC0415 - the same

    origin = origin_of(problem, [])
    if origin.data is None:
        raise InputError(f"'{problem}' is written in Python; `evo-libra search {problem}` starts it")
    built = build(origin)
    manifest = manifest_of(run_of(origin, built), built, [], Path())
    return _SEARCH.format(problem=problem) + _keys_text(name, manifest)


def experiment_text(run: RunRecord, name: str, batches: Sequence[BatchRecord]) -> str:
    """Return the text of an experiment file with the same run, where its files state the problem and the settings."""
    manifest = _manifest(run, batches)
    try:
        return _COPY.format(id=run.id) + _keys_text(name, manifest)
    except KeyError as error:
        what = "is of" if (run.folder / MANIFEST).is_file() else "has not begun, and its batch was planned by"
        raise InputError(f"{run.id} {what} a version that did not keep {error}") from None


def _keys_text(name: str, manifest: Mapping[str, Any]) -> str:
    """Return the keys of an experiment file for the run of a manifest; a `KeyError` names what it does not have."""
    source = manifest["source"]
    values = {"name": name, "problem": source["problem"], **file_keys(manifest)}
    assignments = [assignment.partition("=") for assignment in source["set"]]
    lines = [f"# The run names code, {name}: {OPTION} runs it." for name in _code_of(manifest)]
    lines += [f"{key}: {_scalar(value)}" for key, value in values.items()]
    if assignments:
        lines += ["set:", *(f"  {json.dumps(key)}: {value}" for key, _, value in assignments)]
    return "\n".join(lines) + "\n"


def with_warning(question: str, run: RunRecord) -> str:
    """Return a question whether to start a run, with the code that the run names, if any."""
    known = (run.folder / MANIFEST).is_file()
    names = _code_of(RunFolder(run.folder).read_json(MANIFEST)) if known else ()
    if not names:
        return question
    return f"{question} The run names code, {' and '.join(names)}: {OPTION} among the options runs it."


def _code_of(manifest: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the names of a run's problem and engine that are code."""
    from evo_libra.experiment.run.origin import code_of  # noqa: PLC0415 - imports NumPy

    return code_of(str(manifest.get("source", {}).get("problem", "")), str(manifest.get("engine", "")))


def _manifest(run: RunRecord, batches: Sequence[BatchRecord]) -> Mapping[str, Any]:
    """Return the manifest of a run, or what its batch planned where it has not begun."""
    if (run.folder / MANIFEST).is_file():
        return RunFolder(run.folder).read_json(MANIFEST)
    plans = [read_plan(batch.folder) for batch in batches if run.id in batch.runs]
    planned = [one for plan in plans if plan is not None for one in plan["runs"] if one["id"] == run.id]
    if not planned:
        raise InputError(f"{run.id} has not begun, and no batch describes it")
    return max(planned, key=lambda one: "source" in one)  # some may be of an earlier version


def _scalar(value: Any) -> str:  # noqa: ANN401 - data of a manifest
    """Return a value as YAML; words that mean nothing else need no quotes."""
    plain = isinstance(value, str) and value.replace("-", "").replace("/", "").replace(".", "").isalnum()
    return value if plain and not value[0].isdigit() and value[0] not in "-." else json.dumps(value)


def free_name(wish: str, batches: Sequence[BatchRecord], results: Path) -> str:
    """Return a name that no experiment has yet, with a number after it where it needs one."""
    taken = {plain_name(batch.experiment) for batch in batches}
    names = (wish if n == 1 else f"{wish}-{n}" for n in range(1, 10_000))
    return next(name for name in names if plain_name(name) not in taken and not (_path(results, name)).exists())


def _path(results: Path, name: str) -> Path:
    return results / FILES / f"{plain_name(name)}.yaml"


def write_experiment(results: Path, run: RunRecord, name: str, text: str, batches: Sequence[BatchRecord]) -> Path:
    """Write an experiment file that is made from a run for the UI to start, and return its path.

    It lies in the folder of results; where the problem is written in Python, next to its module.
    """
    source = _manifest(run, batches).get("source", {})
    python = source.get("data") is None and source.get("folder")
    return write_file(results, name, text, Path(source["folder"]) if python else None)


def write_file(results: Path, name: str, text: str, folder: Path | None = None) -> Path:
    """Write an experiment file into a folder, that of the UI's own files when left out, and return its path."""
    path = _path(results, name)
    path = path if folder is None else folder / path.name
    path.parent.mkdir(parents=True, exist_ok=True)
    with explained(path.parent):
        path.write_text(text, encoding="utf-8")
    return path


def file_of_search(run: RunRecord, batches: Sequence[BatchRecord], results: Path) -> Path:
    """Write the experiment file of a single search, which must still be the same search, and return its path."""
    name = free_name(f"{run.problem}-s{run.seed}", batches, results)
    path = write_experiment(results, run, name, experiment_text(run, name, batches), batches)
    experiment, _ = checked(path, results, batches)
    if [spec.id for spec in experiment.runs] != [run.id]:
        raise InputError(f"the problem of {run.id} is not what it was when the run began; c copies the run")
    return path


def checked(path: Path, results: Path, batches: Sequence[BatchRecord]) -> tuple[Experiment, int]:
    """Return the experiment of a file, whose name no other file has, and how many of its runs are to be executed."""
    from evo_libra.experiment.execution.plan import plan_of, wanted  # noqa: PLC0415 - the same
    from evo_libra.experiment.file.expansion import load_experiment  # noqa: PLC0415 - validates, which takes a while to import

    experiment = load_experiment(path)
    for batch in batches:
        same = plain_name(batch.experiment) == plain_name(experiment.name)
        if same and Path(batch.file).resolve() != path.resolve():
            raise InputError(
                f"there is an experiment '{batch.experiment}' already, from {batch.file}; choose another name"
            )
    todo = len(wanted(plan_of(experiment, results), ()))
    return experiment, todo


def start(path: Path, results: Path, *, again: Sequence[str] = (), options: str = "") -> str:
    """Start an experiment file as a program of its own, and return a sentence.

    Parameters
    ----------
    again : which runs that have ended are run again: ``stale``, ``failed``.
    options : words of the command line, such as ``--workers 4`` or ``--scheduler tls://head:8786``.
    """
    try:
        more = shlex.split(options)
    except ValueError as error:
        raise InputError(f"the options '{options}' cannot be read: {error}") from None
    flags = [AGAIN[one] for one in again]
    alone = not is_installed("distributed") and not any(word.partition("=")[0] in _WHERE for word in more)
    words = ["run", str(path), "--out", str(results), "--detach", "--json", *flags, *more]
    words += ["--workers", "0"] if alone else []
    words += [OPTION] if trusts_files() else []
    try:
        done = subprocess.run(  # noqa: S603 - our own program
            program(words), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        raise EvoLibraError(f"{path} takes longer than {_SECONDS} s to read; start it on the command line") from None
    if done.returncode:
        lines = [line.removeprefix(_PREFIX) for line in done.stderr.splitlines() if line.strip()]
        raise InputError("\n".join(lines[-20:]) or f"the batch cannot be started (exit code {done.returncode})")
    started: Mapping[str, Any] = json.loads(done.stdout)
    several = "; with pip install 'evo-libra[cluster]' several runs work at once" if alone else ""
    return f"{started['experiment']} runs as process {started['pid']}{several}"


def last_options(batch: BatchRecord | None) -> str:
    """Return the workers or the scheduler that a batch was started with the last time, as words of a command line."""
    if batch is None:
        return ""
    try:
        words = RunFolder(batch.folder).read_json(RUNNER).get("command", [])
    except InputError:
        return ""
    found = [words[at : at + 2] for at, word in enumerate(words) if word in _WHERE and at + 1 < len(words)]
    return shlex.join(word for pair in found for word in pair)
