"""Processes that work on tasks one by one; a process that takes too long or dies is replaced."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import connection, get_context, parent_process
from typing import Any, Self

from evo_libra.errors import EvoLibraError, InputError, StorageError, error_text, ignore_numeric_warnings, machine_fault
from evo_libra.named_code import trust, trusted_names

_STARTING_SECONDS = 120.0
LOOK_SECONDS = 1.0
"""Time without news after which it is looked whether processes are stopped."""
STOPPED_LOOKS = 10
"""Looks in a row that find a process stopped before it is replaced."""
_SAFE_PATH = "PYTHONSAFEPATH"
_GROUPS = hasattr(os, "setpgid")
_SPAWN = get_context("spawn")  # A fork of a process with threads, such as Polars has, may hang.


@dataclass(frozen=True)
class Done:
    """The result of a task, or why it failed; `died` says that its process ended, which need not be its fault."""

    task: int
    result: Any
    failure: str = ""
    died: bool = False


@dataclass
class _Worker:
    """A process and its task."""

    process: Any
    pipe: connection.Connection
    since: float  # when its task, or its start, began
    ready: bool = False
    task: int | None = None
    sent: Any = None
    stopped: int = 0  # looks in a row that found it stopped


class Workers:
    """Worker processes for one function, each replaced when it dies or a task takes longer than `timeout` seconds.

    `load` is called in each process and returns the function of a task. It is sent to the processes, so it must be a
    function of a module, or a `functools.partial` of one.

    A worker is its own process group, which is ended as a whole: programs that the function starts end with it, and
    Ctrl-C reaches the parent alone. Use it in a ``with`` statement, or close it.
    """

    def __init__(self, load: Callable[[], Callable[[Any], Any]], count: int, timeout: float | None = None) -> None:
        if count < 1:
            raise InputError(f"found {count} workers; at least 1 is needed")
        if timeout is not None and not 0 < timeout < float("inf"):
            raise InputError(f"found a timeout of {timeout:g} s; a number above 0 is needed")
        self._load, self._count, self._timeout = load, count, timeout
        self._workers: list[_Worker] = []
        self._waiting: deque[tuple[int, Any]] = deque()
        self._submitted = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __len__(self) -> int:
        """Return the tasks that are waiting or worked on."""
        return len(self._waiting) + sum(worker.task is not None for worker in self._workers)

    def submit(self, task: Any) -> int:  # noqa: ANN401 - whatever the function takes
        """Add a task and return its number."""
        self._submitted += 1
        self._waiting.append((self._submitted, task))
        self._assign()
        return self._submitted

    def wait(self) -> list[Done]:
        """Return the tasks that are done, at least one unless there is none.

        Raises
        ------
        InputError : a process cannot load the function.
        StorageError : the function has found a disk full.
        EvoLibraError : the function has raised it.
        """
        while len(self):
            self._assign()
            handles: dict[Any, _Worker] = {}
            for worker in self._workers:
                handles |= {worker.pipe: worker, worker.process.sentinel: worker}
            woken = connection.wait(list(handles), self._patience())
            if not woken:
                self._replace_stopped()
            unique = {id(worker): worker for worker in (handles[handle] for handle in woken)}
            found = [done for worker in unique.values() for done in self._heard(worker)]
            found += [done for worker in list(self._workers) for done in self._overdue(worker)]
            if found:
                self._assign()
                return found
        return []

    def close(self) -> None:
        """End all processes; tasks that are not done are dropped."""
        for worker in self._workers:
            _end(worker)
        self._workers, self._waiting = [], deque()

    def _assign(self) -> None:
        wanted = min(self._count, len(self))
        self._workers += [_started(self._load) for _ in range(wanted - len(self._workers))]
        for worker in self._workers:
            if worker.ready and worker.task is None and self._waiting:
                number, task = self._waiting.popleft()
                worker.task, worker.sent, worker.since = number, task, time.monotonic()
                with suppress(BrokenPipeError):  # It has died; `wait` sees that.
                    worker.pipe.send(task)

    def _patience(self) -> float:
        """Return the seconds until the first worker takes too long, or the next look."""
        now = time.monotonic()
        ends = [worker.since + limit for worker in self._workers if (limit := self._limit(worker)) is not None]
        return min(max(min(ends) - now, 0.0) if ends else LOOK_SECONDS, LOOK_SECONDS)

    def _replace_stopped(self) -> None:
        """End processes that something has stopped for long; others do what they were at."""
        for worker in list(self._workers):
            worker.stopped = worker.stopped + 1 if is_stopped(worker.process.pid) else 0
            if worker.stopped < STOPPED_LOOKS:
                continue
            _end(worker)
            self._workers.remove(worker)
            if worker.task is not None:
                self._waiting.appendleft((worker.task, worker.sent))

    def _limit(self, worker: _Worker) -> float | None:
        if not worker.ready:
            return _STARTING_SECONDS
        return None if worker.task is None else self._timeout

    def _heard(self, worker: _Worker) -> Iterator[Done]:
        """Take what a worker has sent; replace it when it has died."""
        try:
            if worker.pipe.poll():
                result, failure, fault = worker.pipe.recv()
                if fault is not None:
                    self.close()
                    raise fault
                if worker.ready and worker.task is not None:
                    yield Done(worker.task, result, failure)
                    worker.task = None
                elif failure:
                    self.close()
                    raise InputError(f"a worker process cannot load what it has to run: {failure}")
                worker.ready = True
                return
        except (EOFError, OSError):
            pass
        worker.process.join()
        yield from self._dropped(worker, f"the process died: {_ending(worker.process.exitcode)}", died=True)

    def _overdue(self, worker: _Worker) -> Iterator[Done]:
        limit = self._limit(worker)
        if limit is not None and time.monotonic() >= worker.since + limit and not worker.pipe.poll():
            yield from self._dropped(worker, f"it took longer than {limit:g} s")

    def _dropped(self, worker: _Worker, reason: str, *, died: bool = False) -> Iterator[Done]:
        _end(worker)
        self._workers.remove(worker)
        if not worker.ready:
            self.close()
            raise InputError(f"a worker process does not start: {reason}")
        if worker.task is not None:
            yield Done(worker.task, None, reason, died)


def is_stopped(pid: int) -> bool:
    """Return whether the system says that a process is stopped, as by SIGSTOP."""
    import psutil  # noqa: PLC0415 - needed where nothing is heard of a process alone

    try:
        return psutil.Process(pid).status() in (psutil.STATUS_STOPPED, psutil.STATUS_TRACING_STOP)
    except psutil.Error:
        return False


def _started(load: Callable[[], Callable[[Any], Any]]) -> _Worker:
    ours, theirs = _SPAWN.Pipe()
    given = theirs, load, trusted_names(), os.environ.get(_SAFE_PATH)
    process = _SPAWN.Process(target=_work, args=given, daemon=True)
    try:
        with _safe_path():
            process.start()
    except Exception as error:  # noqa: BLE001 - whatever an object raises that cannot be sent
        raise InputError(f"what a worker process has to run cannot be sent to it: {error}") from None
    theirs.close()
    return _Worker(process, ours, time.monotonic())


@contextmanager
def _safe_path() -> Iterator[None]:
    """Have interpreters that start look for no module in the current folder until they know this one's path."""
    before = os.environ.get(_SAFE_PATH)
    os.environ[_SAFE_PATH] = "1"
    try:
        yield
    finally:
        _set_safe_path(before)


