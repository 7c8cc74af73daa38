"""A search that keeps its results in a folder, can be interrupted, goes on, and is checked before it counts as done."""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from evo_libra.errors import EvoLibraError, InputError, counted
from evo_libra.experiment.execution.prepared import Prepared
from evo_libra.experiment.execution.search_loop import Place, Start, in_this_process, snapshots
from evo_libra.experiment.run.origin import build, digest_of, text_of
from evo_libra.experiment.run.record import RunFigures
from evo_libra.experiment.run.spec import RunSpec, manifest_of, spec_of
from evo_libra.experiment.store.folder import DONE, FRONT, MANIFEST, PLOT, PROOF, REFERENCES, RunFolder
from evo_libra.experiment.store.messages import Progress, tell, tell_progress
from evo_libra.experiment.store.search_state import Record, designs_files, failure_rows, write_checkpoint
from evo_libra.files.integrity import checksum
from evo_libra.front.archive import ONE_ROW, SEEN, Archive, even_steps
from evo_libra.front.front import Front, front_of
from evo_libra.front.indicators import hypervolume
from evo_libra.optimality.scope import scope_of
from evo_libra.problem.problem import Problem
from evo_libra.problem.protocol import NO_FAILURES, ReadsDesigns, SearchProblem
from evo_libra.problem.question import FABRIC
from evo_libra.searching.engine import EXHAUSTED, GAP, SECONDS, Engine
from evo_libra.searching.loop import Snapshot
from evo_libra.searching.registry import load_engine

CHECKPOINT_SECONDS = 1.0
"""Time between checkpoints: a process that is killed loses at most this, or one generation that takes longer."""
PROGRESS_SECONDS = 0.5
"""Time between two notes of the progress."""
LOST = "lost"
"""Reason of a run to stop once another process has taken over its claim."""


@dataclass(frozen=True)
class Outcome:
    """The outcome of a run: every non-dominated design that was found, and its figures.

    It stopped before its end for a reason such as ``interrupt``; None when it is complete.
    """

    folder: RunFolder
    front: Front
    figures: RunFigures
    stopped: str | None


@dataclass(frozen=True)
class RunContext:
    """The surroundings of a run in its program.

    After each generation, `asked` returns why to stop, or None, and `on_generation` is called with the snapshot and the
    seconds since the start.
    """

    asked: Callable[[], str | None] = lambda: None
    on_generation: Callable[[Snapshot, float], None] = lambda _snapshot, _seconds: None
    checkpoint_seconds: float = CHECKPOINT_SECONDS
    command: tuple[str, ...] = tuple(sys.argv)
    place: Place = in_this_process


def run_search(
    spec: RunSpec, problem: SearchProblem, folder: RunFolder, start: Start, ready: Prepared, around: RunContext
) -> Outcome:
    """Search, and keep front, manifest, events and checkpoint in a folder: everything but the mark that it is done.

    The folder is claimed and made ready; it raises what `RunFolder` does. The problem that is searched may be the one
    that is ready in worker processes.
    """
    _ = ready.scale  # a file whose objectives cannot be used is refused by its sample, before an engine meets them
    manifest = manifest_of(spec, problem, around.command, folder.path)
    for name in (FRONT, PLOT, REFERENCES, PROOF, DONE):
        folder.remove(name)
    last, stopped = start.snapshot, None
    record = Record(folder, problem, last.evaluations if last else 0) if spec.keep == "designs" else None
    loop = snapshots(spec, problem, last, observe=record, place=around.place)
    folder.write_json(MANIFEST, {**manifest, "status": "running"}, sync=False)
    ready.keep_references(folder)
    journal = _Journal(spec, problem, folder, start=start, ready=ready, around=around, record=record)
    with closing(loop):
        for snapshot in loop:
            last = snapshot
            journal.note(snapshot)
            stopped = around.asked()
            if stopped is not None:
                break
    if last is not None and (last.ended or last.evaluations >= spec.evaluations) and stopped != LOST:
        stopped = None
    outcome = journal.end(last, stopped, manifest)
    if last is not None and stopped is None:
        _check_some_evaluated(spec.name, last)
    return outcome


def _check_some_evaluated(name: str, last: Snapshot) -> None:
    """Refuse a search whose problem could evaluate no design at all: a fault of the problem, and no result."""
    failures = last.failures
    if last.evaluations and failures.count == last.evaluations:
        raise EvoLibraError(
            f"none of the {counted(failures.count, 'design')} of '{name}' could be evaluated, "
            f"the first because {failures.first[0].reason}"
        )


def mark_done(outcome: Outcome) -> None:
    """Write the mark that a run is complete, after everything else."""
    folder = outcome.folder
    names = [FRONT, *(path.name for path in designs_files(folder.path))]
    files = {name: checksum(folder.path / name) for name in names}
    folder.write_json(DONE, {**outcome.figures.json(), "files": files})
    tell(folder, "done", evaluations=outcome.figures.evaluations, seconds=round(outcome.figures.wall_s, 3))


