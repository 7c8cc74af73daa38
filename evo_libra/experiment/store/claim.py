"""Claims on runs: numbered files, each a lease that its holder renews.

The holder of a run is the writer of its highest claim. A claim whose holder is gone is not removed but outbid by the
next number, which of all that try exactly one can create. The new holder then takes the run over: a former holder that
was only asleep cannot change anything in the folder from then on; see `evo_libra.experiment.store.staging`.
"""

from __future__ import annotations

import os
import re
import socket
import stat
import tempfile
import threading
import uuid
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from functools import cache
from pathlib import Path
from typing import Self

from evo_libra.errors import StorageError, explained
from evo_libra.experiment.store.staging import (
    STAGING,
    Staging,
    TakenOverError,
    create_text,
    make_folder,
    remove_tree,
)  # fmt: skip
from evo_libra.files.checked_json import parse_file
from evo_libra.files.integrity import DamagedError, open_regular, seal_json, unreadable

LEASE_SECONDS = 60.0
"""A claim that was not renewed for so long is void. Longer than what network file systems keep in their caches."""
HEARTBEAT_SECONDS = 5.0
_NAME = re.compile(r"claim-(\d{4,})\.json")


@dataclass(frozen=True)
class Holder:
    """The process that holds a claim, as its file names it: its host, kernel and namespace, number and start.

    The token tells holders apart. A later attempt of the holder's batch need not wait for the lease to end.
    """

    token: str
    batch: str
    host: str
    where: str
    pid: int
    born: float

    @property
    def process(self) -> str:
        """The holder as ``host:pid``; empty where the claim file does not say it."""
        return f"{self.host}:{self.pid}" if self.host else ""


@dataclass(frozen=True, kw_only=True)
class Claim(Holder):
    """A claim file; the one of the highest number of a run is valid.

    It was renewed last at a time of the clock of the file system, which may have jumped since.
    """

    path: Path
    number: int
    renewed: float

    @property
    def staging(self) -> Path:
        """The folder of its holder, next to the claim."""
        return self.path.with_name(f"{STAGING}{self.token}")

    def alive(self, now: float) -> bool:
        """Return whether its holder may still be at work at a time of the file system's clock.

        A date far ahead is as void as one long past: a holder that lives gives its claim a new date within seconds.
        """
        if self.where == kernel():
            start = born(self.pid)
            if start is None or abs(start - self.born) >= 1.0:
                return False
        return abs(now - self.renewed) < LEASE_SECONDS


def current_claim(folder: Path) -> Claim | None:
    """Return the valid claim of a run, or None without any."""
    return next(_claims(folder, _names(folder)), None)


def acquire(folder: Path, batch: str) -> Claim | None:
    """Claim a run, whose folder is made when it is not there; None while another process has the run."""
    make_folder(folder)
    try:
        names = _names(folder)
    except DamagedError as error:
        raise StorageError(str(error)) from None
    held = next(_claims(folder, names), None)
    if held is not None and held.batch != batch and held.alive(server_time(folder)):
        return None
    # Beyond every name that was there, even of what is no claim, such as a folder. With a second look it would outbid a
    # claim made meanwhile, and of two that find each other's claim both give way.
    path = folder / f"claim-{1 + max((number for number, _ in names), default=0):04d}.json"
    token = uuid.uuid4().hex
    staging = path.with_name(f"{STAGING}{token}")
    claim = None
    try:
        # If there is no such folder any more, another process claimed the run meanwhile and took the folder for that
        # of a dead writer.
        with suppress(FileNotFoundError), explained(folder):
            staging.mkdir()
            claim = _create(path, token, batch)
    finally:
        if claim is None:
            remove_tree(staging)
    return claim


def _create(path: Path, token: str, batch: str) -> Claim | None:
    """Create a claim file; return the claim, or None where another process has the run."""
    folder, staging = path.parent, path.with_name(f"{STAGING}{token}")
    me = Holder(token, batch, socket.gethostname(), where=kernel(), pid=os.getpid(), born=born(os.getpid()) or 0.0)
    if not create_text(path, seal_json(asdict(me)).decode(), staging):
        return None
    # Meanwhile others may have claimed and released the run, and another may have begun to count from 1 again.
    others = (other for other in _claims(folder, _names(folder)) if other.path != path and other.batch != batch)
    if any(other.alive(server_time(folder)) for other in others):
        with suppress(TakenOverError):
            Staging(staging).remove(path.name)
        return None
    if not staging.is_dir():  # without hard links; with them the claim could not have been created
        path.unlink(missing_ok=True)
        return None
    return _read(path, int(_NAME.fullmatch(path.name)[1]))  # type: ignore[index] # it is such a name


def renew(claim: Claim) -> bool:
    """Renew a claim; return whether it is still valid."""
    with suppress(OSError):
        os.utime(claim.path)
        return holds(claim)
    return False


