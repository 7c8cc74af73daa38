"""Requests to runs, as files that runners and workers look at a few times a second.

A request lies beside the runs, not in their folders, so that runs that have not begun can be asked, too.
"""

from __future__ import annotations

from pathlib import Path
from typing import get_args
from urllib.parse import quote, unquote

from evo_libra.errors import InputError, unknown
from evo_libra.experiment.store.folder import RunFolder, discard, move_folder_away
from evo_libra.experiment.store.json_files import REQUEST_FIELDS, Action, parse_file
from evo_libra.files.integrity import DamagedError, read_bytes, seal_json

ACTIONS: tuple[str, ...] = get_args(Action)
_FOLDER = ".control"


def request(results: Path, target: str, action: str) -> None:
    """Ask a run or a batch for something; a later request replaces an earlier one.

    Parameters
    ----------
    results : the folder of results.
    target : `RunRecord.id` of a run, or `BatchRecord.id` of a batch, which stands for all of its runs.
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


def read_requests(results: Path) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return every request there is, by its target, and a sentence for each that is damaged."""
    found, wrong = dict[str, str](), list[str]()
    for path in sorted((results / _FOLDER).glob("*.request")):
        try:
            action = _read(path)
        except DamagedError as error:
            wrong.append(f"the request to {unquote(path.stem)} is not followed: {error}")
        else:
            found |= {unquote(path.stem): action} if action else {}
    return found, tuple(wrong)


def settle(results: Path, target: str) -> None:
    """Remove the request of a run or a batch."""
    discard(_path(results, target))


def _read(path: Path) -> str | None:
    raw = read_bytes(path)
    return None if raw is None else str(parse_file(path, raw, REQUEST_FIELDS)["action"])


def _path(results: Path, target: str) -> Path:
    return results / _FOLDER / f"{quote(target, safe='')}.request"
