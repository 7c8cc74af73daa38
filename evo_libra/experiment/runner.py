"""A search that keeps its results in a folder, can be interrupted, and goes on."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

from evo_libra.errors import InputError
from evo_libra.experiment.failures import keep_failures
from evo_libra.experiment.provenance import canonical_hash, git_state, machine, versions
from evo_libra.experiment.store import (
    CHECKPOINT,
    DONE,
    FRONT,
    MANIFEST,
    RunFolder,
    read_checkpoint,
    run_folder,
    write_checkpoint,
)
from evo_libra.front.archive import Archive
from evo_libra.front.front import Front, front_of
from evo_libra.problem.protocol import SearchProblem
from evo_libra.search.engine import load_engine
from evo_libra.search.expensive import ExpensiveProblem
from evo_libra.search.run import Snapshot, generations
from evo_libra.search.steady import completions

CHECKPOINT_SECONDS = 1.0
"""Time between checkpoints: a process that is killed loses at most this, or one generation that takes longer."""


@dataclass(frozen=True)
class Outcome:
    """What became of a run.

    Attributes
    ----------
    folder : where its files are.
    front : everything non-dominated that was found.
    evaluations : designs evaluated in all.
    wall : seconds this time.
    interrupted : whether it was stopped before its end.
    failures : designs that could not be evaluated, as `evo_libra.experiment.failures.keep_failures` has them.
    """

    folder: RunFolder
    front: Front
    evaluations: int
    wall: float
    interrupted: bool
    failures: Sequence[Mapping[str, Any]] = ()


@contextmanager
def catching_interrupts() -> Iterator[Callable[[], bool]]:
    """Turn SIGINT and SIGTERM into a question that the loop asks between generations."""
    caught = False

    def catch(_signal: int, _frame: FrameType | None) -> None:
        nonlocal caught
        caught = True

    before = {number: signal.signal(number, catch) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield lambda: caught
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def run_search(  # noqa: PLR0913 - what a run is, where it is kept, and who watches
    problem: SearchProblem,
    *,
    engine: str,
    population: int,
    evaluations: int,
    seed: int,
    results: Path,
    resume: bool,
    source: Mapping[str, Any],
    on_generation: Callable[[Snapshot, float], None],
    asynchronous: bool = False,
) -> Outcome:
    """Search, and keep front, manifest and checkpoint in a folder of its own.

    Parameters
    ----------
    problem : the problem.
    engine, population, evaluations, seed : as for `evo_libra.search.run.search`.
    results : the folder that holds the folders of all problems.
    source : what the user named, kept in the manifest: the problem and its assignments.
    resume : go on from the checkpoint of the same run, if it has one; else its folder is written anew.
    on_generation : called after each generation with the snapshot and the seconds since the start.
    asynchronous : tell the engine of each design as soon as it is done, for a problem that has processes of its own.

    Raises
    ------
    InputError : there is no such engine, the checkpoint is damaged, or an asynchronous problem has no processes.
    """
    if engine == "exhaustive" and isinstance(problem, ExpensiveProblem):
        raise InputError("exhaustive evaluates many designs at once; search without worker processes")
    chosen, loop = load_engine(engine, problem), _loop(problem, asynchronous=asynchronous)
    # Refused here, before anything is written.
    chosen.start(problem.genome, len(problem.objectives), population, seed)
    settings = {"engine": engine, "population": population, **({"asynchronous": True} if asynchronous else {})}
    digest = canonical_hash({"problem": dict(problem.identity()), **settings})
    folder = run_folder(results, problem.name, engine, digest, seed)
    last = read_checkpoint(folder, digest) if resume else None
    if last is None:
        folder.clear()
    (folder.path / DONE).unlink(missing_ok=True)
    manifest = {
        "problem": dict(problem.identity()),
        "source": dict(source),
        "name": problem.name,
        "hash": digest,
        **settings,
        "seed": seed,
        "versions": versions(),
        "git": git_state(),
        "machine": machine(),
        "command": sys.argv,
        "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }
    folder.write_json(MANIFEST, {**manifest, "status": "running"})
    start = saved = time.perf_counter()
    with catching_interrupts() as interrupted:
        for snapshot in loop(chosen, population=population, seed=seed, evaluations=evaluations, resume=last):
            last, now = snapshot, time.perf_counter()
            on_generation(snapshot, now - start)
            if now - saved > CHECKPOINT_SECONDS:
                write_checkpoint(folder, snapshot, digest)
                keep_failures(folder, problem)
                saved = time.perf_counter()
            if interrupted():
                break
        stopped = interrupted() and last is not None and last.evaluations < evaluations and not last.exhausted
        if last is not None:
            write_checkpoint(folder, last, digest)
        done = last.evaluations if last else 0
        archive = last.archive if last else Archive.empty(len(problem.genome), len(problem.objectives))
        front, wall = front_of(problem, archive), time.perf_counter() - start
        folder.write(FRONT, front.write)
        failures = keep_failures(folder, problem)
        status = "interrupted" if stopped else "done"
        figures = {"evaluations": done, "front": len(front), "failures": len(failures), "wall_s": round(wall, 6)}
        folder.write_json(MANIFEST, {**manifest, "status": status, **figures})
    return Outcome(folder, front, done, wall, stopped, failures)


def _loop(problem: SearchProblem, *, asynchronous: bool) -> Callable[..., Iterator[Snapshot]]:
    if not asynchronous:
        return partial(generations, problem)
    if not isinstance(problem, ExpensiveProblem):
        raise InputError("an asynchronous search needs --workers, or a problem that has processes of its own")
    return partial(completions, problem)


def mark_done(outcome: Outcome) -> None:
    """Write the mark that a run is complete, after everything else."""
    outcome.folder.write_json(DONE, {"evaluations": outcome.evaluations, "front": len(outcome.front)})


def has_checkpoint(folder: RunFolder) -> bool:
    """Return whether a run can be resumed."""
    return (folder.path / CHECKPOINT).is_file()
