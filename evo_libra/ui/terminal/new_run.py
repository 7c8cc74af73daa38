"""Starting batches from the UI: as programs of their own, which leaving the UI does not end."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evo_libra.errors import EvoLibraError, InputError
from evo_libra.experiment.run.record import BatchRecord, RunRecord, plain_name
from evo_libra.experiment.run.settings import file_keys
from evo_libra.experiment.store.folder import MANIFEST, RUNNER, RunFolder
from evo_libra.experiment.store.records import read_plan
from evo_libra.faults import explained

if TYPE_CHECKING:
    from evo_libra.experiment.run.spec import Experiment

FILES = ".experiments"
"""Folder of results that holds the experiment files which the UI has written."""
_PREFIX = "evo-libra: "
_SECONDS = 60
_WHERE = ("--workers", "--scheduler", "--tls-ca-file", "--tls-cert", "--tls-key")
_COPY = """\
# A copy of {id}.
# With more evaluations it goes on where that run ended. Every key of an experiment file may be used here.
"""


def experiment_text(run: RunRecord, name: str, batches: Sequence[BatchRecord]) -> str:
    """Return the text of an experiment file with a single run that is the same as a run.

    Parameters
    ----------
    run : the run.
    name : what the experiment is to be called.
    batches : one of them has planned a run that has not begun.

    Raises
    ------
    InputError : what is there of the run does not tell its problem and settings.
    """
    manifest = _told(run, batches)
    try:
        source = manifest["source"]
        values = {
            "name": name, "problem": source["problem"], **file_keys(manifest),
        }  # fmt: skip
        assignments = [assignment.partition("=") for assignment in source["set"]]
    except KeyError as error:
        what = "is of" if (run.folder / MANIFEST).is_file() else "has not begun, and its batch was planned by"
        raise InputError(f"{run.id} {what} a version that did not keep {error}") from None
    lines = [f"# Starting it runs code that the run names: {name}." for name in _code_of(manifest)]
    lines += [f"{key}: {_scalar(value)}" for key, value in values.items()]
    if assignments:
        lines += ["set:", *(f"  {json.dumps(key)}: {value}" for key, _, value in assignments)]
    return _COPY.format(id=run.id) + "\n".join(lines) + "\n"


def with_warning(question: str, run: RunRecord) -> str:
    """Return a question whether to start a run, with the code that this runs, if any."""
    known = (run.folder / MANIFEST).is_file()
    names = _code_of(RunFolder(run.folder).read_json(MANIFEST)) if known else ()
    return f"{question} This runs code: {' and '.join(names)}" if names else question


def _code_of(manifest: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the names of a run's problem and engine that are code, which is run when the run is started."""
    from evo_libra.experiment.run.origin import code_of  # noqa: PLC0415 - imports NumPy

    return code_of(str(manifest.get("source", {}).get("problem", "")), str(manifest.get("engine", "")))


def _told(run: RunRecord, batches: Sequence[BatchRecord]) -> Mapping[str, Any]:
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

    It lies in the folder of results; where the problem is written in Python, beside its module.
    """
    path = _path(results, name)
    source = _told(run, batches).get("source", {})
    if source.get("data") is None and source.get("folder"):
        path = Path(source["folder"]) / path.name
    path.parent.mkdir(parents=True, exist_ok=True)
    with explained(path.parent):
        path.write_text(text, encoding="utf-8")
    return path


def checked(path: Path, results: Path, batches: Sequence[BatchRecord]) -> tuple[Experiment, int]:
    """Read an experiment file and return the experiment, and how many of its runs are to be executed.

    Raises
    ------
    InputError : the file is wrong, all of its runs are done, or its name is that of an experiment in another file.
    """
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
    """Start a batch as a program of its own, and return what to say.

    Parameters
    ----------
    path : the experiment file.
    results : the folder of results.
    again : which runs that have ended are run again: ``stale``, ``failed``.
    options : words of the command line, such as ``--workers 4`` or ``--scheduler tls://head:8786``.

    Raises
    ------
    InputError : the file or the options are wrong.
    """
    try:
        more = shlex.split(options)
    except ValueError as error:
        raise InputError(f"the options '{options}' cannot be read: {error}") from None
    flags = [{"stale": "--rerun-stale", "failed": "--retry-failed"}[one] for one in again]
    words = ["run", str(path), "--out", str(results), "--detach", "--json", *flags, *more]
    # With -P, so that no file of the current folder stands in for a module.
    command = [sys.executable, "-P", "-c", "from evo_libra.ui.cli import main; main()", *words]
    try:
        done = subprocess.run(  # noqa: S603 - our own program
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        raise EvoLibraError(f"{path} takes longer than {_SECONDS} s to read; start it on the command line") from None
    if done.returncode:
        lines = [line.removeprefix(_PREFIX) for line in done.stderr.splitlines() if line.strip()]
        raise InputError("\n".join(lines[-20:]) or f"the batch cannot be started (exit code {done.returncode})")
    started: Mapping[str, Any] = json.loads(done.stdout)
    return f"{started['experiment']} runs as process {started['pid']}"


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
