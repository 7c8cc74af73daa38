"""Designs that could not be evaluated, kept beside the front."""

from __future__ import annotations

from typing import Any

import numpy as np

from evo_libra.experiment.store.folder import FAILURES, RunFolder, read_file
from evo_libra.problem.protocol import SearchProblem
from evo_libra.searching.evaluation.parallel import ExpensiveProblem


def keep_failures(folder: RunFolder, problem: SearchProblem) -> list[dict[str, Any]]:
    """Write which designs of a run could not be evaluated, with those of the run that it resumes, and return them.

    Each has its ``genes``, the ``reason``, and what the problem says of the design. Problems that are evaluated in this
    process have no such designs: an error ends the search.
    """
    known = read_failures(folder)
    if isinstance(problem, ExpensiveProblem) and problem.failures:
        genes = np.stack([failure.genes for failure in problem.failures], axis=1)
        described = problem.describe(genes)
        for place, failure in enumerate(problem.failures):
            words = {column: values[place] for column, values in described.items()}
            known.append({"reason": failure.reason, **words, "genes": failure.genes.tolist()})
    by_genes = {tuple(row["genes"]): row for row in known}
    # In an order that does not depend on which was done first.
    different = [by_genes[genes] for genes in sorted(by_genes)]
    if different != read_failures(folder):
        folder.write_json(FAILURES, {"designs": different})
    return different


def read_failures(folder: RunFolder) -> list[dict[str, Any]]:
    """Return the designs of a run that could not be evaluated.

    Raises
    ------
    DamagedError : the list of them is not what the run wrote.
    """
    found = read_file(folder.path, FAILURES)
    return [] if found is None else list(found["designs"])


def copy_failures(source: RunFolder, folder: RunFolder) -> None:
    """Write those of another run, which this one goes on from."""
    failures = read_failures(source)
    if failures:
        folder.write_json(FAILURES, {"designs": failures})
