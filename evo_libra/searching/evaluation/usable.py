"""The rule for designs that cannot be evaluated: each is infeasible, is counted, and does not end a search.

A design cannot be evaluated if an objective or its violation is infinite or NaN, or if its evaluation raises an
exception. Every search evaluates by `evaluate`, and worker processes follow the same rule, so that neither an engine
nor an archive ever receives an infinity or NaN.
"""

from __future__ import annotations

import numpy as np

from evo_libra.arrays import BoolArray, FloatArray
from evo_libra.errors import EvoLibraError, InputError, error_text, machine_fault
from evo_libra.problem.protocol import KEPT_FAILURES, Evaluation, Failure, Failures, HasObjectives, SearchProblem

FAILED_OBJECTIVE = FAILED_VIOLATION = 1e100
"""Objectives and violation of a design that could not be evaluated: behind all others, and finite even when squared."""
MAX_VIOLATION = FAILED_VIOLATION / 10
"""Violation of a design that breaks constraints by even more: it stays ahead of those that could not be evaluated."""


def evaluate(problem: SearchProblem, genes: FloatArray) -> Evaluation:
    """Return the evaluation of (g, n) genes, all values finite, with the designs that could not be evaluated.

    If the evaluation of several designs raises an exception, halves of them are evaluated until it is known which
    designs raise it.

    Raises
    ------
    InputError : an objective is 0 or below, which logarithmic axes cannot show, or arrays have wrong shapes.
    EvoLibraError : the problem has raised it; such an error is of the problem, and not of one design.
    Exception : a fault of the machine, such as a full disk.
    """
    try:
        found = as_arrays(problem, genes, problem.evaluate_genes(genes))
    except Exception as error:
        if isinstance(error, EvoLibraError) or machine_fault(error) is not None:
            raise
        return _evaluate_halves(problem, genes, error)
    return usable(problem, genes, found)


def _evaluate_halves(problem: SearchProblem, genes: FloatArray, error: Exception) -> Evaluation:
    count = genes.shape[1]
    if count <= 1:
        return failed(len(problem.objectives), genes, error_text(error))
    return Evaluation.joined([evaluate(problem, part) for part in np.split(genes, [count // 2], axis=1)])


def as_arrays(problem: HasObjectives, genes: FloatArray, found: Evaluation) -> Evaluation:
    """Return an evaluation of (g, n) genes whose values are arrays. Raises `InputError` if their shapes are wrong."""
    objectives, designs = len(problem.objectives), genes.shape[1]
    values = np.asarray(found.objectives, dtype=np.float64)
    violation = np.asarray(found.violation, dtype=np.float64)
    if values.shape != (objectives, designs) or violation.shape != (designs,):
        # Halves might have the right shape by chance.
        raise InputError(
            f"'{problem.name}' evaluates {designs} designs to objectives of shape {values.shape} and violations of "
            f"shape {violation.shape}; {(objectives, designs)} and {(designs,)} are needed"
        )
    return Evaluation(values, violation, found.failures)


def usable(problem: HasObjectives, genes: FloatArray, found: Evaluation) -> Evaluation:
    """Return an evaluation of (g, n) genes whose values are all finite.

    A violation below 0 becomes 0, as it breaks no constraint. Raises `InputError` if an objective is 0 or below.
    """
    objectives, violation = found.objectives, found.violation
    # NaN is the minimum and the maximum of what it is among, and no comparison with it is true.
    if not genes.shape[1] or (
        objectives.min() > 0 and objectives.max() < np.inf and violation.min() >= 0 and violation.max() <= MAX_VIOLATION
    ):
        return found
    failing = ~(np.isfinite(objectives).all(axis=0) & np.isfinite(violation))
    _check_above_zero(problem, objectives[:, ~failing])
    # Processes of a problem of their own have applied the rule to each design.
    behind = failing | ((violation == FAILED_VIOLATION) & (found.failures.count > 0))
    return Evaluation(
        np.where(behind, FAILED_OBJECTIVE, objectives),
        np.where(behind, FAILED_VIOLATION, np.clip(violation, 0.0, MAX_VIOLATION)),
        Failures.joined([found.failures, _failures(problem, genes, found, failing)]),
    )


def failed(objectives: int, genes: FloatArray, reason: str) -> Evaluation:
    """Return the evaluation of (g, n) genes none of which could be evaluated, all for one reason."""
    count = genes.shape[1]
    first = tuple(Failure(design.copy(), reason) for design in genes.T[:KEPT_FAILURES])
    values = np.full((objectives, count), FAILED_OBJECTIVE)
    return Evaluation(values, np.full(count, FAILED_VIOLATION), Failures(count, first))


def _check_above_zero(problem: HasObjectives, objectives: FloatArray) -> None:
    for objective, values in zip(problem.objectives, objectives, strict=True):
        low = np.min(values, initial=np.inf)
        if low <= 0:
            raise InputError(
                f"the {objective.label} of a design of '{problem.name}' is {low / objective.scale:g}; objectives must "
                "be above 0"
            )


def _failures(problem: HasObjectives, genes: FloatArray, found: Evaluation, failing: BoolArray) -> Failures:
    places = np.flatnonzero(failing).tolist()
    first = (Failure(genes[:, place].copy(), _reason(problem, found, place)) for place in places[:KEPT_FAILURES])
    return Failures(len(places), tuple(first))


def _reason(problem: HasObjectives, found: Evaluation, place: int) -> str:
    names = [*(objective.name for objective in problem.objectives), "violation"]
    values = [*found.objectives[:, place].tolist(), float(found.violation[place])]
    wrong = [f"its {name} is {value:g}" for name, value in zip(names, values, strict=True) if not np.isfinite(value)]
    return f"{' and '.join(wrong)}; a finite number is needed"
