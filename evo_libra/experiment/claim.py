"""Who works on a run: numbered claim files, each a lease that its holder renews.

The holder of a run is the writer of its highest claim. A claim whose holder is gone is not removed but outbid by the
next number, which of all that try exactly one can create: there is no moment at which two hold a run, and a holder that
was only asleep finds itself outbid before it commits anything.
"""

from __future__ import annotations

import json
import os
import re
import socket
import tempfile
import threading
import uuid
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Self

from evo_libra.experiment.store import create_text, make_folder

LEASE_SECONDS = 60.0
"""A claim that was not renewed for so long is void. Longer than what network file systems keep in their caches."""
HEARTBEAT_SECONDS = 5.0
_NAME = re.compile(r"claim-(\d{4,})\.json")


@dataclass(frozen=True)
class Claim:
    """A claim file.

    Attributes
    ----------
    path : the file.
    number : the highest of a run is the valid one.
    token : what tells holders apart.
    batch : the batch that the holder works for; a later attempt of the same batch need not wait for the lease to end.
    host, where, pid, born : the process that holds it: its host, kernel and namespace, number and start.
    renewed : when it was renewed last, by the clock of the file system, which may have jumped since.
    """

    path: Path
    number: int
    token: str
    batch: str
    host: str
    where: str
    pid: int
    born: float
    renewed: float

    def alive(self, now: float) -> bool:
        """Return whether its holder may still be at work at a time of the file system's clock.

        A date far ahead is as void as one long past: a holder that lives gives its claim a new date within seconds.
        """
        if self.where == _where() and not _process_lives(self.pid, self.born):
            return False
        return abs(now - self.renewed) < LEASE_SECONDS


def current_claim(folder: Path) -> Claim | None:
    """Return the valid claim of a run, or None when nobody has claimed it."""
    return next(_claims(folder), None)


def acquire(folder: Path, batch: str) -> Claim | None:
    """Claim a run; the folder is made when it is not there.

    Returns
    -------
    The claim, or None while somebody else holds the run.
    """
    make_folder(folder)
    held = current_claim(folder)
    if held is not None and held.batch != batch and held.alive(server_time(folder)):
        return None
    number = 1 if held is None else held.number + 1
    path = folder / f"claim-{number:04d}.json"
    me = {"token": uuid.uuid4().hex, "batch": batch, "host": socket.gethostname(), "where": _where()}
    if not create_text(path, json.dumps({**me, "pid": os.getpid(), "born": _born(os.getpid())})):
        return None
    # While this one made up its mind, others may have come and gone, and another have begun to count anew.
    if any(
        other.batch != batch and other.alive(server_time(folder)) for other in _claims(folder) if other.path != path
    ):
        path.unlink(missing_ok=True)
        return None
    return _read(path, number)


def renew(claim: Claim) -> bool:
    """Renew a claim; return whether it is still valid."""
    try:
        os.utime(claim.path)
    except OSError:
        return False
    return holds(claim)


def holds(claim: Claim) -> bool:
    """Return whether a claim is still the valid one of its run."""
    now = current_claim(claim.path.parent)
    return now is not None and now.token == claim.token


def release(claim: Claim) -> None:
    """Give a run back, if it is still held: outbid claims first, so that none of them becomes valid again."""
    if not holds(claim):
        return
    for number, name in _names(claim.path.parent):
        if number < claim.number:
            (claim.path.parent / name).unlink(missing_ok=True)
    claim.path.unlink(missing_ok=True)


def server_time(folder: Path) -> float:
    """Return the time by the clock of the file system, which is the one that dates claims."""
    with tempfile.TemporaryFile(dir=folder) as file:
        file.write(b"t")
        file.flush()
        with suppress(NotImplementedError, OSError):
            os.utime(file.fileno())  # as claims are renewed, which may be another clock than that of writing
        return os.fstat(file.fileno()).st_mtime


def _claims(folder: Path) -> Iterator[Claim]:
    """Yield the claims of a run, the highest first."""
    for number, name in sorted(_names(folder), reverse=True):
        claim = _read(folder / name, number)
        if claim is not None:
            yield claim


def _names(folder: Path) -> list[tuple[int, str]]:
    try:
        names = os.listdir(folder)  # noqa: PTH208 - names alone, several times a second
    except FileNotFoundError:
        return []
    return [(int(match[1]), name) for name in names if (match := _NAME.fullmatch(name))]


def _read(path: Path, number: int) -> Claim | None:
    try:
        # Opened before it is dated: that is when a network file system asks its server.
        with path.open(encoding="utf-8") as file:
            text, renewed = file.read(), os.fstat(file.fileno()).st_mtime
    except FileNotFoundError:
        return None
    try:
        data = json.loads(text)
        return Claim(path, number, renewed=renewed, **data)
    except (ValueError, TypeError):
        # Without hard links it is created before it is filled, and its writer may have died in between.
        return Claim(path, number, "", "", "", "", 0, 0.0, renewed)


@cache
def _where() -> str:
    """Return what makes process numbers comparable: the host, its boot, the namespace of process numbers."""
    parts = [socket.gethostname()]
    for path, read in (("/proc/sys/kernel/random/boot_id", _text), ("/proc/self/ns/pid", os.readlink)):
        try:
            parts.append(read(path).strip())
        except OSError:
            parts.append("")
    return "/".join(parts)


def _text(path: str) -> str:
    return Path(path).read_text(encoding="ascii")


def _process_lives(pid: int, born: float) -> bool:
    started = _born(pid)
    return started is not None and abs(started - born) < 1.0


def _born(pid: int) -> float | None:
    """Return when a process was started: since the boot, which no clock changes, where the system tells that."""
    try:
        state, *fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
        return None if state in (b"Z", b"X") else int(fields[18]) / os.sysconf("SC_CLK_TCK")
    except OSError:
        return _born_by_clock(pid)


def _born_by_clock(pid: int) -> float | None:
    import psutil  # noqa: PLC0415 - only who looks at claims needs it

    try:
        process = psutil.Process(pid)
        return None if process.status() == psutil.STATUS_ZOMBIE else float(process.create_time())
    except psutil.Error:
        return None


class Lease:
    """A claim that a thread of this process renews until it is given back; a context.

    Attributes
    ----------
    claim : the claim; None when somebody else holds the run.
    """

    def __init__(self, folder: Path, batch: str) -> None:
        self.claim = acquire(folder, batch)
        self._lost = self.claim is None
        self._end = threading.Event()

    def __enter__(self) -> Self:
        if self.claim is not None:
            threading.Thread(target=self._beat, args=(self.claim,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        if self.claim is not None:
            release(self.claim)

    def lost(self) -> bool:
        """Return whether somebody else has taken over."""
        return self._lost

    def valid(self) -> bool:
        """Look whether the run is still ours; what `lost` returns is as old as the last heartbeat."""
        self._lost = self._lost or self.claim is None or not holds(self.claim)
        return not self._lost

    def _beat(self, claim: Claim) -> None:
        while not self._end.wait(HEARTBEAT_SECONDS):
            if not renew(claim):
                self._lost = True
                return
