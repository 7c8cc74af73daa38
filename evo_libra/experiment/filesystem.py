"""What kind of file system a folder lies on, and where an index may lie."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from pathlib import Path

_NETWORK = (
    "nfs", "cifs", "smb", "lustre", "gpfs", "mmfs", "beegfs", "ceph", "glusterfs", "afs", "9p", "pvfs", "panfs",
    "wekafs", "fuse.sshfs", "fuse.glusterfs", "fuse.ceph",
)  # fmt: skip
CACHE = "EVO_LIBRA_CACHE"


def kind_of(folder: Path) -> str:
    """Return the type of the file system that a folder lies on, such as ``ext4``; empty where it cannot be told."""
    place = str(_existing(folder).resolve())
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
    import platformdirs  # noqa: PLC0415 - only who opens a catalogue needs it

    folder = platformdirs.user_cache_path("evo-libra")
    if not on_network(folder):
        return folder
    return _own_temporary()


def _own_temporary() -> Path:
    """Return a folder of the machine's temporary one that nobody else can look into.

    The usual one has a name that can be foreseen, in a place where everybody may write: where it is not the user's own
    and closed to others, a fresh one takes its place.
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


def _existing(folder: Path) -> Path:
    folder = folder.absolute()
    return next(path for path in (folder, *folder.parents) if _exists(path))


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:
        return False  # without the right to look
