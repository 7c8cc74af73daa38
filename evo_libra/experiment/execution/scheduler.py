"""Runs on the workers of a Dask scheduler, which this program has started or which it joins."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from evo_libra.errors import EvoLibraError, InputError
from evo_libra.experiment.execution.executor import run_task
from evo_libra.experiment.execution.job import Report, Undelivered

if TYPE_CHECKING:
    from distributed import Client, Future
    from distributed.security import Security

_RESULT_SECONDS = 1.0
_LOOK_SECONDS = 5.0
_CONNECT_SECONDS = 20
SILENT_SECONDS = 30.0
"""Time without a sign of life after which a worker is reported."""
DROP_SECONDS = 120.0
"""Time after which its runs go to others."""


@dataclass
class _Seen:
    """When a worker's last sign of life changed, and whether its silence was reported."""

    sign: Any
    since: float
    reported: bool = False


class Silence:
    """Record of workers from the times at which their signs of life change; the contents of these decide nothing."""

    def __init__(self) -> None:
        self._seen: dict[str, _Seen] = {}

    def look(self, now: float, signs: Mapping[str, Any], slowness: float = 1.0) -> tuple[list[str], list[str]]:
        """Return the workers to tell of, each once, and those to drop.

        The signs are something that changes while a worker lives, by its name; `slowness` is by how much more patience
        is needed where signs are sent less often. The clock of `now` [s] never jumps.
        """
        known = self._seen
        self._seen = {
            name: known[name] if name in known and known[name].sign == sign else _Seen(sign, now)
            for name, sign in signs.items()
        }
        silent = [name for name, seen in self._seen.items() if now - seen.since > SILENT_SECONDS * slowness]
        newly = [name for name in silent if not self._seen[name].reported]
        for name in newly:
            self._seen[name].reported = True
        return newly, [name for name in silent if now - self._seen[name].since > DROP_SECONDS * slowness]


class Started(Protocol):
    """Processes of a batch on this machine."""

    def mend(self) -> None:
        """Start workers again that have ended."""

    def kill(self, name: str) -> None:
        """End a worker, which is given up."""

    def workers_arrived(self) -> int:
        """Return the number of workers that have reached the scheduler."""

    def close(self) -> None:
        """End all of it."""


class OnScheduler:
    """Executes runs on the workers of the Dask scheduler that a client is connected to.

    The processes of the batch on this machine end with it. `on_news` is called with a sentence when a worker is
    silent for long, or given up.
    """

    def __init__(
        self, client: Client, local: Started | None = None, on_news: Callable[[str], None] = lambda _news: None
    ) -> None:
        from distributed import as_completed  # noqa: PLC0415 - takes half a second

        self._client, self._local, self._on_news = client, local, on_news
        # Not callbacks of futures: each takes a thread of its own, which the system may refuse.
        self._completed = as_completed(loop=client.loop)
        self._futures: dict[str, Future[Any]] = {}
        self._runs: dict[Any, str] = {}
        self._sent = 0
        self._silence, self._looked = Silence(), time.monotonic()

    def submit(self, run_id: str, run: Mapping[str, Any], job: Mapping[str, Any]) -> None:
        """Send a run to the scheduler, which sends it again when its worker dies."""
        self._sent += 1
        # One name for all, which the scheduler keeps one group for; it looks through its groups for every task.
        key = (f"run-{job['batch']}", self._sent)
        future = self._client.submit(run_task, run, job, key=key, pure=False, priority=-self._sent)
        self._futures[run_id], self._runs[future.key] = future, run_id
        self._completed.add(future)

    def poll(self, seconds: float) -> list[tuple[str, Report | Undelivered]]:
        """Return the reports that have come; wait so long for the first. Raises an error if the scheduler is gone."""
        if self._local is not None:
            self._local.mend()
        self._look()
        with self._completed.thread_condition:
            self._completed.thread_condition.wait_for(self._completed.has_ready, timeout=seconds)
        found = [one for future in self._completed.next_batch(block=False) for one in self._ended(future)]
        if not found and self._client.status not in ("running", "connecting"):
            raise EvoLibraError("the scheduler is gone; finished work is kept, and the same command continues")
        return found

    def _ended(self, future: Future[Any]) -> Iterator[tuple[str, Report | Undelivered]]:
        """Yield the answer of a run, unless it was withdrawn or has yet to come from its worker."""
        run_id = self._runs.get(future.key)
        if run_id is None or (answer := self._answer(future)) is None:
            return
        del self._runs[future.key]
        if self._futures.get(run_id) is future:
            del self._futures[run_id]
        yield run_id, answer

    def _answer(self, future: Future[Any]) -> Report | Undelivered | None:
        """Return the report of a run, or why there is none; None where that is not here yet."""
        from distributed.client import FutureCancelledError  # noqa: PLC0415 - see `local_cluster`
        from distributed.scheduler import KilledWorker  # noqa: PLC0415 - the same

        try:
            report: Report = future.result(timeout=_RESULT_SECONDS)
        except KilledWorker as error:
            return Undelivered(f"its workers kept dying: {error}")
        except FutureCancelledError:
            self._runs.pop(future.key, None)
            return None
        except Exception as error:  # noqa: BLE001 - the worker's environment may be broken in any way; the batch goes on
            if isinstance(error, TimeoutError) and future.status != "error":  # else it is the task's own
                self._completed.add(future)
                return None
            return Undelivered(f"the worker cannot execute it: {type(error).__name__}: {error}")
        return report

    def _look(self) -> None:
        """Tell of workers that the scheduler no longer hears of, and give them up in the end."""
        if time.monotonic() - self._looked < _LOOK_SECONDS or self._client.status != "running":
            return
        self._looked = time.monotonic()
        workers = self._client.scheduler_info()["workers"]
        signs = {address: worker["last_seen"] for address, worker in workers.items()}
        silent, dropped = self._silence.look(self._looked, signs, max(len(signs) / 1000, 1.0))
        for address in silent:
            more = DROP_SECONDS - SILENT_SECONDS
            self._on_news(
                f"the worker {address} has given no sign of life for {SILENT_SECONDS:.0f} s; "
                f"in {more:.0f} s its runs go to others"
            )
        for address in dropped:
            self._on_news(f"the worker {address} is given up; its runs go on elsewhere")
            self._drop(address, str(workers[address]["name"]))

    def _drop(self, address: str, name: str) -> None:
        scheduler: Any = self._client.scheduler
        self._client.sync(scheduler.unregister, address=address, stimulus_id=f"silent-{time.monotonic()}")
        if self._local is not None:
            self._local.kill(name)

    def workers(self) -> int:
        """Return the number of runs that the workers execute at a time."""
        if self._local is not None:
            return self._local.workers_arrived()
        return sum(self._client.nthreads().values()) if self._client.status == "running" else 0

    def withdraw(self) -> None:
        """Cancel what has not ended."""
        futures = list(self._futures.values())
        self._futures.clear()
        self._runs.clear()
        with suppress(OSError, TimeoutError):
            self._client.cancel(futures)

    def close(self) -> None:
        """Leave the scheduler; end what was started for this batch."""
        # First: of a report that a client still asks for, the scheduler would have the run executed again, once the
        # worker that holds it ends.
        with suppress(OSError, TimeoutError):
            self._client.close(timeout=5)
        if self._local is not None:
            self._local.close()


