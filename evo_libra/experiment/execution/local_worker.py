"""A Dask worker of this machine that lives as long as the program that started it.

    python -P -m evo_libra.experiment.execution.local_worker

The first line of its standard input names the scheduler; see `Place`. Dask's own way to start workers gives up when one
of them is killed before it has reached the scheduler.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING

from evo_libra.control_characters import escape_controls
from evo_libra.errors import EvoLibraError, ignore_numeric_warnings
from evo_libra.experiment.execution.job import ONE_THREAD
from evo_libra.experiment.execution.scheduler import OnScheduler
from evo_libra.experiment.execution.scratch import new_scratch, remove_dead
from evo_libra.experiment.store.staging import remove_tree
from evo_libra.searching.evaluation.workers import is_stopped

if TYPE_CHECKING:
    from distributed import Scheduler, SpecCluster

STOPPED_SECONDS = 10.0
"""Time after which a process that the system says is stopped is replaced."""
_EARLY_ENDS = 5
_END_SECONDS = 5.0
_STEP_SECONDS = 1.0
# A worker that was ended from outside, as by a system short of memory, says nothing about the next one.
_FROM_OUTSIDE = (-signal.SIGKILL, -signal.SIGTERM) if hasattr(signal, "SIGKILL") else ()


@dataclass(frozen=True)
class Place:
    """The scheduler of a worker: the address of a scheduler, and the credentials to speak with it (`new_credentials`).

    The folder, which no other user may enter, is for temporary files. Modules are looked for in the `path` of the
    program that started the worker.
    """

    address: str
    credentials: Mapping[str, str]
    folder: str
    path: Sequence[str]


@dataclass(eq=False)
class _Process:
    """A worker process."""

    process: subprocess.Popen[bytes]
    arrived: bool = False
    said: list[bytes] = field(default_factory=list)
    stopped: float = 0.0

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def close(self) -> None:
        """Close the pipe, at whose end the process ends."""
        if self.process.stdin is not None:
            with suppress(BrokenPipeError):
                self.process.stdin.close()

    def listen(self, errors: IO[bytes]) -> None:
        """Hand on what the process writes to its standard error until it ends."""
        for line in errors:
            if self.arrived:
                _show(line)
            else:
                self.said.append(line)
        errors.close()

    def arrive(self) -> None:
        """Note that it has reached the scheduler."""
        if not self.arrived:
            self.arrived = True
            _show(b"".join(self.said))


@dataclass
class LocalWorkers:
    """As many worker processes as there are to be, each with a thread of its own; those that die are replaced.

    `arrived` returns the names, which are process numbers, of the workers that have reached the scheduler. `on_news` is
    called with a sentence when one that was stopped is replaced.
    """

    place: Place
    count: int
    arrived: Callable[[], Collection[str]] = frozenset
    on_news: Callable[[str], None] = lambda _news: None
    _living: list[_Process] = field(default_factory=list)
    _early: int = 0
    _looked: float = 0.0

    def mend(self) -> None:
        """Start what is missing. Raises an EvoLibraError where too many workers end before they reach the scheduler."""
        names = self.arrived()
        for one in self._living:
            if str(one.process.pid) in names:
                self._early = 0
                one.arrive()
        self._replace_stopped()
        ended = [one for one in self._living if one.process.poll() is not None]
        failed = [one for one in ended if not one.arrived and one.process.returncode not in _FROM_OUTSIDE]
        self._early += len(failed)
        if self._early > _EARLY_ENDS:
            self.end()
            raise EvoLibraError(
                f"workers cannot be started on this machine{_reason(failed[-1])}; --workers 0 does without"
            )
        for one in ended:
            one.close()
        self._living = [one for one in self._living if one not in ended]
        while len(self._living) < self.count:
            self._living.append(_start(self.place))

    def kill(self, name: str) -> None:
        """Kill the worker with a name; `mend` replaces it."""
        for one in self._living:
            if str(one.process.pid) == name:
                one.kill()

    def end(self) -> None:
        """End all workers."""
        for one in self._living:
            one.close()
        for one in self._living:
            try:
                one.process.wait(_END_SECONDS)
            except subprocess.TimeoutExpired:
                one.kill()
        self._living = []

    def _replace_stopped(self) -> None:
        """Kill processes that were found to be stopped for long; time between checks does not count."""
        now = time.monotonic()
        passed, self._looked = min(now - self._looked, _STEP_SECONDS), now
        for one in self._living:
            one.stopped = one.stopped + passed if is_stopped(one.process.pid) else 0.0
            if one.stopped > STOPPED_SECONDS:
                self.on_news(f"the worker process {one.process.pid} was stopped; another one takes its place")
                one.kill()


def _start(place: Place) -> _Process:
    # In a session of its own, so that Ctrl-C reaches the program that started it alone. With -P, so that no file of the
    # current folder stands in for a module.
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "evo_libra.experiment.execution.local_worker"],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, **ONE_THREAD},
        start_new_session=True,
    )
    one = _Process(process)
    assert process.stdin is not None  # noqa: S101 - it is a pipe
    assert process.stderr is not None  # noqa: S101 - the same
    with suppress(BrokenPipeError):  # it has ended already, which `mend` sees
        process.stdin.write(json.dumps(asdict(place)).encode() + b"\n")
        process.stdin.flush()
    threading.Thread(target=one.listen, args=(process.stderr,), daemon=True).start()
    return one


def _reason(one: _Process) -> str:
    """Return the last line that a process has said before it ended, or how it ended, as a part of a sentence."""
    said = [line for line in b"".join(one.said).decode(errors="replace").splitlines() if line.strip()]
    return f" ({said[-1].strip():.200})" if said else f" (they end with code {one.process.returncode})"


def _show(text: bytes) -> None:
    with suppress(OSError, ValueError):  # no process reads it any more
        sys.stderr.write(escape_controls(text.decode(errors="replace")))
        sys.stderr.flush()


def _end_with_parent(folder: str) -> None:
    """Wait for the end of the pipe from the program that started this one; whatever ended it, this one ends, too."""
    sys.stdin.buffer.read()
    remove_tree(Path(folder))  # where the program was killed no other process does before the next one
    os._exit(0)


@dataclass(frozen=True)
class LocalCluster:
    """Processes of a batch on this machine: a scheduler, its workers, a folder for their temporary files."""

    cluster: SpecCluster
    workers: LocalWorkers
    folder: tempfile.TemporaryDirectory[str]

    def mend(self) -> None:
        """Start workers again that have ended."""
        self.workers.mend()

    def kill(self, name: str) -> None:
        """End a worker, which is given up."""
        self.workers.kill(name)

    def workers_arrived(self) -> int:
        """Return the number of workers that have reached the scheduler."""
        return len(self.workers.arrived())

    def close(self) -> None:
        """End the workers, then the scheduler."""
        self.workers.end()
        with suppress(OSError, TimeoutError):
            self.cluster.close(timeout=5)
        self.folder.cleanup()
        remove_dead(Path(self.folder.name).parent)


def local_cluster(workers: int, batch: Path, on_news: Callable[[str], None] = lambda _news: None) -> OnScheduler:
    """Start a scheduler in this process, and worker processes on this machine with a thread each.

    No other user can reach them; see `evo_libra.experiment.execution.private_cluster`. Their temporary files are in a
    folder of their own inside that of the batch.
    """
    from distributed import Client, SpecCluster  # noqa: PLC0415 - takes half a second

    from evo_libra.experiment.execution import private_cluster as private  # noqa: PLC0415 - the same

    # Not by `silence_logs`, which ends with the cluster, while its connections are still being closed.
    for name in ("distributed", "tornado"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    credentials = private.new_credentials()
    folder = new_scratch(batch)
    options, security = private.scheduler_options(credentials, folder.name), private.security_of(credentials)
    cluster = SpecCluster(scheduler={"cls": private.PrivateScheduler, "options": options}, security=security)
    place = Place(cluster.scheduler_address, credentials, folder.name, sys.path)
    started = LocalWorkers(place, workers, lambda: _names(cluster.scheduler), on_news)
    started.mend()
    client = Client(cluster, security=security, set_as_default=False)
    return OnScheduler(client, LocalCluster(cluster, started, folder), on_news)


def _names(scheduler: Scheduler | None) -> Collection[str]:
    """Return the names of the workers that have reached a scheduler, which another thread of this process runs."""
    return set() if scheduler is None else {str(worker.name) for worker in list(scheduler.workers.values())}


async def _serve(place: Place) -> None:
    from evo_libra.experiment.execution.private_cluster import worker_of  # noqa: PLC0415 - only workers need it

    async with worker_of(place.address, dict(place.credentials), str(os.getpid()), place.folder) as worker:
        await worker.finished()


def main() -> None:
    """Serve the place that the first line of the standard input tells."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    ignore_numeric_warnings()
    line = sys.stdin.buffer.readline()
    if not line:
        return
    place = Place(**json.loads(line))
    sys.path[:] = place.path
    threading.Thread(target=_end_with_parent, args=(place.folder,), daemon=True).start()
    import asyncio  # noqa: PLC0415 - only workers need it

    import dask  # noqa: PLC0415 - the same

    import evo_libra.experiment.execution.worker  # noqa: F401, PLC0415 - before the first run has to wait for it

    dask.config.set({"distributed.worker.profile.enabled": False})
    asyncio.run(_serve(place))


if __name__ == "__main__":
    main()
