"""Where a run begins: at its own checkpoint, at that of a shorter run of the same search, or at nothing."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

from evo_libra.errors import InputError
from evo_libra.experiment.run.settings import RunSpec
from evo_libra.experiment.store.checkpoint import read_checkpoint
from evo_libra.experiment.store.evaluated import copy_failures, keep_first, read_failures
from evo_libra.experiment.store.events import last_progress
from evo_libra.experiment.store.folder import RunFolder
from evo_libra.searching.loop import Snapshot


@dataclass(frozen=True)
class Start:
    """Where a run begins.

    Attributes
    ----------
    kind : ``started``, ``resumed`` or ``extended``.
    snapshot : the search there; None at the very beginning.
    seconds : of work that earlier attempts of the run put into it.
    reason : why a checkpoint that is there was not used, or whose checkpoint is used.
    """

    kind: str
    snapshot: Snapshot | None
    seconds: float = 0.0
    reason: str = ""


def begin(results: Path, spec: RunSpec, folder: RunFolder, *, resume: bool) -> Start:
    """Make a run's folder ready and return where the run begins.

    Parameters
    ----------
    results, spec, folder : the run; its folder is claimed.
    resume : go on from a checkpoint where there is one.
    """
    start = _start(results, spec, folder) if resume else Start("started", None)
    if start.kind != "resumed":
        folder.clear()
    if start.kind == "extended":
        copy_failures(RunFolder(Path(start.reason)), folder)
    if spec.keep == "designs" and start.snapshot is not None:
        source = RunFolder(Path(start.reason)) if start.kind == "extended" else None
        if not keep_first(folder, start.snapshot.evaluations, source):
            folder.clear()
            return Start("started", None, reason="not all designs of the checkpoint were kept")
    return start


def _start(results: Path, spec: RunSpec, folder: RunFolder) -> Start:
    reason = ""
    try:
        own, point = read_checkpoint(folder, spec.search), last_progress(folder.path)
        read_failures(folder)
    except InputError as error:
        own, point, reason = None, None, str(error)
    if own is not None and own.evaluations <= spec.evaluations:
        return Start("resumed", own, point.seconds if point else 0.0)
    shorter = _shorter(results, spec)
    return Start("started", None, reason=reason) if shorter is None else shorter


def _shorter(results: Path, spec: RunSpec) -> Start | None:
    """Return the furthest checkpoint of the same search that this run's budget reaches beyond."""
    best: Start | None = None
    for path in sorted((results / spec.id).parent.glob(f"{spec.stem}-e*-s{spec.seed}")):
        try:
            found = read_checkpoint(RunFolder(path), spec.search)
            read_failures(RunFolder(path))
        except InputError:
            continue
        if found is None or found.evaluations >= spec.evaluations or found.seconds >= (spec.seconds or math.inf):
            continue
        if best is None or best.snapshot is None or found.evaluations > best.snapshot.evaluations:
            best = Start("extended", found, reason=str(path))
    return best
