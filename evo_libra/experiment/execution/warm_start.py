"""The designs that a search starts from: the fronts of earlier runs."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from evo_libra.arrays import FloatArray
from evo_libra.errors import InputError, Mistake
from evo_libra.experiment.run.settings import RunSpec
from evo_libra.experiment.store.folder import FRONT, RunFolder
from evo_libra.experiment.store.sealed import read_genes
from evo_libra.front.designs import front_genes
from evo_libra.front.front import Front
from evo_libra.problem.problem import Problem
from evo_libra.problem.protocol import SearchProblem


def first_genes(spec: RunSpec, problem: SearchProblem) -> FloatArray:
    """Return the (g, k) genes of the designs that a run starts from.

    Raises
    ------
    InputError : there are none any more, or others than there were.
    """
    genes = genes_from(problem, [Path(one) for one in spec.method.start_from])
    if digest_of(genes) != spec.method.start_digest:
        raise InputError(
            f"the designs of {' and '.join(spec.method.start_from)} to start from are others than when this was planned"
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


def digest_of(genes: FloatArray) -> str:
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
