"""A process whose files are those of one folder: it refuses any other file.

Python tells an audit hook of every file that it opens, lists, moves or removes, and of every code that it executes. The
hook allows what lies in the folder and in a folder for temporary files. Of the program, of Python and of the system, it
allows reading. Code of the folder is not executed. A hook cannot be removed.
"""

from __future__ import annotations

import errno
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import CodeType
from typing import Any

_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_SYSTEM = ("/proc", "/sys", "/dev", "/etc/localtime", "/etc/ld.so.cache", "/usr/share/zoneinfo", "/usr/lib", "/lib")
_READ = {"os.listdir", "os.scandir", "os.chdir"}
_WRITTEN = {
    "os.mkdir",
    "os.rmdir",
    "os.remove",
    "os.rename",
    "os.link",
    "os.symlink",
    "os.truncate",
    "os.chmod",
    "os.utime",
}


def confine(folder: Path) -> None:
    """Refuse, from now on, every file of this process that lies outside a folder; see the module for exceptions."""
    inside = _roots(str(folder), tempfile.gettempdir())
    outside = _roots(sys.prefix, sys.base_prefix, sys.exec_prefix, *filter(None, sys.path), *_SYSTEM)
    own = _roots(str(folder))

    def check(path: object, *, written: bool) -> None:
        name = _name(path)
        if name is None or _lies_in(name, inside) or (not written and _lies_in(name, outside)):
            return
        raise PermissionError(errno.EACCES, "lies outside the folder of the server", name)

    sys.addaudithook(_hook(check, own))


def _hook(check: Callable[..., None], own: tuple[str, ...]) -> Callable[[str, tuple[Any, ...]], None]:
    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            check(arguments[0], written=bool((arguments[2] or 0) & _WRITES))
        elif event in _READ:
            check(arguments[0], written=False)
        elif event in _WRITTEN:
            for path in arguments[: 2 if event in ("os.rename", "os.link") else 1]:
                check(path, written=True)
            if event == "os.symlink":
                check(arguments[1], written=True)
        elif event == "exec" and isinstance(arguments[0], CodeType) and _is_file_of(arguments[0].co_filename, own):
            raise PermissionError(errno.EACCES, "code of the folder is not executed", arguments[0].co_filename)

    return hook


def _is_file_of(name: str, own: tuple[str, ...]) -> bool:
    """Return whether code comes from a file of the folder; texts such as '<string>' are no files."""
    return not name.startswith("<") and _lies_in(name, own)


def _name(path: object) -> str | None:
    """Return the path of a file; None for an open one, and for the folder that the process is in."""
    if path is None or isinstance(path, int):
        return None
    return os.fsdecode(path) if isinstance(path, str | bytes | os.PathLike) else None


def _roots(*folders: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(os.path.realpath(folder) for folder in folders))


def _lies_in(path: str, roots: tuple[str, ...]) -> bool:
    whole = os.path.realpath(path)
    return any(whole == root or whole.startswith(root.rstrip(os.sep) + os.sep) for root in roots)