@dataclass(frozen=True)
class Tls:
    """Files to speak TLS with a scheduler: its authority, and this program's own certificate and key.

    Dask's configuration decides settings that are None.
    """

    ca_file: Path | None = None
    cert: Path | None = None
    key: Path | None = None

    def security(self) -> Security:
        """Return Dask's settings to use them and to refuse peers without any; refuse a missing file."""
        from distributed.security import Security  # noqa: PLC0415 - takes half a second

        named = {"ca_file": self.ca_file, "client_cert": self.cert, "client_key": self.key}
        given = {f"tls_{key}": str(path) for key, path in named.items() if path is not None}
        for option, path in (("ca-file", self.ca_file), ("cert", self.cert), ("key", self.key)):
            if path is not None and not path.is_file():
                raise InputError(f"--tls-{option}: there is no file {path}")
        return Security(**given, require_encryption=True) if given else Security()


def join(scheduler: str, tls: Tls | None = None, on_news: Callable[[str], None] = lambda _news: None) -> OnScheduler:
    """Join a running scheduler, by its address, such as ``tls://10.0.0.1:8786``, or the path of its scheduler file.

    Raises an `InputError` where none answers there, a file is missing, or the certificates do not fit the address.
    """
    from distributed import Client  # noqa: PLC0415 - takes half a second

    security = (tls or Tls()).security()
    try:
        encrypted = security.get_connection_args("client")["ssl_context"] is not None
    except OSError as error:
        raise InputError(f"--scheduler: the certificates cannot be used: {error}") from None
    address = _checked(_address(scheduler), encrypted=encrypted)
    try:
        client = Client(address, timeout=_CONNECT_SECONDS, set_as_default=False, security=security)
    except (OSError, TimeoutError, ValueError, RuntimeError) as error:
        raise InputError(f"--scheduler: no Dask scheduler answers at {scheduler}: {error}") from None
    return OnScheduler(client, on_news=on_news)


def _address(scheduler: str) -> str:
    """Return the address of a scheduler, out of its file where that is what was named."""
    path = Path(scheduler)
    if path.suffix != ".json" and not path.is_file():
        return scheduler
    try:
        return str(json.loads(path.read_text(encoding="utf-8"))["address"])
    except FileNotFoundError:
        raise InputError(
            f"--scheduler: there is no file {scheduler}; `dask scheduler --scheduler-file` writes it"
        ) from None
    except (OSError, ValueError, KeyError, TypeError):
        raise InputError(f"--scheduler: {scheduler} is no scheduler file of Dask") from None


def _checked(address: str, *, encrypted: bool) -> str:
    """Refuse an address that does not fit the certificates; Dask itself would begin to connect."""
    if address.startswith("tls://") and not encrypted:
        raise InputError(f"--scheduler: {address} asks for certificates; give --tls-ca-file, --tls-cert and --tls-key")
    if encrypted and not address.startswith("tls://"):
        raise InputError(
            f"--scheduler: {address} is not encrypted; certificates need an address such as tls://head:8786"
        )
    return address
