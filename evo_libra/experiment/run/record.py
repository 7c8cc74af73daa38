"""The record of a run: the columns that files, index, catalogue and user interfaces read, and its provenance.

A new result of a run is a field of `RunFigures` here, and a value where `evo_libra.experiment.execution.search_run`
fills `RunFigures`. It is then a key of the files of a run, a column of the catalogue, a filter and a sort key.
"""

from __future__ import annotations

import hashlib
import os
import platform
import re
import subprocess
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import Any, Literal, get_args

from evo_libra.errors import counted
from evo_libra.experiment.run.settings import SETTINGS
from evo_libra.version import __version__

Status = Literal["queued", "running", "paused", "done", "stale", "failed", "interrupted", "damaged"]
STATUSES: tuple[str, ...] = get_args(Status)
_EMPTY: Mapping[str, Any] = {"str": "", "int": 0, "float": 0.0, "float | None": None, "Status": "damaged"}


@dataclass(frozen=True)
class Column:
    """A column of lists of runs.

    Attributes
    ----------
    name : key of JSON output, field of filters.
    attribute : attribute of `RunRecord`, which is the name of all columns but ``folder``.
    kind : type of its values, as annotated.
    place, key : where a value comes from: ``head`` is the manifest, or the plan before there is a manifest; ``plan`` is
        the plan, or the manifest of a run without a plan; ``setting`` is a setting in the head; ``figure`` is a result.
        Other values follow from the files that are there.
    shown : tables show it ``always``, or only where they have room (``wide``); empty for never.
    required : whether a plan without it is damaged, or a ``done.json`` for a figure.
    """

    name: str
    attribute: str
    kind: str
    help: str
    place: Literal["head", "plan", "setting", "figure", ""]
    key: str
    unit: str = ""
    heading: str = ""
    shown: Literal["always", "wide", ""] = ""
    required: bool = True

    @property
    def empty(self) -> Any:  # noqa: ANN401 - of any kind
        """The value of a run without any information."""
        return _EMPTY[self.kind]


def _column(text: str, place: str = "", *, default: Any = MISSING, **more: str) -> Any:  # noqa: ANN401 - what `field` takes and returns
    return field(default=default, metadata={"help": text, "place": place, **more})


def _of_setting(name: str) -> Any:  # noqa: ANN401 - what `field` returns
    return _column(SETTINGS[name].help, "setting", key=name)


def _columns(record: type) -> tuple[Column, ...]:
    return tuple(
        Column(
            attribute=one.name, kind=str(one.type), required=one.default is MISSING,
            **{"name": one.name, "key": one.name, "heading": one.name, **one.metadata},
        )
        for one in fields(record)
    )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class RunFigures:
    """The results of a run, as ``done.json`` has them. A figure with a default may be missing in older files."""

    evaluations: int = _column("designs evaluated", "figure", shown="always")
    front_size: int = _column("designs on the front", "figure", key="front", heading="front", shown="always")
    hypervolume: float | None = _column(
        "hypervolume of the front, on a scale that all runs of the problem share; none where it is not known",
        "figure", shown="wide",
    )  # fmt: skip
    wall_s: float = _column(
        "time of work, earlier attempts included", "figure", unit="s", heading="time", shown="always"
    )
    ended: str = _column("what ended a finished run: evaluations, seconds, stagnation, gap or exhausted", "figure")
    restarts: int = _column("restarts of the engine, as of the end or the last interruption", "figure")
    claim: str = _column(
        "the proof of the front, with its space and its time model; empty without any", "figure", default=""
    )

    def json(self) -> dict[str, Any]:
        """Return the figures with the keys of the files of a run."""
        return {one.key: getattr(self, one.name) for one in RUN_FIGURES}

    @staticmethod
    def of(data: Mapping[str, Any]) -> RunFigures:
        """Return the figures in JSON data; a figure that is missing is empty."""
        return RunFigures(**{one.name: data.get(one.key, one.empty) for one in RUN_FIGURES})


RUN_FIGURES = _columns(RunFigures)
NO_FIGURES = RunFigures.of({})


@dataclass(frozen=True, kw_only=True)
class RunRecord(RunFigures):
    """A run as its files show it; `COLUMNS` defines each attribute."""

    id: str = _column("<problem>/<folder>, the path below the folder of results", heading="run", shown="always")
    location: str = _column("path of the run's folder, which is not there before the run starts", name="folder")
    experiment: str = _column(
        "experiments that the run belongs to, separated by commas; empty for a single search", "plan"
    )
    name: str = _column(
        "what distinguishes the run from the other runs of its experiment, such as npus=1024", "plan", key="label",
        shown="wide",
    )  # fmt: skip
    problem: str = _column("name of the problem", "head", key="name")
    question: str = _column(
        "question of the problem, an order of products or a design; empty for runs of earlier versions",
        "head", default="", shown="wide",
    )  # fmt: skip
    engine: str = _of_setting("engine")
    seed: int = _of_setting("seed")
    population: int = _of_setting("population")
    status: Status = _column(  # noqa: RUF009
        "queued has not started or waits for a worker of its batch; interrupted can go on, but no worker has it; "
        "stale is done by another version of the program; damaged has a file that is not what the program wrote, so "
        "its figures are not known",
        shown="always",
    )  # fmt: skip
    budget: int = _of_setting("evaluations")
    started: float = _column("time of the start, since the epoch; 0 before it", unit="s")
    updated: float = _column("time of the last change, since the epoch", unit="s")
    worker: str = _column("host:pid of the process at work; empty for none")
    error: str = _column("last line of a failure, or which file of a damaged run is wrong and why")
    hash: str = _column("hash of problem, settings and budget", "head")
    search: str = _column("hash of problem and settings, without the budget", "head")
    islands: int = _of_setting("islands")

    @property
    def folder(self) -> Path:
        """The run's folder. It is made on demand: 20,000 paths take a third of the time of a listing."""
        return Path(self.location)

    def row(self) -> dict[str, Any]:
        """Return the values of all columns as JSON-able data."""
        return {one.name: getattr(self, one.attribute) for one in COLUMNS}


