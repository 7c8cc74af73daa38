"""What writes a design for another program, and what that program has no word for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from evo_libra.arrays import Population
from evo_libra.errors import InputError, unknown
from evo_libra.problem.problem import Problem
from evo_libra.workload.plans.plans import Plans
from evo_libra.workload.training.training_setup import Setup


@dataclass(frozen=True)
class Chosen:
    """A design that is written.

    Attributes
    ----------
    problem : the problem that it is a design of.
    population : the design, a population of one.
    workload : the workload whose plan is written; None where the user named none.
    """

    problem: Problem
    population: Population
    workload: str | None = None

    @property
    def notation(self) -> str:
        """The design as people write it."""
        return self.problem.notation.written(self.population)[0]


@dataclass(frozen=True)
class Written:
    """A file.

    Attributes
    ----------
    content : text, or the bytes of a file that is no text.
    left : what the format has no word for, a sentence each.
    """

    content: str | bytes
    left: tuple[str, ...] = ()


@dataclass(frozen=True)
class Writer:
    """A format of another program.

    Attributes
    ----------
    name : what ``--to`` calls it.
    writes : what it writes, for the reference.
    write : writes a design; an `InputError` says in a sentence what the design lacks.
    """

    name: str
    writes: str
    write: Callable[[Chosen], Written]


@dataclass(frozen=True)
class TrainedPlan:
    """The plan of a workload that is trained as a whole.

    Attributes
    ----------
    name : of the workload.
    setup, plan : what is trained how, and a single plan of it.
    order : how the process groups lie on the network, the innermost first.
    npus : of the whole problem.
    """

    name: str
    setup: Setup
    plan: Plans
    order: tuple[str, ...]
    npus: int

    def value(self, option: str) -> int:
        """Return the value of an option of the plan."""
        return int(getattr(self.plan, option)[0])


def trained_plan(chosen: Chosen) -> TrainedPlan:
    """Return the plan of the workload that the user named, or of the only one.

    Raises
    ------
    InputError : no workload is a language model in training, the named one is none, or there are several.
    """
    loops = chosen.problem.pinned(chosen.population).time.loops
    planned = {loop.workload.name: (loop, loop.workload.planned) for loop in loops if loop.workload.planned is not None}
    if not planned:
        raise InputError(f"'{chosen.problem.name}' trains no language model, so that there is no plan to write")
    name = chosen.workload or next(iter(planned))
    if chosen.workload is None and len(planned) > 1:
        raise InputError(f"several workloads have a plan; name one of {', '.join(planned)} by --workload")
    if name not in planned:
        raise InputError(f"--workload: {unknown('workload', name, planned)}")
    loop, (setup, plan) = planned[name]
    order = tuple(group for group, _ in loop.layouts["dp"])
    return TrainedPlan(name, setup, plan, order, int(chosen.population.npus[:, 0].prod()))