def _set_safe_path(value: str | None) -> None:
    os.environ.pop(_SAFE_PATH, None)
    if value is not None:
        os.environ[_SAFE_PATH] = value


def _end(worker: _Worker) -> None:
    if worker.process.is_alive():
        with suppress(ProcessLookupError, PermissionError):
            # The group is there once the process has made it, and then its number is that of the process.
            if _GROUPS and os.getpgid(worker.process.pid) == worker.process.pid:
                os.killpg(worker.process.pid, signal.SIGKILL)
        worker.process.kill()
    worker.process.join()
    worker.pipe.close()


def _ending(code: int | None) -> str:
    if code is not None and code < 0:
        return signal.Signals(-code).name
    return f"exit code {code}"


def _work(
    pipe: connection.Connection, load: Callable[[], Callable[[Any], Any]], names: Iterable[str], safe_path: str | None
) -> None:
    """Load the function, say so, and run it on each task until the parent is gone."""
    # Programs that the function starts have their own paths, as those that the parent starts.
    _set_safe_path(safe_path)
    trust(*names)
    ignore_numeric_warnings()
    if _GROUPS:
        os.setpgid(0, 0)
    # Output of the function must not get among the answers of the parent.
    os.dup2(2, 1)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        function = load()
    except Exception as error:  # noqa: BLE001 - a user's code may raise anything
        pipe.send((None, error_text(error), _full(error)))
        return
    with suppress(EOFError, BrokenPipeError):
        pipe.send((None, "", None))
        while True:
            task = pipe.recv()
            done: tuple[Any, str, EvoLibraError | None]
            try:
                done = function(task), "", None
            except Exception as error:  # noqa: BLE001 - the same
                done = None, error_text(error), _full(error) or _ours(error)
            pipe.send(done)


def _end_with_parent() -> None:
    """End the process and the programs it has started, even in the middle of a task, when the parent dies."""
    parent = parent_process()
    assert parent is not None, "a worker has a parent"  # noqa: S101 - a programming error, not a user's
    parent.join()
    if _GROUPS:
        os.killpg(os.getpid(), signal.SIGKILL)
    os._exit(1)


def _ours(error: Exception) -> EvoLibraError | None:
    """Return an error of this program in a form that can be sent: a mistake of the user, no result of a task."""
    if not isinstance(error, EvoLibraError):
        return None
    return InputError(str(error)) if isinstance(error, InputError) else EvoLibraError(str(error))


def _full(error: Exception) -> StorageError | None:
    """Return the fault of a full disk: no result of a task. For want of memory, the task may be too large."""
    fault = machine_fault(error)
    return fault if isinstance(fault, StorageError) else None