def holds(claim: Claim) -> bool:
    """Return whether a claim is still the valid one of its run."""
    with suppress(DamagedError):
        now = current_claim(claim.path.parent)
        return now is not None and now.token == claim.token
    return False


def release(claim: Claim) -> None:
    """Give a run back, if it is still held. Raises a `StorageError` where there is no right to.

    Outbid claims go first, so that none of them becomes valid again. A claim that is outbid itself goes, too: who has
    outbid it may be about to give way to it, and then no other process would remove it.
    """
    staging = Staging(claim.staging)
    try:
        with explained(claim.path.parent), suppress(TakenOverError):
            if holds(claim):
                for number, name in _names(claim.path.parent):
                    if number < claim.number and _read(claim.path.parent / name, number) is not None:
                        staging.remove(name)
            if _is_there(claim):
                staging.remove(claim.path.name)
    finally:
        remove_tree(claim.staging)


def _is_there(claim: Claim) -> bool:
    """Return whether the file of a claim is still the one that its holder wrote."""
    found = _read(claim.path, claim.number)
    return found is not None and found.token == claim.token


def server_time(folder: Path) -> float:
    """Return the time by the clock of the file system, which is the one that dates claims."""
    with tempfile.TemporaryFile(dir=folder) as file:
        file.write(b"t")
        file.flush()
        with suppress(NotImplementedError, OSError):
            os.utime(file.fileno())  # as claims are renewed, which may be another clock than that of writing
        return os.fstat(file.fileno()).st_mtime


def _claims(folder: Path, names: list[tuple[int, str]]) -> Iterator[Claim]:
    """Yield the claims of a run among the names in its folder, the highest first."""
    for number, name in sorted(names, reverse=True):
        claim = _read(folder / name, number)
        if claim is not None:
            yield claim


def _names(folder: Path) -> list[tuple[int, str]]:
    try:
        names = os.listdir(folder)  # noqa: PTH208 - names alone, several times a second
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise unreadable(folder, error) from None
    return [(int(match[1]), name) for name in names if (match := _NAME.fullmatch(name))]


def _read(path: Path, number: int) -> Claim | None:
    """Return a claim, of an unknown holder where the file is damaged; None where there is no file."""
    try:
        # Opened before it is dated: that is when a network file system asks its server.
        file = open_regular(path)
        if file is None:
            return None
        with file:
            text, renewed = file.read(), os.fstat(file.fileno()).st_mtime
        data = parse_file(path, text, Holder)
        holder = Holder(**{one.name: data[one.name] for one in fields(Holder)})
    except (OSError, DamagedError):
        # Without hard links it is created before it is filled, and its writer may have died in between.
        return _of_nobody(path, number)
    return Claim(path=path, number=number, renewed=renewed, **asdict(holder))


def _of_nobody(path: Path, number: int) -> Claim | None:
    """Return what a claim that cannot be read still says: that there is one, and when it was renewed."""
    try:
        found = path.stat()
    except OSError:
        return None
    if not stat.S_ISREG(found.st_mode):  # no holder has made a folder or a named pipe
        return None
    return Claim(
        token="", batch="", host="", where="", pid=0, born=0.0, path=path, number=number, renewed=found.st_mtime
    )


@cache
def kernel() -> str:
    """Return what makes process numbers comparable: the host, its boot, the namespace of process numbers."""
    boot = space = ""
    with suppress(OSError):
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    with suppress(OSError):
        space = os.readlink("/proc/self/ns/pid")  # noqa: PTH115 - no path
    return f"{socket.gethostname()}/{boot}/{space}"


def born(pid: int) -> float | None:
    """Return when a process was started: since the boot, which no clock changes, where the system tells that."""
    try:
        state, *fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
        return None if state in (b"Z", b"X") else int(fields[18]) / os.sysconf("SC_CLK_TCK")
    except OSError:
        return _born_by_clock(pid)


def _born_by_clock(pid: int) -> float | None:
    import psutil  # noqa: PLC0415 - only claims need it

    try:
        process = psutil.Process(pid)
        return None if process.status() == psutil.STATUS_ZOMBIE else float(process.create_time())
    except psutil.Error:
        return None


class Lease:
    """A claim that a thread of this process renews until it is given back; None when another process has the run."""

    def __init__(self, folder: Path, batch: str) -> None:
        self.claim = acquire(folder, batch)
        self.staging = None if self.claim is None else Staging(self.claim.staging)
        self._lost = self.claim is None
        self._end = threading.Event()

    def __enter__(self) -> Self:
        if self.claim is not None:
            threading.Thread(target=self._beat, args=(self.claim,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        if self.staging is not None:
            self.staging.close()
        if self.claim is not None:
            release(self.claim)

    def lost(self) -> bool:
        """Return whether another process has taken over."""
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
