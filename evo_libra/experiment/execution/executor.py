"""Where tasks are executed: in this process, or by the workers of a Dask scheduler, here or on a cluster."""

from __future__ import annotations

import queue
import tempfile
import time
from collections import deque
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from evo_libra.errors import EvoLibraError
from evo_libra.experiment.execution.local_worker import LocalWorkers, Place, run_task
from evo_libra.experiment.execution.silence import DROPPED_SECONDS, TOLD_SECONDS, Silence

if TYPE_CHECKING:
    from distributed import Client, Future, Scheduler, SpecCluster

    from evo_libra.experiment.execution.messages import Report

_RESULT_SECONDS = 1.0
_LOOK_SECONDS = 5.0


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
        from evo_libra.experiment.execution.messages import Job  # noqa: PLC0415 - see below
        from evo_libra.experiment.execution.worker import execute  # noqa: PLC0415 - imports NumPy

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
    local : what was started for the batch on this machine, to be ended with it.
    on_news : called with a sentence when a worker is silent for long, or given up.
    """

    def __init__(
        self, client: Client, local: _Local | None = None, on_news: Callable[[str], None] = lambda _news: None
    ) -> None:
        self._client, self._local, self._on_news = client, local, on_news
        self._ended: queue.SimpleQueue[tuple[str, Report | Undelivered]] = queue.SimpleQueue()
        self._futures: dict[str, Future[Any]] = {}
        self._sent, self._closed = 0, False
        self._silence, self._looked = Silence(), time.monotonic()

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
        if self._local is not None:
            self._local.workers.mend()
        self._look()
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

    def _look(self) -> None:
        """Tell of workers that the scheduler no longer hears of, and give them up in the end."""
        if time.monotonic() - self._looked < _LOOK_SECONDS or self._client.status != "running":
            return
        self._looked = time.monotonic()
        workers = self._client.scheduler_info()["workers"]
        signs = {address: worker["last_seen"] for address, worker in workers.items()}
        silent, dropped = self._silence.look(self._looked, signs, max(len(signs) / 1000, 1.0))
        for address in silent:
            more = DROPPED_SECONDS - TOLD_SECONDS
            self._on_news(
                f"the worker {address} has given no sign of life for {TOLD_SECONDS:.0f} s; "
                f"in {more:.0f} s its runs go to others"
            )
        for address in dropped:
            self._on_news(f"the worker {address} is given up; its runs go on elsewhere")
            self._drop(address, str(workers[address]["name"]))

    def _drop(self, address: str, name: str) -> None:
        scheduler: Any = self._client.scheduler
        self._client.sync(scheduler.unregister, address=address, stimulus_id=f"silent-{time.monotonic()}")
        if self._local is not None:
            self._local.workers.kill(name)

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
        if self._local is not None:
            self._local.workers.end()
        with suppress(OSError, TimeoutError):
            self._client.close(timeout=5)
        if self._local is not None:
            self._local.close()


@dataclass(frozen=True)
class _Local:
    """What was started for a batch on this machine.

    Attributes
    ----------
    cluster : the scheduler.
    workers : its workers.
    folder : for their temporary files.
    """

    cluster: SpecCluster
    workers: LocalWorkers
    folder: tempfile.TemporaryDirectory[str]

    def close(self) -> None:
        """End the scheduler once the workers have ended."""
        with suppress(OSError, TimeoutError):
            self.cluster.close(timeout=5)
        self.folder.cleanup()


def local_cluster(workers: int, on_news: Callable[[str], None] = lambda _news: None) -> OnScheduler:
    """Start a scheduler in this process, and worker processes on this machine with a thread each.

    Nobody else can reach them; see `evo_libra.experiment.execution.private_cluster`.

    Parameters
    ----------
    workers : processes.
    on_news : as for `OnScheduler`.
    """
    from distributed import Client, SpecCluster  # noqa: PLC0415 - takes half a second

    from evo_libra.experiment.execution import private_cluster as private  # noqa: PLC0415 - the same

    credentials = private.new_credentials()
    options, security = private.scheduler_options(credentials), private.security_of(credentials)
    cluster = SpecCluster(
        scheduler={"cls": private.PrivateScheduler, "options": options}, security=security, silence_logs="CRITICAL"
    )
    folder = tempfile.TemporaryDirectory(prefix="evo-libra-", ignore_cleanup_errors=True)
    place = Place(cluster.scheduler_address, credentials, folder.name)
    started = LocalWorkers(place, workers, lambda: _names(cluster.scheduler), on_news)
    started.mend()
    client = Client(cluster, security=security, set_as_default=False)
    return OnScheduler(client, _Local(cluster, started, folder), on_news)


def _names(scheduler: Scheduler | None) -> Collection[str]:
    """Return the names of the workers that have reached a scheduler, which another thread of this process runs."""
    return set() if scheduler is None else {str(worker.name) for worker in list(scheduler.workers.values())}
