"""What a run has to tell while it runs: a line of JSON for each event."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from evo_libra.experiment.store import EVENTS, RunFolder

_TAIL = 16_384


@dataclass(frozen=True)
class Progress:
    """How far a run is.

    Attributes
    ----------
    time : seconds since the epoch.
    evaluations : designs evaluated, those of earlier attempts included.
    front : non-dominated designs.
    hypervolume : of the front, on the scale of the problem (see `evo_libra.experiment.scale`); None without a scale.
    seconds : of work, those of earlier attempts included.
    """

    time: float
    evaluations: int
    front: int
    hypervolume: float | None
    seconds: float


def tell(folder: RunFolder, kind: str, **facts: Any) -> None:  # noqa: ANN401 - JSON-able data
    """Append an event to those of a run.

    Parameters
    ----------
    folder : of the run.
    kind : started, resumed, extended, progress, interrupted, failed or done.
    facts : what else there is to say.
    """
    folder.append(EVENTS, json.dumps({"time": round(time.time(), 3), "kind": kind, **facts}, allow_nan=False))


def tell_progress(folder: RunFolder, progress: Progress) -> None:
    """Append how far a run is."""
    folder.append(EVENTS, json.dumps({"kind": "progress", **asdict(progress)}, allow_nan=False))


def read_events(folder: Path) -> list[dict[str, Any]]:
    """Return the events of a run, the oldest first; lines that a crash cut short are left out."""
    try:
        return list(_events((folder / EVENTS).read_bytes()))
    except FileNotFoundError:
        return []


def read_progress(folder: Path) -> list[Progress]:
    """Return the course of a run; what a crash undid and an attempt repeated is there once."""
    course: list[Progress] = []
    for event in read_events(folder):
        if event.get("kind") == "progress":
            point = _progress(event)
            while course and course[-1].evaluations >= point.evaluations:
                course.pop()
            course.append(point)
    return course


def last_progress(folder: Path) -> Progress | None:
    """Return the last progress of a run, from the end of its file alone."""
    try:
        with (folder / EVENTS).open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(size - _TAIL, 0))
            found = [event for event in _events(file.read()) if event.get("kind") == "progress"]
    except FileNotFoundError:
        return None
    return _progress(found[-1]) if found else None


def _progress(event: Mapping[str, Any]) -> Progress:
    return Progress(
        event["time"], event["evaluations"], event["front"], event["hypervolume"], event["seconds"]
    )  # fmt: skip


def _events(raw: bytes) -> Iterator[dict[str, Any]]:
    for line in raw.splitlines():
        try:
            event = json.loads(line)
        except ValueError:
            continue
        if isinstance(event, dict):
            yield event
