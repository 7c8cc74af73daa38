"""Requests to runs, as files that runners and workers look at a few times a second.

A request lies beside the runs, not in their folders, so that runs that have not begun can be asked, too.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal, get_args
from urllib.parse import quote, unquote

from evo_libra.errors import InputError, unknown
from evo_libra.experiment.store import RunFolder

Action = Literal["pause", "resume", "stop", "retry"]
ACTIONS: tuple[str, ...] = get_args(Action)
_FOLDER = ".control"


def request(results: Path, target: str, action: str) -> None:
    """Ask a run or a batch for something; a later request replaces an earlier one.

    Parameters
    ----------
    results : the folder of results.
    target : `RunInfo.id` of a run, or `BatchInfo.id` of a batch, which stands for all of its runs.
    action : ``pause`` keeps a checkpoint and lets others run first until ``resume``; ``stop`` keeps a checkpoint and
        ends the run for this batch; ``resume`` also takes back a stop; ``retry`` runs a failed, stopped or stale run
        again.

    Raises
    ------
    InputError : there is no such action.
    """
    if action not in ACTIONS:
        raise InputError(unknown("action", action, ACTIONS))
    path = _path(results, target)
    RunFolder(path.parent).write(path.name, action.encode(), sync=False)


def requested(results: Path, target: str) -> str | None:
    """Return what a run or a batch is asked for."""
    return _read(_path(results, target))


def all_requested(results: Path) -> dict[str, str]:
    """Return every request there is, by its target."""
    try:
        paths = list((results / _FOLDER).glob("*.request"))
    except FileNotFoundError:
        return {}
    found = {path: _read(path) for path in paths}
    return {unquote(path.stem): action for path, action in found.items() if action}


def settle(results: Path, target: str) -> None:
    """Remove the request of a run or a batch."""
    _path(results, target).unlink(missing_ok=True)


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8") or None
    except FileNotFoundError:
        return None


def _path(results: Path, target: str) -> Path:
    return results / _FOLDER / f"{quote(target, safe='')}.request"
