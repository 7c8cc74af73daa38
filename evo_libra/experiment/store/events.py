"""What a run has to tell while it runs: a line of JSON for each event."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from evo_libra.experiment.store.folder import EVENTS, LOG, RunFolder
from evo_libra.experiment.store.json_files import checker
from evo_libra.files.integrity import open_regular, parse_line, read_bytes, seal_line

_TAIL = 16_384


@dataclass(frozen=True)
class Progress:
    """How far a run is.

    Attributes
    ----------
    time : seconds since the epoch.
    evaluations : designs evaluated, those of earlier attempts included.
    front : non-dominated designs.
    hypervolume : of the front, on the scale of the problem (see `.execution.search_run`); None without a scale.
    seconds : of work, those of earlier attempts included.
    """

    time: float
    evaluations: int
    front: int
    hypervolume: float | None
    seconds: float

    def figures(self) -> dict[str, Any]:
        """Return its part of the results of a run, with the keys of the files of a run."""
        return {
            "evaluations": self.evaluations, "front": self.front, "hypervolume": self.hypervolume,
            "wall_s": self.seconds,
        }  # fmt: skip


def tell(folder: RunFolder, kind: str, **facts: Any) -> None:  # noqa: ANN401 - JSON-able data
    """Append an event to those of a run.

    Parameters
    ----------
    folder : of the run.
    kind : started, resumed, extended, progress, interrupted, failed or done.
    facts : what else there is to say.
    """
    folder.append(EVENTS, seal_line({"time": round(time.time(), 3), "kind": kind, **facts}))


def tell_progress(folder: RunFolder, progress: Progress) -> None:
    """Append how far a run is."""
    folder.append(EVENTS, seal_line({"kind": "progress", **asdict(progress)}))


def read_events(folder: Path) -> list[dict[str, Any]]:
    """Return the events of a run, the oldest first; lines that are not as they were written are left out.

    A crash cuts the last line short, so that such a line does not make the rest a damaged file.

    Raises
    ------
    DamagedError : the file cannot be read.
    """
    return list(_events(read_bytes(folder / EVENTS) or b""))


def read_progress(folder: Path) -> list[Progress]:
    """Return the progress of a run; what a crash undid and another attempt repeated is there once."""
    points: list[Progress] = []
    for event in read_events(folder):
        add_progress(points, event)
    return points


def add_progress(points: list[Progress], event: Mapping[str, Any]) -> None:
    """Add an event of progress to earlier ones, and remove those that a crash has undone."""
    point = _progress(event)
    if point is None:
        return
    while points and points[-1].evaluations >= point.evaluations:
        points.pop()
    points.append(point)


def last_progress(folder: Path) -> Progress | None:
    """Return the last progress of a run, from the end of its file alone.

    Raises
    ------
    DamagedError : the file cannot be read.
    """
    file = open_regular(folder / EVENTS)
    if file is None:
        return None
    with file:
        file.seek(max(os.fstat(file.fileno()).st_size - _TAIL, 0))
        points = [_progress(event) for event in _events(file.read())]
    return next((point for point in reversed(points) if point is not None), None)


def _progress(event: Mapping[str, Any]) -> Progress | None:
    """Return the progress that an event tells; None where it tells something else."""
    if event.get("kind") != "progress" or checker(Progress)(event):
        return None
    return Progress(**{field.name: event[field.name] for field in fields(Progress)})


def _events(raw: bytes) -> Iterator[dict[str, Any]]:
    for line in raw.splitlines():
        event = parse_line(line)
        if event is not None:
            yield event


def log(folder: RunFolder, text: str) -> None:
    """Append lines to the log of a run."""
    for line in text.rstrip().splitlines():
        folder.append(LOG, f"{time.strftime('%Y-%m-%d %H:%M:%S')} {line}".rstrip())
