"""The JSON files of runs and batches: the fields of each and their types, stated once."""

# No postponed annotations: which keys may be missing is asked of the types while the program runs.

from pathlib import Path
from typing import Any, Literal, NotRequired, TypedDict

from evo_libra.experiment.run.schema import checker
from evo_libra.files.integrity import DamagedError, parse_json


class SourceFields(TypedDict):
    """Where the problem of a run comes from, as `evo_libra.experiment.run.settings.Origin` has it."""

    problem: str
    set: list[str]
    data: NotRequired[Any]
    folder: NotRequired[str]
    folder_from_run: NotRequired[str]


class ObjectiveFields(TypedDict):
    """An objective, as `evo_libra.problem.protocol.Objective` has it."""

    name: str
    column: str
    scale: float
    label: str


class HeadFields(TypedDict):
    """What a manifest and a plan both say of a run, and a list of runs shows."""

    name: str
    label: str
    engine: str
    seed: int
    population: int
    budget: int
    hash: str
    search: str
    method: dict[str, Any]


class SettingFields(TypedDict, total=False):
    """What a run needs to be done or copied again; see `evo_libra.experiment.run.settings.RunSpec`."""

    source: SourceFields
    keep: str
    seconds: float | None
    workers: int | None


class ListedFields(HeadFields):
    """What a list of runs shows of a manifest: the head, and the figures of a run that is not at work."""

    experiment: str
    program: str
    started: str
    status: NotRequired[Literal["running", "done", "interrupted"]]
    evaluations: NotRequired[int]
    front: NotRequired[int]
    failures: NotRequired[int]
    restarts: NotRequired[int]
    ended: NotRequired[str]
    wall_s: NotRequired[float]


class ManifestFields(ListedFields, SettingFields):
    """``manifest.json``: what a run came from."""

    problem: dict[str, Any]
    objectives: list[ObjectiveFields]
    versions: dict[str, str]
    git: dict[str, Any] | None
    machine: dict[str, str]
    command: list[str]


class DoneFields(TypedDict):
    """``done.json``: the mark that a run is complete, its figures, and the SHA-256 of its tables."""

    evaluations: int
    front: int
    hypervolume: float | None
    wall_s: float
    ended: str
    restarts: int
    files: dict[str, str]


class FailedFields(TypedDict):
    """``failed.json``: why a run was given up."""

    error: str
    time: NotRequired[float]


class FailureFields(TypedDict):
    """A design that could not be evaluated."""

    reason: str
    genes: list[float]


class FailuresFields(TypedDict):
    """``failures.json``: the designs of a run that could not be evaluated."""

    designs: list[FailureFields]


class AttemptFields(TypedDict):
    """``attempt.json``: how often a batch has tried a run that got no further."""

    batch: str
    evaluations: int | None
    count: int
    memory_kills: NotRequired[dict[str, int | None]]


class PlannedFields(HeadFields, SettingFields):
    """A run of a plan."""

    id: str


class PlanFields(TypedDict):
    """``plan.json``: the runs of a batch."""

    experiment: str
    file: str
    runs: list[PlannedFields]


class RunnerFields(TypedDict):
    """``runner.json``: the last execution of a batch."""

    command: list[str]
    started: float
    workers: int


Action = Literal["pause", "resume", "stop", "retry"]


class RequestFields(TypedDict):
    """What a run or a batch is asked for; see `evo_libra.experiment.store.control`."""

    action: Action


def parse_file(path: Path | str, raw: bytes, fields: Any, *, alone: bool = False) -> dict[str, Any]:  # noqa: ANN401 - a type
    """Return the content of a JSON file.

    Parameters
    ----------
    path, raw : the file and its bytes.
    fields : the `TypedDict` or dataclass that says what is in it.
    alone : leave out whatever else is in it.

    Raises
    ------
    DamagedError : it is not what the program wrote, or lacks what this version of it needs.
    """
    data = parse_json(path, raw, fields.__annotations__ if alone else None)
    if wrong := checker(fields)(data):
        raise DamagedError(f"{path}: {wrong.removeprefix('.').removeprefix(': ')}; another version has written it")
    return data
