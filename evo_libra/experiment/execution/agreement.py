"""The check that a front has the figures that its designs evaluate to, made before a run counts as done."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from evo_libra.errors import EvoLibraError, InputError
from evo_libra.experiment.run.origin import build_afresh
from evo_libra.experiment.run.provenance import canonical_hash
from evo_libra.experiment.store.manifest import spec_of
from evo_libra.front.front import Front
from evo_libra.problem.problem import Problem

ROWS = 20
"""Designs of a front that are evaluated again."""
TOLERANCE = 1e-12
"""Largest relative difference of an objective: what remains of the order of sums."""
_FAULT = "this is a fault of the program, and nothing of this run is kept as a result"
_OF_FILES = ("files", "models", "technologies")


class DisagreementError(EvoLibraError):
    """A design evaluates to other figures than the front says: a fault of the program."""


def check_front(manifest: Mapping[str, Any], front: Front) -> str:
    """Evaluate designs of a front again, as a reader of the front would.

    The problem is built from the text of the manifest and from nothing that is kept in memory, the designs are read in
    the notation. A problem written in Python has no notation; its designs are not evaluated again.

    Parameters
    ----------
    manifest : of the run, as it will be written.
    front : of the run.

    Returns
    -------
    Why the front could not be checked, such as a file of the problem that has changed; empty where it was checked.

    Raises
    ------
    DisagreementError : the problem of the manifest is another one, or a design evaluates to other figures.
    """
    spec = spec_of(json.loads(json.dumps(manifest)))
    if spec.origin.data is None or not len(front):
        return ""
    try:
        problem = build_afresh(spec.origin)
    except InputError as error:
        return f"its problem cannot be built any more: {error}"
    assert isinstance(problem, Problem), "problem files make nothing else"  # noqa: S101 - our mistake
    now, then = problem.identity(), spec.problem
    if any(_hash(now.get(key)) != _hash(then.get(key)) for key in _OF_FILES):
        return "a file of its problem has changed meanwhile"
    if _hash(now) != _hash(then):
        raise DisagreementError(
            f"the manifest of '{spec.name}' describes another problem than the one searched; {_FAULT}"
        )
    _check_rows(problem, front)
    return ""


def _check_rows(problem: Problem, front: Front) -> None:
    rows = front.frame[np.unique(np.linspace(0, len(front) - 1, ROWS).round().astype(np.int64))]
    designs = rows["design"].to_list()
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


def _hash(data: object) -> str:
    return canonical_hash({"": data})
