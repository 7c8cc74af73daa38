"""An executor in this process, and the tasks of a Dask worker."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from evo_libra.errors import InputError
from evo_libra.experiment.execution.job import ONE_THREAD, Job, Report, Undelivered
from evo_libra.experiment.run.record import program
from evo_libra.named_code import own_trust, trust

if TYPE_CHECKING:
    from distributed import Client, Future

    from evo_libra.experiment.run.spec import RunSpec
    from evo_libra.searching.islands import Archipelago, Epoch, RunEpochs


class InProcess:
    """Executes runs one after the other in this process, until `interrupted` says that it is asked to stop."""

    def __init__(self, interrupted: Callable[[], bool]) -> None:
        self._interrupted = interrupted
        self._waiting: deque[tuple[str, Mapping[str, Any], Mapping[str, Any]]] = deque()

    def submit(self, run_id: str, run: Mapping[str, Any], job: Mapping[str, Any]) -> None:
        """Put a run at the end of the queue."""
        self._waiting.append((run_id, run, job))

    def poll(self, seconds: float) -> list[tuple[str, Report | Undelivered]]:  # noqa: ARG002 - a run takes as long as it takes
        """Execute the first run of the queue."""
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


def run_task(run: Mapping[str, Any], job: Mapping[str, Any]) -> Report:
    """Execute a run, from `RunSpec.data`, on a Dask worker; `job` has the fields of `Job`."""
    for name, value in ONE_THREAD.items():
        os.environ.setdefault(name, value)
    # Only now: NumPy and Polars count their threads when they are imported.
    from evo_libra.experiment.execution.worker import execute  # noqa: PLC0415

    return execute(run, Job(**job), place=on_workers)


_PRIORITY = 1_000_000
"""Epochs go before runs: a run that is at work waits for them."""
_SHARE, _NAP = 0.25, 0.002


def on_workers(spec: RunSpec) -> Archipelago:
    """Return islands whose epochs are run by all workers of the scheduler that this worker belongs to."""
    from evo_libra.searching.islands import Archipelago  # noqa: PLC0415 - as in `run_task`

    return Archipelago(spec.islands, 0, partial(_spread, spec))


def _spread(spec: RunSpec, here: Callable[[Epoch], Epoch]) -> RunEpochs:
    from distributed import get_client  # noqa: PLC0415 - takes half a second where it is not needed

    return partial(_run_epochs, get_client(), spec, here)


def _run_epochs(client: Client, spec: RunSpec, here: Callable[[Epoch], Epoch], epochs: Sequence[Epoch]) -> list[Epoch]:
    """Return epochs once they have been run, by other workers or by this one.

    This worker never waits for long: all workers may be at runs that have islands. It takes epochs from the end, while
    the others begin at the front. An epoch that no worker has returned in time is run here; the epoch comes out the
    same anywhere.
    """
    run = {**spec.data(), "label": ""}
    others = [client.submit(run_epoch, run, program(), epoch, pure=False, priority=_PRIORITY) for epoch in epochs[:-1]]
    found: dict[int, Epoch] = {}
    try:
        for place in reversed(range(len(epochs))):
            # None is an epoch that is left to this worker.
            if place < len(others) and others[place].status == "finished" and (ready := others[place].result()):
                found[place] = ready
                continue
            begun = time.monotonic()
            found[place] = here(epochs[place])
            _wait(others[:place], time.monotonic() - begun)
    finally:
        client.cancel(others, force=True)
    return [found[place] for place in range(len(epochs))]


def _wait(others: Sequence[Future[Any]], seconds: float) -> None:
    """Wait for the last of the epochs: for as long as one takes where others come, else for a part of that."""
    begun = time.monotonic()
    while others and not others[-1].done():
        patience = seconds if any(other.done() for other in others) else _SHARE * seconds
        if time.monotonic() > begun + patience:
            return
        time.sleep(_NAP)


def run_epoch(run: Mapping[str, Any], planned_by: str, epoch: Epoch) -> Epoch | None:
    """Return an epoch of a run once it has been run; None where the program or the problem is another one."""
    from evo_libra.experiment.execution.prepared import OF_THIS_PROCESS  # noqa: PLC0415 - as in `run_task`
    from evo_libra.experiment.execution.search_loop import epoch_runner_of  # noqa: PLC0415 - the same
    from evo_libra.experiment.run.spec import RunSpec  # noqa: PLC0415 - the same

    spec = RunSpec.of(run)
    if planned_by != program():
        return None
    with own_trust():
        trust(*spec.code)  # as in `execute`
        try:
            problem = OF_THIS_PROCESS.of(spec).problem
        except InputError:
            return None
        return epoch_runner_of(spec, problem)(epoch)
