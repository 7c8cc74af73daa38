"""The course of a run at work, of which only what is new is read."""

from __future__ import annotations

from pathlib import Path

from evo_libra.experiment.store.events import Progress, add_progress
from evo_libra.experiment.store.folder import EVENTS
from evo_libra.files.integrity import open_regular, parse_line


class ProgressReader:
    """Follows the events of a run; see `evo_libra.experiment.store.events.read_progress` for what it finds.

    Parameters
    ----------
    folder : of the run.
    """

    def __init__(self, folder: Path) -> None:
        self._path, self._read, self._course = folder / EVENTS, 0, list[Progress]()

    def follow(self) -> tuple[Progress, ...]:
        """Return the course so far; what a crash undid and an attempt repeated is there once.

        Raises
        ------
        DamagedError : the file cannot be read.
        """
        file = open_regular(self._path)
        if file is None:
            self._read, self._course = 0, []
            return ()
        with file:
            if file.seek(0, 2) < self._read:
                self._read, self._course = 0, []  # the run was begun anew
            file.seek(self._read)
            new = file.read()
        whole = new[: new.rfind(b"\n") + 1]
        self._read += len(whole)
        for line in whole.splitlines():
            add_progress(self._course, parse_line(line) or {})  # a crash cuts a line short
        return tuple(self._course)
