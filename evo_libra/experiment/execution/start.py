"""Where a run begins: at its own checkpoint, at that of a shorter run, or at the designs of earlier fronts."""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from evo_libra.arrays import FloatArray
from evo_libra.errors import InputError, Mistake
from evo_libra.experiment.run.spec import RunSpec
from evo_libra.experiment.store.checkpoint import read_checkpoint
from evo_libra.experiment.store.evaluated import copy_failures, keep_first, read_failures
from evo_libra.experiment.store.events import last_progress
from evo_libra.experiment.store.folder import FRONT, RunFolder
from evo_libra.experiment.store.sealed import read_genes
from evo_libra.front.designs import front_genes
from evo_libra.front.front import Front
from evo_libra.problem.problem import Problem
from evo_libra.problem.protocol import SearchProblem
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


def first_genes(spec: RunSpec, problem: SearchProblem) -> FloatArray:
    """Return the (g, k) genes of the designs that a run starts from.

    Raises
    ------
    InputError : there are none any more, or others than there were.
    """
    genes = genes_from(problem, [Path(one) for one in spec.start_from])
    if genes_digest(genes) != spec.start_digest:
        raise InputError(
            f"the designs of {' and '.join(spec.start_from)} to start from have changed since this was planned"
        )
    return genes


def genes_from(problem: SearchProblem, paths: Sequence[Path]) -> FloatArray:
    """Return the (g, k) genes of earlier fronts: of the first, and of each further one what those before do not have.

    Designs that the problem has no genes for are left out.

    Parameters
    ----------
    problem : of a problem file: the front's designs are read in the notation, of whatever problem they are; written in
        Python: they are those of the last checkpoint of a run of a problem with the same genes.
    paths : folders of the runs, or files of the fronts.

    Raises
    ------
    InputError : there is no such front, or none of its designs is one of the problem.
    """
    fronts = [_of_path(problem, path) for path in paths]
    genes = np.hstack(fronts)
    _, new = np.unique(genes, axis=1, return_index=True)
    return np.ascontiguousarray(genes[:, np.union1d(np.arange(fronts[0].shape[1]), new)])


def _of_path(problem: SearchProblem, path: Path) -> FloatArray:
    if not os.path.exists(path):  # noqa: PTH110 - false for what cannot be the name of a file
        raise _error(f"there is no {path}; the folder of a run or the file of a front is needed")
    genes = _of_file(problem, path) if isinstance(problem, Problem) else _of_checkpoint(problem, path)
    if not genes.shape[1]:
        raise _error(f"{path} has no design of '{problem.name}'")
    return genes


def _error(message: str) -> InputError:
    return InputError(Mistake(message, key="start_from"))


def genes_digest(genes: FloatArray) -> str:
    """Return what identifies the designs that a search starts from."""
    return hashlib.sha256(str(genes.shape).encode() + np.ascontiguousarray(genes).tobytes()).hexdigest()


def _of_file(problem: Problem, path: Path) -> FloatArray:
    file = path / FRONT if path.is_dir() else path
    if not file.is_file():
        raise _error(f"{path} has no front: its run was not finished")
    try:
        return front_genes(problem, Front.read(file)).genes
    except InputError as error:
        raise _error(f"{file}: {error}") from None


def _of_checkpoint(problem: SearchProblem, path: Path) -> FloatArray:
    genes = read_genes(RunFolder(path))
    if genes is None:
        raise _error(f"{path} has no checkpoint; a problem in Python starts from the folder of a run")
    if len(genes) != len(problem.genome):
        raise _error(
            f"the designs of {path} have {len(genes)} genes; those of '{problem.name}' have {len(problem.genome)}"
        )
    legal = problem.genome.repair(genes)
    return np.asarray(legal[:, (legal == genes).all(axis=0)])
