"""Which quirks of ASTRA-sim, and what files of models say beside what is computed, concern the times of designs."""

from __future__ import annotations

from collections.abc import Sequence

from evo_libra.arrays import Population
from evo_libra.network.transport import APPROXIMATION
from evo_libra.problem.problem import Problem
from evo_libra.problem.protocol import SearchProblem
from evo_libra.problem.written_designs import transports_of
from evo_libra.timing.quirks import Quirk, Warned

TRANSPORT = Quirk("transport", f"Times under a congestion control of RoCE are an {APPROXIMATION}.")
"""What is said of every design with a transport."""

SHARES_OF_PARTS = Quirk(
    "shares",
    "`time.shares: libra` has no effect with a catalogue of parts: process groups get what the links of parts carry.",
)
"""What is said of every design of parts where the file asks for LIBRA's shares."""


def warnings_of(problem: SearchProblem, designs: Population | Sequence[str]) -> list[Warned]:
    """Return what concerns the times of designs: notes on files of models, then quirks in the table's order.

    Quirks of ASTRA-sim concern the models that predict its times; a problem that is written in Python has none.
    """
    if not isinstance(problem, Problem) or not len(designs):
        return []
    notes = notes_of(problem, len(designs))
    transports = any(technology.transport for technology in problem.catalog.technologies)
    if not problem.time.predicts_astra_sim and not transports:
        return notes  # Designs in the notation need not be read: a large front of them takes as long as half a search.
    population = designs if isinstance(designs, Population) else problem.read(designs)
    approximate = _under_transports(problem, population)
    return [*notes, *approximate, *problem.time.warnings(population)]


def notes_of(problem: Problem, designs: int = 1) -> list[Warned]:
    """Return what files say and is not computed, which concerns all of a number of designs."""
    return [Warned(note, designs, designs) for note in problem.notes]


def _under_transports(problem: Problem, designs: Population) -> list[Warned]:
    """Return that designs have a transport, if some do."""
    count = int((transports_of(problem.catalog, designs) >= 0).any(axis=0).sum())
    return [Warned(TRANSPORT, count, len(designs))] if count else []
