"""What can be asked of a run, and what asking it does: a request in the store, or a program that is started."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from evo_libra.errors import InputError, counted
from evo_libra.experiment.results.catalogue import request
from evo_libra.experiment.run.record import BatchRecord, RunRecord
from evo_libra.ui.terminal.session import Scene

Action = Literal["start", "pause", "stop", "retry"]


@dataclass(frozen=True)
class Ask:
    """Requests to be left in the store.

    Attributes
    ----------
    targets : the runs or batches that are asked.
    action : as for `evo_libra.experiment.results.catalogue.request`.
    done : what is said once that has happened.
    """

    targets: tuple[RunRecord | BatchRecord, ...]
    action: str
    done: str


@dataclass(frozen=True)
class Launch:
    """A batch that is to be started on this machine, or on a scheduler.

    Attributes
    ----------
    experiment : its name.
    file : the experiment file; None for a single search, whose file is to be written first.
    run : the search that the file is written for.
    again : which runs that have ended are run again: ``stale``, ``failed``.
    question : what the user is asked before.
    """

    experiment: str
    file: Path | None
    run: RunRecord
    again: tuple[str, ...]
    question: str


def batch_of(run: RunRecord, batches: Sequence[BatchRecord]) -> BatchRecord | None:
    """Return the batch that executes a run, or else that which did last; None for a single search."""
    its = [batch for batch in batches if run.id in batch.runs]
    return max(its, key=lambda batch: (bool(batch.runner), batch.started), default=None)


def answer(action: Action, run: RunRecord, scene: Scene) -> Ask | Launch:
    """Return what an action means for a run as it is now.

    Raises
    ------
    InputError : it means nothing; the sentence says why, and what would.
    """
    batch = batch_of(run, scene.batches)
    name = scene.names.get(run.id, run.id)
    alive = bool(run.worker) or (batch is not None and bool(batch.runner))
    if action == "start":
        return _start(run, batch, scene, name, alive=alive)
    if action == "retry":
        return _retry(run, batch, scene, name, alive=alive)
    if run.status in ("done", "stale", "failed", "damaged"):
        raise InputError(f"{name} is {run.status}: there is nothing to {action}")
    if not alive:
        raise InputError(f"nobody is at work on {name}; r starts it")
    if scene.requests.get(run.id) == action:
        raise InputError(f"{name} has been asked to {action} already")
    return Ask((run,), action, f"{name}: {action} requested; its checkpoint is kept, r goes on")


def _start(run: RunRecord, batch: BatchRecord | None, scene: Scene, name: str, *, alive: bool) -> Ask | Launch:
    if run.status == "done":
        raise InputError(f"{name} is done; c makes a copy of it, which continues it if it has more evaluations")
    if run.status in ("stale", "failed"):
        raise InputError(f"{name} is {run.status}; R runs it again")
    if not alive:
        return _launch(run, batch, scene, name, ())
    if batch is not None and scene.requests.get(batch.id) == "pause":
        return Ask((batch,), "resume", f"all of {batch.experiment}: resume requested")
    if run.status == "running" and scene.requests.get(run.id) not in ("pause", "stop"):
        raise InputError(f"{name} is running already")
    if run.status == "queued" and scene.requests.get(run.id) not in ("pause", "stop"):
        raise InputError(f"{name} waits for a worker")
    return Ask((run,), "resume", f"{name}: resume requested")


def _retry(run: RunRecord, batch: BatchRecord | None, scene: Scene, name: str, *, alive: bool) -> Ask | Launch:
    if run.status not in ("failed", "stale", "interrupted"):
        raise InputError(f"{name} is {run.status}; only runs that failed, are stale or were stopped are run again")
    if alive and run.status == "stale":
        raise InputError(f"{name} is stale; it can be run again once its batch has ended")
    if alive:
        return Ask((run,), "retry", f"{name}: another try requested")
    return _launch(run, batch, scene, name, () if run.status == "interrupted" else (run.status,))


def _launch(
    run: RunRecord, batch: BatchRecord | None, scene: Scene, name: str, again: tuple[str, ...]
) -> Launch:  # fmt: skip
    if batch is None:
        return Launch("", None, run, again, f"Start {name}?")
    status = {one.id: one.status for one in scene.every}
    waiting = ("queued", "interrupted", "paused", "damaged", *again)
    todo = sum(status.get(run_id) in waiting for run_id in batch.runs)
    question = f"Start {batch.experiment}? {todo:,} of {counted(len(batch.runs), 'run')} to be executed."
    return Launch(batch.experiment, Path(batch.file), run, again, question)


def pause_all(run: RunRecord, scene: Scene) -> Ask:
    """Return what pauses all runs of a run's batch, or goes on with them where they have been asked to pause.

    Raises
    ------
    InputError : the run belongs to no batch, or nobody executes it.
    """
    batch = batch_of(run, scene.batches)
    if batch is None:
        raise InputError(f"{scene.names.get(run.id, run.id)} belongs to no batch; p pauses it")
    if not batch.runner:
        raise InputError(f"nobody executes {batch.experiment}; r starts it")
    if scene.requests.get(batch.id) == "pause":
        return Ask((batch,), "resume", f"all of {batch.experiment}: resume requested")
    return Ask((batch,), "pause", f"all of {batch.experiment}: pause requested; r goes on")


def stop_all(scene: Scene) -> Ask:
    """Return what stops every batch, and every single search, that somebody is at work on."""
    batches = [batch for batch in scene.batches if batch.runner]
    covered = {run_id for batch in batches for run_id in batch.runs}
    alone = [run for run in scene.every if run.worker and run.id not in covered]
    return Ask(
        (*batches, *alone), "stop", f"{counted(len(batches) + len(alone), 'stop request')}; checkpoints are kept"
    )


def ask(what: Ask) -> str:
    """Leave requests in the store, and return what to say."""
    for target in what.targets:
        request(target, what.action)
    return what.done
