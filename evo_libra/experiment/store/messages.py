"""Messages of runs as lines of JSON, and requests to runs and batches as files.

A request lies next to the runs, not in their folders, so that runs that have not begun can be asked, too. Runners and
workers check requests a few times a second. This process is asked to stop by a signal.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from types import FrameType
from typing import Any, Literal, get_args
from urllib.parse import quote, unquote

from evo_libra.errors import InputError, unknown
from evo_libra.experiment.store.folder import EVENTS, LOG, RunFolder
from evo_libra.experiment.store.staging import move_folder_away
from evo_libra.files.checked_json import Fields, checker, parse_file
from evo_libra.files.integrity import (
    DamagedError,
    open_regular,
    parse_line,
    read_bytes,
    seal_json,
    seal_line,
)  # fmt: skip

Action = Literal["pause", "resume", "stop", "retry"]
ACTIONS: tuple[str, ...] = get_args(Action)
_REQUEST = Fields({"action": Action})
_FOLDER = ".control"
_TAIL = 16_384


@dataclass(frozen=True)
class Progress:
    """Progress of a run; evaluations and seconds of work include those of earlier attempts.

    The hypervolume is on the scale of the problem (see `scale_of`); None without a scale.
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
    """Append an event to those of a run: started, resumed, extended, progress, interrupted, failed or done."""
    folder.append(EVENTS, seal_line({"time": round(time.time(), 3), "kind": kind, **facts}))


def tell_progress(folder: RunFolder, progress: Progress) -> None:
    """Append how far a run is."""
    folder.append(EVENTS, seal_line({"kind": "progress", **asdict(progress)}))


def log(folder: RunFolder, text: str) -> None:
    """Append lines to the log of a run."""
    for line in text.rstrip().splitlines():
        folder.append(LOG, f"{time.strftime('%Y-%m-%d %H:%M:%S')} {line}".rstrip())


def read_events(folder: Path) -> list[dict[str, Any]]:
    """Return the events of a run, the oldest first; lines that are not as they were written are left out.

    A crash cuts the last line short, so that such a line does not make the rest a damaged file. A file that cannot be
    read is a `DamagedError`.
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
    """Return the last progress of a run, from the end of its file alone."""
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
    lines = (line for line in raw.splitlines() if line.endswith(b'"}'))  # without a call for each of many others
    return (event for line in lines if (event := parse_line(line)) is not None)


def request(results: Path, target: str, action: str) -> None:
    """Ask a run or a batch, by the id of its record, for something; a later request replaces an earlier one.

    ``pause`` keeps a checkpoint and lets others run first until ``resume``; ``stop`` keeps a checkpoint and ends the
    run for this batch; ``resume`` also takes back a stop; ``retry`` runs a failed, stopped or stale run again. A
    request to a batch is one to all of its runs.
    """
    if action not in ACTIONS:
        raise InputError(unknown("action", action, ACTIONS))
    path = _path(results, target)
    move_folder_away(path)
    RunFolder(path.parent).write(path.name, seal_json({"action": action}), sync=False)


def requested(results: Path, target: str) -> str | None:
    """Return what a run or a batch is asked for; a request that is damaged asks for nothing."""
    try:
        return _read(_path(results, target))
    except DamagedError:
        return None


def all_requested(results: Path) -> dict[str, str]:
    """Return every sound request there is, by its target."""
    return read_requests(results)[0]


def read_requests(results: Path) -> tuple[dict[str, str], list[str]]:
    """Return every request there is, by its target, and a sentence for each that is damaged."""
    found, wrong = dict[str, str](), list[str]()
    for path in sorted((results / _FOLDER).glob("*.request")):
        try:
            action = _read(path)
        except DamagedError as error:
            wrong.append(f"the request to {unquote(path.stem)} is not followed: {error}")
        else:
            found |= {unquote(path.stem): action} if action else {}
    return found, wrong


def settle(results: Path, target: str) -> None:
    """Remove the request of a run or a batch."""
    path = _path(results, target)
    move_folder_away(path)
    path.unlink(missing_ok=True)


def _read(path: Path) -> str | None:
    raw = read_bytes(path)
    return None if raw is None else str(parse_file(path, raw, _REQUEST)["action"])


def _path(results: Path, target: str) -> Path:
    return results / _FOLDER / f"{quote(target, safe='')}.request"


@contextmanager
def catching_interrupts() -> Iterator[Callable[[], bool]]:
    """Return a function that tells whether SIGINT, SIGTERM or SIGHUP has come; a search asks it between generations.

    A second signal does not wait for the generation and raises a KeyboardInterrupt.
    """
    caught: float | None = None

    def catch(_signal: int, _frame: FrameType | None) -> None:
        nonlocal caught
        # Programs that start others may pass on what the terminal has sent to both: that is one signal.
        if caught is not None and time.monotonic() - caught > 1.0:
            raise KeyboardInterrupt
        caught = caught or time.monotonic()

    numbers = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
    before = {number: signal.getsignal(number) for number in numbers}
    for number, handler in before.items():
        if handler is not signal.SIG_IGN:  # under nohup a hang-up is no reason to stop
            signal.signal(number, catch)
    try:
        yield lambda: caught is not None
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
