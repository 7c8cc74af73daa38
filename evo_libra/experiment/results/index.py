"""The SQLite file behind a catalogue. It is made from the folders of runs and may be deleted at any time."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sqlite3
import stat
import tempfile
import zlib
from collections.abc import Collection, Mapping, Sequence
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evo_libra.errors import InputError
from evo_libra.experiment.run.record import COLUMNS, RunRecord
from evo_libra.experiment.store.folder import CHECKPOINT, FRONT, MANIFEST, RunFolder
from evo_libra.experiment.store.records import file_stamp
from evo_libra.files.integrity import read_archive, row_digest

if TYPE_CHECKING:
    from evo_libra.arrays import FloatArray

_KEPT = 64  # Fronts.
_LARGEST = 1 << 20  # Bytes of a front; larger ones are read from their files.
_NAMES = tuple(one.attribute for one in COLUMNS if one.name != "folder")
_VALUES = attrgetter(*_NAMES)
_TABLES = """
DROP TABLE IF EXISTS runs;
DROP TABLE IF EXISTS fronts;
CREATE TABLE runs (id PRIMARY KEY, stamp, run, digest);
CREATE TABLE fronts (id PRIMARY KEY, stamp, columns, points, digest);
"""


def version() -> int:
    """Return a hash of the tables and columns of an index; an index with another one is made again."""
    layout = [_TABLES, *(f"{one.name}: {one.kind}" for one in COLUMNS)]
    return int.from_bytes(hashlib.sha256("\n".join(layout).encode()).digest()[:4], "big") >> 1


def open_index(path: Path | None) -> sqlite3.Connection:
    """Open an index. A damaged one is made again; an index without a path, or that cannot be written, is in memory."""
    if path is None or (path.exists() and not path.is_file()):
        return _prepared(None)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return _prepared(path)
    except (sqlite3.OperationalError, OSError):
        return _prepared(None)
    except (sqlite3.DatabaseError, UnicodeDecodeError):  # the latter where damage gets into SQLite's own sentence
        return _again(path)


def _again(path: Path) -> sqlite3.Connection:
    try:
        for ending in ("", "-wal", "-shm"):
            path.with_name(path.name + ending).unlink(missing_ok=True)
        return _prepared(path)
    except (sqlite3.Error, OSError):
        return _prepared(None)


def load(index: sqlite3.Connection, results: Path) -> list[tuple[str, RunRecord]]:
    """Return what an index holds: stamps of the runs' files, and the runs; rows that are damaged are left out.

    The folder of results may be named by another path than when the runs were kept.
    """
    try:
        rows = [
            (stamp, text)
            for stamp, text, digest in index.execute("SELECT stamp, run, digest FROM runs")
            if digest == _digest(stamp, text)
        ]
    except (sqlite3.DatabaseError, UnicodeDecodeError):
        return []  # All is read from the files again.
    runs = json.loads(f"[{','.join(text for _, text in rows)}]")
    return [(stamp, _run(f"{results}/{values[0]}", values)) for (stamp, _), values in zip(rows, runs, strict=True)]


def _run(location: str, values: Sequence[Any]) -> RunRecord:
    # A frozen record is filled field by field; of 20,000 that would take half of the time that reading them takes.
    run = RunRecord.__new__(RunRecord)
    vars(run).update(zip(_NAMES, values, strict=True))
    vars(run)["location"] = location
    return run


def save(index: sqlite3.Connection, changed: Sequence[tuple[str, RunRecord]], gone: Collection[str]) -> None:
    """Bring an index up to date with runs that have changed, with the stamps of their files, and ids of runs that left.

    An index that others keep busy is left as it is, and what it lacks is read again.
    """
    if not changed and not gone:
        return
    texts = ((run.id, stamp, json.dumps(_VALUES(run))) for stamp, run in changed)
    rows = [(run_id, stamp, text, _digest(stamp, text)) for run_id, stamp, text in texts]
    with contextlib.suppress(sqlite3.DatabaseError), index:
        index.executemany("INSERT OR REPLACE INTO runs VALUES (?, ?, ?, ?)", rows)
        index.executemany("DELETE FROM runs WHERE id = ?", [(run_id,) for run_id in gone])


def _digest(stamp: str, text: str) -> int:
    """Return what shows a damaged row; a CRC, since an index is no more than a copy and has to be read fast."""
    return zlib.crc32(f"{stamp}\n{text}".encode())


def checkpoint_points(folder: RunFolder) -> dict[str, FloatArray] | None:
    """Return objective column -> values of the best designs at the last checkpoint, or None when there is none yet."""
    found = read_archive(folder.path / CHECKPOINT)
    if found is None:
        return None
    values, objectives = found[1]["archive/objectives"], folder.read_json(MANIFEST)["objectives"]
    return {one["column"]: row / one["scale"] for one, row in zip(objectives, values, strict=True)}


def known_points(index: sqlite3.Connection, run: RunRecord) -> dict[str, FloatArray] | None:
    """Return objective column -> values of a run's front: of its checkpoint, or of the index once the front has a file.

    None when they are not known, or damaged.
    """
    stamp = file_stamp(run.folder / FRONT)
    if run.status == "damaged":
        return None
    if not stamp:
        try:
            return checkpoint_points(RunFolder(run.folder))
        except InputError:
            return None
    words = "SELECT columns, points, digest FROM fronts WHERE id = ? AND stamp = ?"
    try:
        found = index.execute(words, (run.id, stamp)).fetchone()
    except sqlite3.DatabaseError:
        return None
    if found is None or found[2] != row_digest(run.id, stamp, found[0], found[1]):
        return None
    import numpy as np  # noqa: PLC0415 - the index needs no arrays

    columns = str(found[0]).split("\n")
    return dict(zip(columns, np.frombuffer(found[1]).reshape(len(columns), -1), strict=True))


def keep_points(index: sqlite3.Connection, run: RunRecord, values: Mapping[str, FloatArray]) -> None:
    """Keep the points of a front that there is a file of, so that they can be shown before Polars is imported.

    The last 64 fronts are kept.
    """
    stamp, names = file_stamp(run.folder / FRONT), "\n".join(values)
    points = b"".join(row.astype(float).tobytes() for row in values.values())
    if not stamp or not values or len(points) > _LARGEST:
        return
    row = run.id, stamp, names, points, row_digest(run.id, stamp, names, points)
    with contextlib.suppress(sqlite3.DatabaseError), index:
        index.execute("INSERT OR REPLACE INTO fronts VALUES (?, ?, ?, ?, ?)", row)
        last = "SELECT rowid FROM fronts ORDER BY rowid DESC LIMIT ?"
        index.execute(f"DELETE FROM fronts WHERE rowid NOT IN ({last})", (_KEPT,))  # noqa: S608 - our words


def _prepared(path: Path | None) -> sqlite3.Connection:
    index = sqlite3.connect(path or ":memory:", timeout=2, check_same_thread=False)
    try:
        index.execute("PRAGMA journal_mode = WAL")
        index.execute("PRAGMA synchronous = OFF")  # Rows lost in a power cut are read again.
        if index.execute("PRAGMA user_version").fetchone()[0] != version():
            index.executescript(_TABLES)
            index.execute(f"PRAGMA user_version = {version()}")
    except (sqlite3.DatabaseError, UnicodeDecodeError):
        index.close()
        raise
    return index


_NETWORK = (
    "nfs", "cifs", "smb", "lustre", "gpfs", "mmfs", "beegfs", "ceph", "glusterfs", "afs", "9p", "pvfs", "panfs",
    "wekafs", "fuse.sshfs", "fuse.glusterfs", "fuse.ceph",
)  # fmt: skip
CACHE = "EVO_LIBRA_CACHE"


def kind_of(folder: Path) -> str:
    """Return the type of the file system that a folder lies on, such as ``ext4``; empty where it is not known."""
    folder = folder.absolute()
    place = str(next(path for path in (folder, *folder.parents) if os.path.exists(path)).resolve())  # noqa: PTH110 - false without the right to look
    best, kind = "", ""
    try:
        mounts = Path("/proc/self/mounts").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    for line in mounts.splitlines():
        _, point, found, *_ = [*line.split(" "), "", "", ""]
        point = point.replace("\\040", " ")
        inside = place == point or place.startswith(point.rstrip("/") + "/")
        if inside and len(point) >= len(best):
            best, kind = point, found
    return kind


def on_network(folder: Path) -> bool:
    """Return whether a folder lies on a network file system, as far as the system tells."""
    return kind_of(folder).startswith(_NETWORK)


def cache_folder() -> Path:
    """Return where indices lie: the user's cache folder, or the machine's temporary one where that is on a network.

    The environment variable ``EVO_LIBRA_CACHE`` names another folder.
    """
    named = os.environ.get(CACHE)
    if named:
        return Path(named)
    import platformdirs  # noqa: PLC0415 - only a catalogue needs it

    folder = platformdirs.user_cache_path("evo-libra")
    if not on_network(folder):
        return folder
    return _own_temporary()


def _own_temporary() -> Path:
    """Return a temporary folder that no other user can read.

    The usual folder has a name that can be foreseen, in a place where everybody may write. Unless it is the user's own
    and closed to others, a fresh folder takes its place.
    """
    if not hasattr(os, "getuid"):
        return Path(tempfile.gettempdir()) / "evo-libra"  # the user's own there
    folder = Path(tempfile.gettempdir()) / f"evo-libra-{os.getuid()}"
    with contextlib.suppress(OSError):
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
        if stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o077:
            return folder
    return Path(tempfile.mkdtemp(prefix="evo-libra-"))