@dataclass(eq=False)
class _Journal:
    """Writer of the files of a run while it searches.

    The last checkpoint of a run is from before the generation that its budget cuts short, or a check of its front ends,
    so that a longer run which goes on from it ends where it would have ended had it been long from the start.
    """

    spec: RunSpec
    problem: SearchProblem
    folder: RunFolder
    start: Start
    ready: Prepared
    around: RunContext
    record: Record | None
    begun: float = field(default_factory=time.perf_counter)
    noted_at: float = -math.inf

    def __post_init__(self) -> None:
        self.saved_at, self.uncut = self.begun, self.start.snapshot
        self.saved = self.uncut.evaluations if self.uncut else 0

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self.begun

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
        """Write the results of a run that has ended, complete or not; nothing where another process has it."""
        nothing = Archive.empty(len(self.problem.genome), len(self.problem.objectives))
        archive = last.archive.thinned(self.spec.epsilon) if last else nothing
        if stopped != LOST:
            if stopped is not None and last is not None:
                self._progress(last)
            self._save()
            if stopped is None and self.record is not None:
                self.record.flush()
        figures, found = self._figures(archive, last, stopped), front_of(self.ready.problem, archive)
        if stopped is None and len(found):
            check_front(manifest, found, self.spec, self.ready.problem)
        if stopped != LOST:
            self.folder.write(FRONT, found.write)
            status = "done" if stopped is None else "interrupted"
            failures = last.failures if last else NO_FAILURES
            state = {"status": status, "failures": failures.count, **figures.json()}
            first = {"first_failures": failure_rows(self.problem, failures)} if failures.count else {}
            self.folder.write_json(MANIFEST, {**manifest, **state, **first})
        return Outcome(self.folder, found, figures, stopped)

    def _figures(self, archive: Archive, last: Snapshot | None, stopped: str | None) -> RunFigures:
        return RunFigures(
            evaluations=last.evaluations if last else 0,
            front_size=len(archive),
            hypervolume=self._hypervolume(archive, last),
            wall_s=round(self.start.seconds + self.seconds, 6),
            ended=last.ended if last and stopped is None else "",
            restarts=last.restarts if last else 0,
            claim=self._claim(last.ended) if last and stopped is None else "",
        )

    def _claim(self, ended: str) -> str:
        """Return the proof of the front of a run that ended so, with its space; empty without any.

        Engines say what they prove once nothing is left to evaluate; those of users need not.
        """
        if ended == GAP and isinstance(self.problem, Problem):
            return f"The front is within {self.spec.gap:.3g} of the best front of {scope_of(self.problem)}"
        if ended != EXHAUSTED:
            return ""
        engine = load_engine(self.spec.engine, self.problem)
        claim = engine.claim(self.spec.population) if isinstance(engine, Engine) else ""
        if not claim or self.spec.epsilon < SEEN:
            return claim
        return f"{claim} {ONE_ROW.format(100.0 * self.spec.epsilon)}"

    def _hypervolume(self, archive: Archive, last: Snapshot | None) -> float | None:
        """Return the hypervolume on the axes of a sample; of a problem in Python, of the first designs of the run."""
        of_run = None if last is None or isinstance(self.ready.problem, ReadsDesigns) else last.extent
        scale = self.ready.scale or of_run
        return None if scale is None else hypervolume(archive.objectives, *scale)

    def _progress(self, snapshot: Snapshot) -> None:
        archive = snapshot.archive.thinned(self.spec.epsilon)
        volume = self._hypervolume(archive, snapshot) if len(archive) else None
        seconds = round(self.start.seconds + self.seconds, 3)
        tell_progress(self.folder, Progress(round(time.time(), 3), snapshot.evaluations, len(archive), volume, seconds))

    def _save(self) -> None:
        if self.uncut is None or self.uncut.evaluations <= self.saved:
            return
        if self.record is not None:
            self.record.flush()
        write_checkpoint(self.folder, self.uncut, self.spec.search)
        self.saved = self.uncut.evaluations


ROWS = 20
"""Designs of a front that are evaluated again."""
TOLERANCE = 1e-12
"""Largest relative difference of an objective: what remains of the order of sums."""
_FAULT = "this is a fault of the program, and nothing of this run is kept as a result"


class DisagreementError(EvoLibraError):
    """A design evaluates to other figures than the front says: a fault of the program."""


def check_front(manifest: Mapping[str, Any], front: Front, spec: RunSpec, problem: SearchProblem) -> None:
    """Evaluate designs of a front again, as a reader of the front would, before its run counts as done.

    The manifest has to describe the problem that was searched, and the designs are read in the notation. A problem
    written in Python has no notation; its designs are not evaluated again.

    Raises a `DisagreementError` where the manifest's problem is another one, or a design evaluates to other figures.
    """
    if spec.origin.data is None:
        return
    assert isinstance(problem, ReadsDesigns), "problem files make nothing else"  # noqa: S101 - internal error
    origin = spec_of(json.loads(json.dumps(manifest))).origin
    # The same words are the same problem; other words may be.
    if text_of(origin) != text_of(spec.origin) and digest_of(build(origin)) != spec.problem_digest:
        raise DisagreementError(
            f"the manifest of '{spec.name}' describes another problem than the one searched; {_FAULT}"
        )
    _check_rows(problem, front)


def _check_rows(problem: ReadsDesigns, front: Front) -> None:
    rows = front.frame[even_steps(len(front), ROWS)]
    designs = rows["design" if "design" in rows.columns else FABRIC].to_list()
    scale = np.array([[objective.scale] for objective in problem.objectives])
    try:
        again = problem.evaluate(designs).objectives / scale
    except InputError as error:
        raise DisagreementError(f"a design of the front cannot be evaluated: {error}; {_FAULT}") from None
    said = rows.select(front.objectives).to_numpy().T
    differs = ~(np.abs(again - said) <= TOLERANCE * np.abs(said))
    if differs.any():
        objective, row = np.argwhere(differs)[0]
        raise DisagreementError(
            f"the design '{designs[row]}' has {front.objectives[objective]} {said[objective, row]!r} on the front and "
            f"{again[objective, row]!r} when it is evaluated; {_FAULT}"
        )
