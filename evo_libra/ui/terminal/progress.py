"""The course of a run at work, of which only what is new is read."""

from __future__ import annotations

import json
from pathlib import Path

from evo_libra.experiment.events import Progress
from evo_libra.experiment.store import EVENTS

_NAMES = ("time", "evaluations", "front", "hypervolume", "seconds")


class ProgressReader:
    """Follows the events of a run; see `evo_libra.experiment.events.read_progress` for what it finds.

    Parameters
    ----------
    folder : of the run.
    """

    def __init__(self, folder: Path) -> None:
        self._path, self._read, self._course = folder / EVENTS, 0, list[Progress]()

    def follow(self) -> tuple[Progress, ...]:
        """Return the course so far; what a crash undid and an attempt repeated is there once."""
        try:
            with self._path.open("rb") as file:
                if file.seek(0, 2) < self._read:
                    self._read, self._course = 0, []  # the run was begun anew
                file.seek(self._read)
                new = file.read()
        except FileNotFoundError:
            self._read, self._course = 0, []
            return ()
        whole = new[: new.rfind(b"\n") + 1]
        self._read += len(whole)
        for line in whole.splitlines():
            self._take(line)
        return tuple(self._course)

    def _take(self, line: bytes) -> None:
        try:
            event = json.loads(line)
        except ValueError:
            return  # cut short by a crash
        if not isinstance(event, dict) or event.get("kind") != "progress":
            return
        point = Progress(*(event[name] for name in _NAMES))
        while self._course and self._course[-1].evaluations >= point.evaluations:
            self._course.pop()
        self._course.append(point)
