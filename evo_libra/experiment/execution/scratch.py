"""Folders of temporary files of a batch, named for the program that made them; those of programs that died go.

The workers of a program that was killed remove its folder. The next program that works at the batch does where they
were killed, too.
"""

from __future__ import annotations

import os
import re
import tempfile
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from evo_libra.errors import explained
from evo_libra.experiment.store.claim import born, kernel
from evo_libra.experiment.store.staging import make_folder, remove_tree

SCRATCH = "scratch-"
"""Prefix of the names of the folders; then come the kernel, the number of the process, and its start."""
_TICKS = 100
"""The hundredths of a second of one second, as for claims: without /proc a clock tells when a process was started."""
_NAME = re.compile(rf"{SCRATCH}([0-9a-f]{{8}})-(\d+)-(\d+)-.*")


def new_scratch(batch: Path) -> tempfile.TemporaryDirectory[str]:
    """Return a new folder inside that of a batch, which no other user may enter; remove those of programs that died.

    Raises a `StorageError` where there is no right to.
    """
    make_folder(batch)
    remove_dead(batch)
    prefix = f"{SCRATCH}{_kernel()}-{os.getpid()}-{_start(os.getpid())}-"
    with explained(batch):
        return tempfile.TemporaryDirectory(prefix=prefix, dir=batch.absolute(), ignore_cleanup_errors=True)


def remove_dead(batch: Path) -> None:
    """Remove the folders of programs of this kernel that are not alive any more, as far as there is a right to."""
    with suppress(OSError):
        for path in batch.iterdir():
            found = _NAME.fullmatch(path.name)
            if found and found[1] == _kernel() and not _alive(pid=int(found[2]), start=int(found[3])):
                remove_tree(path)


def _kernel() -> str:
    return sha256(kernel().encode()).hexdigest()[:8]


def _alive(*, pid: int, start: int) -> bool:
    return abs(_start(pid) - start) < _TICKS


def _start(pid: int) -> int:
    """Return when a process was started, in hundredths of a second; 0 without such a process."""
    return round(_TICKS * (born(pid) or 0.0))
