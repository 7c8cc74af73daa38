"""A search that keeps its results in a folder, can be interrupted, and goes on."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import numpy as np

from evo_libra.arrays import FloatArray
from evo_libra.errors import InputError
from evo_libra.experiment.execution.agreement import check_front
from evo_libra.experiment.execution.search_loop import Place, in_this_process, snapshots
from evo_libra.experiment.execution.start import Start
from evo_libra.experiment.run.origin import build, digest_of
from evo_libra.experiment.run.record import Figures
from evo_libra.experiment.run.spec import RunSpec
from evo_libra.experiment.store.checkpoint import write_checkpoint
from evo_libra.experiment.store.evaluated import Record, designs_files, keep_failures
from evo_libra.experiment.store.events import Progress, log, tell, tell_progress
from evo_libra.experiment.store.folder import DONE, FRONT, MANIFEST, PLOT, RunFolder, checksum
from evo_libra.experiment.store.manifest import manifest_of
from evo_libra.front.archive import Archive
from evo_libra.front.front import Front, front_of
from evo_libra.front.indicators import hypervolume
from evo_libra.problem.protocol import SearchProblem
from evo_libra.searching.engine import EXHAUSTED, SECONDS, evaluate
from evo_libra.searching.evaluation.parallel import ExpensiveProblem, SlowProblem
from evo_libra.searching.loop import Snapshot

_SAMPLE, _SEED = 128, 0

Scale = tuple[FloatArray, FloatArray]


def scale_of(problem: SearchProblem) -> Scale | None:
    """Return the ideal and the nadir point of the best of 128 designs drawn at random, the same for every run.

    Runs of one problem are measured alike whatever their engine and seed; a front that is better than the sample has a
    hypervolume above 1. The designs are not counted as evaluations. None when none of them is feasible, they have no
    extent in an objective, or a design takes long to evaluate.
    """
    if isinstance(problem, (ExpensiveProblem, SlowProblem)):
        return None
    genes = problem.genome.sample(np.random.Generator(np.random.PCG64(_SEED)), _SAMPLE)
    evaluation = evaluate(problem, genes)
    best = Archive.empty(len(problem.genome), len(problem.objectives))
    best = best.add(genes, evaluation.objectives, evaluation.violation)
    if not len(best):
        return None
    ideal, nadir = best.objectives.min(axis=1), best.objectives.max(axis=1)
    return (ideal, nadir) if (nadir > ideal).all() else None


def measure(scale: Scale | None, objectives: FloatArray) -> float | None:
    """Return the hypervolume of (m, k) designs on a scale; None without one."""
    return None if scale is None else hypervolume(objectives, *scale)


def prepare(spec: RunSpec) -> tuple[SearchProblem, Scale | None]:
    """Return a run's problem and its scale.

    Raises
    ------
    InputError : the problem is not the one that the run was planned for.
    """
    problem, digest = build(spec.origin), spec.problem_digest
    if digest_of(problem) != digest:
        raise InputError(
            f"the problem '{spec.name}' is another one here than where it was planned: a catalogue, a workload file or "
            "its code differs"
        )
    if digest not in _SCALES:
        _SCALES[digest] = scale_of(problem)
    return problem, _SCALES[digest]


_SCALES: dict[str, Scale | None] = {}


CHECKPOINT_SECONDS = 1.0
"""Time between checkpoints: a process that is killed loses at most this, or one generation that takes longer."""
PROGRESS_SECONDS = 0.5
"""Time between two notes of the progress."""
LOST = "lost"
"""Why a run stops whose claim somebody else has taken over."""


@dataclass(frozen=True)
class Outcome:
    """What became of a run.

    Attributes
    ----------
    folder : of its files.
    front : every non-dominated design that was found.
    figures : its results.
    stopped : why it stopped before its end, such as ``interrupt``; None when it is complete.
    failures : designs that could not be evaluated, as `evo_libra.experiment.store.evaluated.keep_failures` has them.
    """

    folder: RunFolder
    front: Front
    figures: Figures
    stopped: str | None
    failures: Sequence[Mapping[str, Any]] = ()


@dataclass(frozen=True)
class Surroundings:
    """What a run knows of the program around it.

    Attributes
    ----------
    asked : returns why to stop, or None; called after each generation.
    on_generation : called after each generation with the snapshot and the seconds since the start.
    checkpoint_seconds : time between checkpoints.
    command : the words that started all this.
    place : where islands are.
    """

    asked: Callable[[], str | None] = lambda: None
    on_generation: Callable[[Snapshot, float], None] = lambda _snapshot, _seconds: None
    checkpoint_seconds: float = CHECKPOINT_SECONDS
    command: tuple[str, ...] = tuple(sys.argv)
    place: Place = in_this_process


def run_search(
    spec: RunSpec,
    problem: SearchProblem,
    folder: RunFolder,
    start: Start,
    scale: Scale | None,
    around: Surroundings,
) -> Outcome:
    """Search, and keep front, manifest, events and checkpoint in a folder: everything but the mark that it is done.

    Parameters
    ----------
    spec, problem : the run, and its problem.
    folder : its folder, claimed and made ready.
    start : where it begins.
    scale : for the hypervolume.
    around : the program around it.

    Raises
    ------
    InputError : there is no such engine, or it cannot search the problem.
    StorageError : results cannot be written.
    TakenOverError : another attempt has taken over the run.
    """
    manifest = manifest_of(spec, problem, around.command, folder.path)
    for name in (FRONT, PLOT, DONE):
        folder.remove(name)
    last, stopped = start.snapshot, None
    record = Record(folder, problem, last.evaluations if last else 0) if spec.keep == "designs" else None
    loop = snapshots(spec, problem, last, observe=record, place=around.place)
    folder.write_json(MANIFEST, {**manifest, "status": "running"}, sync=False)
    journal = _Journal(spec, problem, folder, start, scale, around, record)
    with closing(loop):
        for snapshot in loop:
            last = snapshot
            journal.note(snapshot)
            stopped = around.asked()
            if stopped is not None:
                break
    if last is not None and (last.ended or last.evaluations >= spec.evaluations) and stopped != LOST:
        stopped = None
    return journal.end(last, stopped, manifest)


def mark_done(outcome: Outcome) -> None:
    """Write the mark that a run is complete, after everything else."""
    folder = outcome.folder
    names = [FRONT, *(path.name for path in designs_files(folder.path))]
    files = {name: checksum(folder.path / name) for name in names}
    folder.write_json(DONE, {**outcome.figures.json(), "files": files})
    tell(folder, "done", evaluations=outcome.figures.evaluations, seconds=round(outcome.figures.wall_s, 3))


class _Journal:
    """What a run writes while it searches.

    The last checkpoint of a run is from before the generation that its budget cuts short, or a look at its front ends,
    so that a longer run which goes on from it ends where it would have ended had it been long from the start.
    """

    def __init__(
        self,
        spec: RunSpec,
        problem: SearchProblem,
        folder: RunFolder,
        start: Start,
        scale: Scale | None,
        around: Surroundings,
        record: Record | None,
    ) -> None:
        self.spec, self.problem, self.folder = spec, problem, folder
        self.scale, self.around, self.record = scale, around, record
        self.begun = time.perf_counter()
        self.saved_at, self.noted_at, self.earlier = self.begun, -math.inf, start.seconds
        self.uncut = start.snapshot
        self.saved = start.snapshot.evaluations if start.snapshot else 0

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self.begun

    @property
    def total_seconds(self) -> float:
        return self.earlier + self.seconds

    def note(self, snapshot: Snapshot) -> None:
        """Report and save the search, each when it is time to."""
        # A longer run repeats the generation that the budget, a stagnation or a proof has ended, so that it ends the
        # same search in the same place. The clock has no such place.
        if snapshot.ended in ("", EXHAUSTED, SECONDS):
            self.uncut = snapshot
        self.around.on_generation(snapshot, self.seconds)
        if snapshot.ended or self.seconds - self.noted_at > PROGRESS_SECONDS:
            self.noted_at = self.seconds
            self._progress(snapshot)
        if not snapshot.ended and time.perf_counter() - self.saved_at > self.around.checkpoint_seconds:
            self._save()
            self.saved_at = time.perf_counter()

    def end(self, last: Snapshot | None, stopped: str | None, manifest: dict[str, Any]) -> Outcome:
        """Write what a run that has ended, complete or not, leaves behind; nothing where somebody else has it."""
        archive = last.archive if last else Archive.empty(len(self.problem.genome), len(self.problem.objectives))
        failures: list[dict[str, Any]] = []
        if stopped != LOST:
            if stopped is not None and last is not None:
                self._progress(last)
            self._save()
            if stopped is None and self.record is not None:
                self.record.flush()
            failures = keep_failures(self.folder, self.problem)
        outcome = Outcome(
            self.folder, front_of(self.problem, archive), self._figures(archive, last, stopped), stopped, failures
        )
        if stopped is None and (reason := check_front(manifest, outcome.front)):
            log(self.folder, f"the front was not evaluated again: {reason}")
        if stopped != LOST:
            self.folder.write(FRONT, outcome.front.write)
            self.folder.write_json(MANIFEST, {**manifest, **_state(outcome)})
        return outcome

    def _figures(self, archive: Archive, last: Snapshot | None, stopped: str | None) -> Figures:
        return Figures(
            evaluations=last.evaluations if last else 0,
            front_size=len(archive),
            hypervolume=measure(self.scale, archive.objectives),
            wall_s=round(self.total_seconds, 6),
            ended=last.ended if last and stopped is None else "",
            restarts=last.restarts if last else 0,
        )

    def _progress(self, snapshot: Snapshot) -> None:
        archive = snapshot.archive
        volume = measure(self.scale, archive.objectives) if len(archive) else None
        point = Progress(
            round(time.time(), 3), snapshot.evaluations, len(archive), volume, round(self.total_seconds, 3)
        )
        tell_progress(self.folder, point)

    def _save(self) -> None:
        if self.uncut is None or self.uncut.evaluations <= self.saved:
            return
        if self.record is not None:
            self.record.flush()
        keep_failures(self.folder, self.problem)
        write_checkpoint(self.folder, self.uncut, self.spec.search)
        self.saved = self.uncut.evaluations


def _state(outcome: Outcome) -> dict[str, Any]:
    status = "done" if outcome.stopped is None else "interrupted"
    return {"status": status, "failures": len(outcome.failures), **outcome.figures.json()}
