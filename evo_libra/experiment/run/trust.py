"""Code that files name as ``module:object``: whether a user has said that it may be run.

What a user types, and an experiment that a user runs, may name code. A result may be from anybody, and whoever plans an
experiment only wants to look at it: there code is run only when the user says so.
"""

from __future__ import annotations

from evo_libra.errors import InputError
from evo_libra.experiment.run.settings import RunSpec
from evo_libra.problem.file import registry
from evo_libra.searching import registry as engines

OPTION = "--trust-code"


class UntrustedError(InputError):
    """Code is named that the user has not said may be run."""


def code_of(problem: str, engine: str = "") -> tuple[str, ...]:
    """Return the names of a run that are code.

    Parameters
    ----------
    problem, engine : their names; of no engine when left out.

    >>> code_of("gpt3-4k", "deap:nsga2"), code_of("mine:problem", "climber:make")
    ((), ('mine:problem', 'climber:make'))
    """
    problems = (problem,) if registry.is_code(problem) else ()
    return (*problems, engine) if engines.is_code(engine) else problems


def code_of_run(spec: RunSpec) -> tuple[str, ...]:
    """Return the names of a run that are code."""
    return code_of(spec.origin.name if spec.origin.data is None else "", spec.engine)


def refuse_code(names: tuple[str, ...], what: str, error: type[InputError] = UntrustedError) -> None:
    """Refuse to run code.

    Parameters
    ----------
    names : of the code; none is refused where there are none.
    what : who names it.
    error : which is raised.

    Raises
    ------
    InputError : there is some.
    """
    if names:
        raise error(f"{what} names code, {' and '.join(names)}; where you trust it, {OPTION} runs it")
