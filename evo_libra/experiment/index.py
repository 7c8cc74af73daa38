"""The SQLite file behind a catalogue: derived from the folders of runs, worth nothing by itself."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Collection, Sequence
from dataclasses import asdict, fields
from pathlib import Path

from evo_libra.experiment.record import RunInfo

_VERSION = 3  # Of the tables; an index of another one is made anew.
_KEPT = 64  # Fronts.
_LARGEST = 1 << 20  # Bytes of a front; larger ones are read from their files.
_COLUMNS = tuple(field.name for field in fields(RunInfo))


def open_index(path: Path | None) -> sqlite3.Connection:
    """Open an index; a damaged one is begun anew, one that cannot be kept lies in memory, as does that of no path."""
    if path is None:
        return _prepared(None)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return _prepared(path)
    except (sqlite3.OperationalError, OSError):
        return _prepared(None)
    except sqlite3.DatabaseError:
        path.unlink(missing_ok=True)
        return _prepared(path)


def load(index: sqlite3.Connection, results: Path) -> list[tuple[str, RunInfo]]:
    """Return what an index holds: stamps of the runs' files, and the runs.

    Parameters
    ----------
    index : the index.
    results : the folder that the runs are in, which may be named by another path than when they were kept.
    """
    found = []
    for stamp, *values in index.execute(f"SELECT stamp, {', '.join(_COLUMNS)} FROM runs"):  # noqa: S608 - our names
        run = dict(zip(_COLUMNS, values, strict=True))
        found.append((stamp, RunInfo(**{**run, "folder": results / run["id"]})))
    return found


def save(index: sqlite3.Connection, changed: Sequence[tuple[str, RunInfo]], gone: Collection[str]) -> None:
    """Bring an index up to date; one that others keep busy is left as it is, and what it lacks is read again.

    Parameters
    ----------
    index : the index.
    changed : runs with the stamps of their files.
    gone : ids of runs that are not there any more.
    """
    if not changed and not gone:
        return
    rows = [(stamp, *{**asdict(run), "folder": str(run.folder)}.values()) for stamp, run in changed]
    marks = ", ".join("?" * (len(_COLUMNS) + 1))
    with contextlib.suppress(sqlite3.OperationalError), index:
        index.executemany(f"INSERT OR REPLACE INTO runs VALUES ({marks})", rows)  # noqa: S608 - marks alone
        index.executemany("DELETE FROM runs WHERE id = ?", [(run_id,) for run_id in gone])


def load_points(index: sqlite3.Connection, run_id: str, stamp: str) -> tuple[list[str], bytes] | None:
    """Return columns and values of a front, as `save_points` was given them; None when they are not there."""
    words = "SELECT columns, points FROM fronts WHERE id = ? AND stamp = ?"
    found = index.execute(words, (run_id, stamp)).fetchone()
    return None if found is None else (str(found[0]).split("\n"), found[1])


def save_points(index: sqlite3.Connection, run_id: str, stamp: str, columns: Sequence[str], points: bytes) -> None:
    """Keep the points of a front, so that they can be shown before Polars is imported; the last 64 are kept.

    Parameters
    ----------
    index : the index.
    run_id, stamp : the run, and what its front's file is known by.
    columns, points : names of the objectives, and their values one after the other, as bytes.
    """
    if len(points) > _LARGEST:
        return
    with contextlib.suppress(sqlite3.OperationalError), index:
        index.execute("INSERT OR REPLACE INTO fronts VALUES (?, ?, ?, ?)", (run_id, stamp, "\n".join(columns), points))
        last = "SELECT rowid FROM fronts ORDER BY rowid DESC LIMIT ?"
        index.execute(f"DELETE FROM fronts WHERE rowid NOT IN ({last})", (_KEPT,))  # noqa: S608 - our words


def _prepared(path: Path | None) -> sqlite3.Connection:
    index = sqlite3.connect(path or ":memory:", timeout=2, check_same_thread=False)
    try:
        index.execute("PRAGMA journal_mode = WAL")
        index.execute("PRAGMA synchronous = OFF")  # What a power cut takes is read again.
        if index.execute("PRAGMA user_version").fetchone()[0] != _VERSION:
            columns = ", ".join(f"{name} PRIMARY KEY" if name == "id" else name for name in _COLUMNS)
            index.executescript(f"DROP TABLE IF EXISTS runs; CREATE TABLE runs (stamp, {columns});")
            index.executescript("DROP TABLE IF EXISTS fronts;")
            index.executescript("CREATE TABLE fronts (id PRIMARY KEY, stamp, columns, points);")
            index.execute(f"PRAGMA user_version = {_VERSION}")
    except sqlite3.DatabaseError:
        index.close()
        raise
    return index
