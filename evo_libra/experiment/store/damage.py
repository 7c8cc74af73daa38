"""Which files of a run are not what it wrote."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from evo_libra.experiment.store.folder import (
    ATTEMPT,
    CHECKPOINT,
    DESIGNS,
    DONE,
    EVENTS,
    FAILED,
    FAILURES,
    FRONT,
    LOG,
    MANIFEST,
    PLOT,
    RunFolder,
    checksum,
    is_run,
    move_folder_away,
    read_file,
    without_manifest,
)
from evo_libra.experiment.store.sealed import check_sealed
from evo_libra.files.integrity import DamagedError, check_table, open_regular, read_bytes


def damaged_files(folder: RunFolder) -> dict[str, str]:
    """Return the files of a run that are not what it wrote: their names, and a sentence each.

    The checkpoint counts until the run has finished; a line of the events counts for nothing but itself.
    """
    path, wrong = folder.path, dict[str, str]()

    def look(name: str, check: Callable[[Path], object]) -> None:
        try:
            check(path / name)
        except DamagedError as error:
            wrong[name] = str(error)

    for name in (MANIFEST, DONE, FAILED, FAILURES, ATTEMPT):
        look(name, lambda file: read_file(path, file.name))
    for name in (EVENTS, LOG, PLOT, CHECKPOINT):
        look(name, _is_file)
    done = None if DONE in wrong else read_file(path, DONE)
    if done is not None and not is_run(path):
        wrong[MANIFEST] = str(without_manifest(path))
    if done is None:
        look(CHECKPOINT, lambda file: _if_there(file, check_sealed))
    tables = done["files"] if done else dict.fromkeys((FRONT, *(one.name for one in path.glob(DESIGNS))), "")
    for name, digest in tables.items():
        look(name, lambda file, digest=digest: check_written(file, digest))  # type: ignore[misc]
    return wrong


def drop_damaged(folder: RunFolder) -> list[str]:
    """Remove the damaged files of a run, for whoever holds its claim, and that it is done; return what was wrong."""
    wrong = damaged_files(folder)
    for name in [DONE, *wrong] if wrong else ():
        move_folder_away(folder.path / name)  # whose ever it is
        folder.remove(name)
    return list(wrong.values())


def _is_file(path: Path) -> None:
    file = open_regular(path)
    if file is not None:
        file.close()


def check_written(path: Path | str, digest: str) -> None:
    """Check a table against the checksum that the mark of a finished run has of it; against its own where that is "".

    Raises
    ------
    DamagedError : it is not what the run wrote, cannot be read, or is not there.
    """
    if digest and checksum(path) == digest:
        return
    _if_there(path, check_table)
    if digest:
        raise DamagedError(f"{path} is not what the run wrote: its checksum is another one")


def _if_there(path: Path | str, check: Callable[[Path | str, bytes], None]) -> None:
    raw = read_bytes(path)
    if raw is not None:
        check(path, raw)