COLUMNS: tuple[Column, ...] = (*_columns(RunRecord)[len(RUN_FIGURES) :], *RUN_FIGURES)
"""The columns of lists of runs, figures last."""
RunRecord.__doc__ = "\n".join([
    f"{RunRecord.__doc__}\n\nAttributes\n----------",
    *(f"{one.attribute} : {one.help}{f' [{one.unit}]' if one.unit else ''}." for one in COLUMNS),
])  # fmt: skip


@dataclass(frozen=True)
class BatchRecord:
    """A batch: an experiment that was run into a folder of results.

    Attributes
    ----------
    id : its folder below the folder of results, ``.batches/<name>``.
    experiment, file : the experiment's name, and the path of its file.
    runner : ``host:pid`` of the program that executes it; empty for none.
    started : of the last execution, since the epoch [s].
    """

    id: str
    folder: Path
    experiment: str
    file: str
    runs: tuple[str, ...]
    runner: str
    started: float


def counts(runs: Sequence[RunRecord]) -> dict[str, int]:
    """Return the number of runs of each status."""
    return dict(Counter(run.status for run in runs))


def ending_text(ended: str, restarts: int) -> str:
    """Return what ended a run before its evaluations, and the number of its restarts; empty for neither.

    >>> ending_text("stagnation", 2), ending_text("evaluations", 1), ending_text("", 0)
    ('ended by stagnation, 2 restarts', '1 restart', '')
    """
    from evo_libra.searching.engine import EXHAUSTED, GAP, SECONDS, STAGNATION  # noqa: PLC0415 - lists need no engines

    endings = {
        STAGNATION: "ended by stagnation",
        GAP: "ended with the gap proven",
        SECONDS: "ended by the limit of seconds",
        EXHAUSTED: "all designs are evaluated",
    }
    return ", ".join(filter(None, (endings.get(ended, ""), counted(restarts, "restart") if restarts else "")))


def plain_name(name: str) -> str:
    """Return a name as a part of a path."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name).lstrip(".") or "-"


_ELSEWHERE = ("astra_sim", "experiment", "explain", "pictures", "report", "ui")
"""Rooms that no result depends on."""
_PACKAGES = ("numpy", "moocore", "pymoo", "deap", "clarabel", "polars", "pydantic", "ruamel.yaml")


@cache
def versions() -> dict[str, str]:
    """Return the versions of the program, of Python and of every package that results depend on."""
    from importlib.metadata import version  # noqa: PLC0415 - listing results does not need it

    packages = {name: version(name) for name in _PACKAGES}
    return {"evo-libra": __version__, "python": platform.python_version(), **packages}


@cache
def program() -> str:
    """Return a digest of the program's code that results depend on: models, problems, fronts, engines.

    It changes with the code alone, not with documentation, commands or the place of installation.
    """
    package = Path(__file__).parents[2]
    digest = hashlib.sha256(__version__.encode())
    for parts in sorted(_sources(str(package))):
        name = "/".join(parts)
        with open(f"{package}/{name}", "rb") as file:  # noqa: PTH123 - a Path for each of hundreds takes long
            digest.update(f"{name}\0".encode() + file.read())
    return digest.hexdigest()[:16]


def _sources(package: str) -> Iterator[tuple[str, ...]]:
    """Yield the path of each file of code that results depend on, by its parts."""
    for folder, folders, files in os.walk(package):
        inside = tuple(folder[len(package) :].split(os.sep)[1:])  # noqa: PTH206 - as in `program`
        if not inside:
            folders[:] = [name for name in folders if name not in _ELSEWHERE]
        yield from ((*inside, name) for name in files if name.endswith(".py"))


_BRANCH = "# branch.oid "
"""Text that git writes before the commit."""


@cache
def git_state() -> dict[str, Any] | None:
    """Return commit and cleanliness of the checkout that the program runs from; None outside a checkout."""
    # One command, as to start one takes milliseconds.
    command = ["git", "-C", str(Path(__file__).parent), "status", "--porcelain=v2", "--branch", "--", "."]
    try:
        lines = subprocess.run(command, capture_output=True, text=True, check=True, timeout=10).stdout.splitlines()  # noqa: S603 - fixed words
    except (OSError, subprocess.CalledProcessError, subprocess.TimeoutExpired):
        return None
    commit = next(line.removeprefix(_BRANCH) for line in lines if line.startswith(_BRANCH))
    clean = all(line.startswith("# ") for line in lines)
    return None if commit == "(initial)" else {"commit": commit, "clean": clean}


@cache
def machine() -> dict[str, str]:
    """Return what the run ran on."""
    processor = platform.processor() or platform.machine()
    return {"host": platform.node(), "system": platform.platform(), "processor": processor}
