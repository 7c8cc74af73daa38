"""Where tasks are executed: in this process, or by the workers of a Dask scheduler, here or on a cluster."""

from __future__ import annotations

import queue
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from evo_libra.errors import EvoLibraError, InputError
from evo_libra.experiment.local_worker import LocalWorkers
from evo_libra.experiment.task import run_task

if TYPE_CHECKING:
    from distributed import Client, Future, SpecCluster

    from evo_libra.experiment.job import Report

_RESULT_SECONDS = 1.0
_CONNECT_SECONDS = 20


@dataclass(frozen=True)
class Undelivered:
    """A run that came to no report: its workers kept dying, or could not execute it.

    Attributes
    ----------
    error : one line for people.
    """

    error: str


class Executor(Protocol):
    """Executes runs, in any order."""

    def submit(self, run_id: str, run: Mapping[str, Any], job: Mapping[str, Any]) -> None:
        """Send a run."""

    def poll(self, seconds: float) -> list[tuple[str, Report | Undelivered]]:
        """Return what has ended since the last time; wait so long for the first."""

    def workers(self) -> int:
        """Return how many runs are executed at a time just now."""

    def withdraw(self) -> None:
        """Take back what was sent and has not ended; only where no worker is at it."""

    def close(self) -> None:
        """End what was begun for this batch."""


class InProcess:
    """Executes runs one after the other in this process.

    Parameters
    ----------
    interrupted : whether this process is asked to stop.
    """

    def __init__(self, interrupted: Callable[[], bool]) -> None:
        self._interrupted = interrupted
        self._waiting: deque[tuple[str, Mapping[str, Any], Mapping[str, Any]]] = deque()

    def submit(self, run_id: str, run: Mapping[str, Any], job: Mapping[str, Any]) -> None:
        """Put a run at the end of the queue."""
        self._waiting.append((run_id, run, job))

    def poll(self, seconds: float) -> list[tuple[str, Report | Undelivered]]:  # noqa: ARG002 - a run takes as long as it takes
        """Execute the first run of the queue."""
        from evo_libra.experiment.job import Job  # noqa: PLC0415 - see below
        from evo_libra.experiment.worker import execute  # noqa: PLC0415 - imports NumPy

        if not self._waiting:
            return []
        run_id, run, job = self._waiting.popleft()
        return [(run_id, execute(run, Job(**job), self._interrupted))]

    def workers(self) -> int:
        """Return 1."""
        return 1

    def withdraw(self) -> None:
        """Empty the queue."""
        self._waiting.clear()

    def close(self) -> None:
        """Nothing was begun."""


class OnScheduler:
    """Executes runs on the workers of a Dask scheduler.

    Parameters
    ----------
    client : connected to it.
    cluster, workers : what was started for the batch on this machine, to be ended with it.
    """

    def __init__(self, client: Client, cluster: SpecCluster | None = None, workers: LocalWorkers | None = None) -> None:
        self._client, self._cluster, self._workers = client, cluster, workers
        self._ended: queue.SimpleQueue[tuple[str, Report | Undelivered]] = queue.SimpleQueue()
        self._futures: dict[str, Future[Any]] = {}
        self._sent, self._closed = 0, False

    def submit(self, run_id: str, run: Mapping[str, Any], job: Mapping[str, Any]) -> None:
        """Send a run to the scheduler, which sends it again when its worker dies."""
        self._sent += 1
        # One name for all, which the scheduler keeps one group for; it looks through its groups for every task.
        key = (f"run-{job['batch']}", self._sent)
        future = self._client.submit(run_task, run, job, key=key, pure=False, priority=-self._sent)
        self._futures[run_id] = future
        future.add_done_callback(lambda ended: self._take(run_id, ended))

    def _take(self, run_id: str, future: Future[Any]) -> None:
        from distributed.client import FutureCancelledError  # noqa: PLC0415 - see `local_cluster`
        from distributed.scheduler import KilledWorker  # noqa: PLC0415 - the same

        answer: Report | Undelivered
        try:
            answer = self._result(future)
        except KilledWorker as error:
            answer = Undelivered(f"its workers kept dying: {error}")
        except FutureCancelledError:
            return
        except Exception as error:  # noqa: BLE001 - the worker's environment may be broken in any way; the batch goes on
            answer = Undelivered(f"the worker cannot execute it: {type(error).__name__}: {error}")
        self._ended.put((run_id, answer))

    def _result(self, future: Future[Any]) -> Report:
        """Return the result of a future; it never comes when the client is closed in the meantime."""
        from distributed.client import FutureCancelledError  # noqa: PLC0415 - see `local_cluster`

        while not self._closed:
            try:
                report: Report = future.result(timeout=_RESULT_SECONDS)
            except TimeoutError:
                if future.status == "error":  # it is the task's own
                    raise
            else:
                return report
        raise FutureCancelledError(future.key, "the batch has ended")

    def poll(self, seconds: float) -> list[tuple[str, Report | Undelivered]]:
        """Return the reports that have come; wait so long for the first.

        Raises
        ------
        EvoLibraError : the scheduler is gone.
        """
        if self._workers is not None:
            self._workers.mend()
        found = []
        with suppress(queue.Empty):
            found.append(self._ended.get(timeout=seconds))
            while True:
                found.append(self._ended.get_nowait())
        for run_id, _ in found:
            self._futures.pop(run_id, None)
        if not found and self._client.status not in ("running", "connecting"):
            raise EvoLibraError("the scheduler is gone; what was done is kept, and the same command goes on")
        return found

    def workers(self) -> int:
        """Return the number of runs that the workers execute at a time."""
        return sum(self._client.nthreads().values()) if self._client.status == "running" else 0

    def withdraw(self) -> None:
        """Cancel what has not ended."""
        futures = list(self._futures.values())
        self._futures.clear()
        with suppress(OSError, TimeoutError):
            self._client.cancel(futures)

    def close(self) -> None:
        """Leave the scheduler; end what was started for this batch."""
        self._closed = True
        if self._workers is not None:
            self._workers.end()
        with suppress(OSError, TimeoutError):
            self._client.close(timeout=5)
        if self._cluster is not None:
            with suppress(OSError, TimeoutError):
                self._cluster.close(timeout=5)


def local_cluster(workers: int) -> OnScheduler:
    """Start a scheduler in this process, and worker processes on this machine with a thread each."""
    from distributed import Client, Scheduler, SpecCluster  # noqa: PLC0415 - takes half a second

    options = {"host": "127.0.0.1", "port": 0, "dashboard": False, "dashboard_address": "127.0.0.1:0"}
    cluster = SpecCluster(scheduler={"cls": Scheduler, "options": options}, silence_logs="CRITICAL")
    started = LocalWorkers(cluster.scheduler_address, workers)
    started.mend()
    return OnScheduler(Client(cluster, set_as_default=False), cluster, started)


def join(scheduler: str) -> OnScheduler:
    """Join a running scheduler.

    Parameters
    ----------
    scheduler : its address, such as ``tcp://10.0.0.1:8786``, or the path of its scheduler file.

    Raises
    ------
    InputError : none answers there.
    """
    from distributed import Client  # noqa: PLC0415 - see `local_cluster`

    path = Path(scheduler)
    where = {"scheduler_file": scheduler} if path.suffix == ".json" or path.is_file() else {"address": scheduler}
    if "scheduler_file" in where and not path.is_file():
        raise InputError(f"--scheduler: there is no file {scheduler}; `dask scheduler --scheduler-file` writes it")
    try:
        return OnScheduler(Client(timeout=_CONNECT_SECONDS, set_as_default=False, **where))
    except (OSError, TimeoutError, ValueError, KeyError) as error:
        raise InputError(f"--scheduler: no Dask scheduler answers at {scheduler}: {error}") from None
