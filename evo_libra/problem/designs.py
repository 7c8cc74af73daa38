"""Designs of a problem: the limits that they break, genes with better bandwidths, and quirks of their times."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from evo_libra.arrays import GIGA, FloatArray, Population
from evo_libra.errors import InputError
from evo_libra.network.transport import APPROXIMATION
from evo_libra.problem.allocate import allocate
from evo_libra.problem.constraint_parser import unit_in
from evo_libra.problem.constraints import TOLERANCE, Constraint
from evo_libra.problem.figures import Figures
from evo_libra.problem.objectives import unit_of
from evo_libra.problem.problem import Problem
from evo_libra.problem.protocol import COST, TIME, SearchProblem
from evo_libra.problem.space_rules import broken_rules
from evo_libra.problem.time_models.time_model import TimeModel
from evo_libra.problem.written_designs import transports_of
from evo_libra.timing.quirks import Quirk, Warned
from evo_libra.workload.parallelism import Layout


def violations(problem: Problem, population: Population) -> list[str]:
    """Return the limits that the first design breaks, one sentence each; none where its violation is 0."""
    one = population.select([0])
    found = list(broken_rules(problem, one))
    found += _outside(problem, one) or _broken_ports(problem, one)
    if problem.time.unjoined is not None and not problem.time.fits(one.npus, one.plan, one.technology)[0]:
        found.append("nothing joins its systems, and a group of its plan lies in several")
    figures, limits = problem.measure(one), []
    for constraint in problem.constraints:
        broken = problem.evaluator.excess(constraint, figures, one)[0]
        if broken > 0:
            found.append(f"the constraint '{constraint.text}' is broken: {_breach(constraint, figures, one)}")
            if constraint.quantity == "memory" and constraint.at_most:
                limits.append(constraint.limit_of_first(figures) / constraint.objective)
    return found + (_what_needs_memory(problem.pinned(one), one, min(limits)) if limits else [])


def _breach(constraint: Constraint, figures: Figures, one: Population) -> str:
    """Return what a design has and what it may have, in the unit of the constraint."""
    if constraint.measure is None:
        left = float((constraint.coefficients(one.technology) * one.bandwidth).sum())
    else:
        left = constraint.objective * float(constraint.measure.value(figures)[0])
    unit, size = unit_in(constraint.text, unit_of(constraint.quantity))
    sign = -1.0 if constraint.at_least else 1.0
    if not constraint.limit:
        return f"the difference is {abs(left) / size:.4g} {unit}"
    # As many digits as tell the two apart.
    values = [sign * value / size for value in (left, constraint.limit_of_first(figures))]
    texts = ([f"{float(f'{value:.{digits}g}'):,.15g}" for value in values] for digits in (4, 8, 15))
    found, limit = next((pair for pair in texts if pair[0] != pair[1]), ("", ""))
    return f"{found} of {limit} {unit}"


def _what_needs_memory(problem: Problem, one: Population, limit: float) -> list[str]:
    """Return what of pinned plans needs more bytes of an NPU, with what would fit each of them on a network."""
    holds = partial(_holds_groups, problem.time, one)
    return [text for loop in problem.time.loops for text in loop.workload.memory_mistakes(limit, holds)]


def _holds_groups(time: TimeModel, one: Population, layouts: Mapping[str, Layout], inside: tuple[str, ...]) -> bool:
    """Return whether a network holds the groups of a plan, some of them inside a scale-up domain."""
    return all(bool(time.lays(layout, one.npus, one.technology, inside=inside)[0]) for layout in set(layouts.values()))


def _outside(problem: Problem, one: Population) -> list[str]:
    """Return which dimensions of a design have less or more bandwidth than they may."""
    low, high = problem.pricing.box(one.technology)
    found = []
    for d in np.flatnonzero(one.npus[:, 0] > 1).tolist():
        technology = problem.catalog.technologies[int(one.technology[d, 0])]
        given, lowest, highest = float(one.bandwidth[d, 0]), float(low[d, 0]), float(high[d, 0])
        head = f"dimension {d} has {given / GIGA:g} GB/s"
        if given > highest * (1.0 + TOLERANCE):
            who = f"{technology.name} carries" if technology.bandwidth_cap == highest else "the problem allows"
            found.append(f"{head}; {who} at most {highest / GIGA:g}")
        elif given < lowest * (1.0 - TOLERANCE) or given <= 0:
            found.append(f"{head}; at least {lowest / GIGA:g} are needed" if lowest else f"{head}; it needs some")
    return found


def _broken_ports(problem: Problem, one: Population) -> list[str]:
    """Return which dimensions of a design are not in whole ports."""
    nearest, wrong = problem.pricing.misfits(one)
    return [
        f"dimension {d} has {one.bandwidth[d, 0] / GIGA:g} GB/s; the nearest it can be built with is "
        f"{nearest[d, 0] / GIGA:g}"
        for d in np.flatnonzero(wrong[:, 0]).tolist()
    ]


def genes_of(problem: Problem, designs: Population) -> FloatArray:
    """Return the (g, n) genes of designs; an `InputError` says that one is not in the search space.

    They decode to the same designs, bandwidths to within rounding; where these are solved for, to the best ones for the
    money that a design costs.

    >>> from evo_libra import load_problem
    >>> problem = load_problem("gpt3-4k")
    >>> designs = problem.read("RI(4)@chiplet:250_FC(8)@package:125_RI(4)@node:60_SW(32)@pod:20")
    >>> (problem.decode(genes_of(problem, designs)).bandwidth / 1e9).round(9).ravel().tolist()
    [250.0, 125.0, 60.0, 20.0]
    """
    genes, covered = problem.sections.recognise(designs)
    outside = np.flatnonzero(~covered)
    if len(outside):
        first = problem.notation.written(designs.select(outside[:1]))[0]
        raise InputError(
            f"the design '{first}' is not in the search space of '{problem.name}': its sizes, technologies, blocks or "
            "options are not among its choices"
        )
    return genes


def best_bandwidths(problem: SearchProblem) -> Callable[[FloatArray], FloatArray] | None:
    """Return the function that gives (g, n) genes the best bandwidths that cost no more, exactly.

    None where there is nothing to gain, or no exact solution: bandwidths are solved for anyway, the problem is written
    in Python, its time is not LIBRA's, or time is no objective.
    """
    if not isinstance(problem, Problem) or problem.optimal or not problem.time.exact:
        return None
    if TIME not in problem.objectives or not set(problem.objectives) <= {TIME, COST}:
        return None
    # Not a closure: worker processes are sent it.
    return partial(_with_best_bandwidths, problem)


def _with_best_bandwidths(problem: Problem, genes: FloatArray) -> FloatArray:
    draft = problem.sections.decode(genes)
    cost = (draft.networks.price * draft.bandwidth).sum(axis=0)
    budget = cost if problem.buys else None
    bandwidth = allocate(problem.traffic, problem.constraints, draft.networks, budget)
    return problem.sections.encode(replace(draft, bandwidth=bandwidth))


TRANSPORT = Quirk("transport", f"Times under a congestion control of RoCE are an {APPROXIMATION}.")
"""Note on every design with a transport."""

SHARES_OF_PARTS = Quirk(
    "shares",
    "`time.shares: libra` has no effect with a catalogue of parts: process groups get what the links of parts carry.",
)
"""Note on every design of parts where the file asks for LIBRA's shares."""


def warnings_of(problem: SearchProblem, designs: Population | Sequence[str]) -> list[Warned]:
    """Return what concerns the times of designs: notes, then quirks in the table's order.

    Quirks of ASTRA-sim concern the models that predict its times; a problem that is written in Python has none.
    """
    if not isinstance(problem, Problem) or not len(designs):
        return []
    notes = [*_own_notes(problem, designs), *announced(problem, designs)]
    notes += _routings(problem, designs)
    transports = any(technology.transport for technology in problem.catalog.technologies)
    if not problem.time.predicts_astra_sim and not transports:
        return notes  # Designs in the notation need not be read: a large front of them takes as long as half a search.
    population = designs if isinstance(designs, Population) else problem.read(designs)
    approximate = _under_transports(problem, population)
    return [*notes, *approximate, *problem.time.warnings(population)]


def _routings(problem: Problem, designs: Population | Sequence[str]) -> list[Warned]:
    """Return the notes on the routing of a single design."""
    if len(designs) != 1 or problem.book is not None:
        return []
    from evo_libra.problem.routing_notes import (  # noqa: PLC0415 - few problems state any
        routing_notes,
        states_routing,
    )

    if not states_routing(problem.catalog):
        return []  # Designs need not be read, as above.
    return routing_notes(problem.catalog, designs if isinstance(designs, Population) else problem.read(designs))


def _own_notes(problem: Problem, designs: Population | Sequence[str]) -> list[Warned]:
    """Return the notes on designs: a note on several accelerators says of a single order what concerns its own."""
    notes = notes_of(problem, len(designs))
    if problem.book is None or len(designs) != 1 or not any(note.quirk.each for note in notes):
        return notes
    population = designs if isinstance(designs, Population) else problem.read(designs)
    order = problem.book.orders[int(problem.book.place(population)[0])]
    npu = problem.book.products.systems[order.system].npu
    own = (dict(note.quirk.each).get(npu) if note.quirk.each else note.quirk for note in notes)
    return [Warned(quirk, 1, 1) for quirk in own if quirk is not None]


def announced(problem: Problem, designs: Population | Sequence[str]) -> list[Warned]:
    """Return which products of orders are announced and not sold yet, if the file allows such products."""
    book = problem.book
    if book is None or "roadmap" not in book.limits.order:
        return []
    from evo_libra.problem.roadmap import roadmap_warnings  # noqa: PLC0415 - most problems have no such products

    population = designs if isinstance(designs, Population) else problem.read(designs)
    return roadmap_warnings(book, book.place(population).tolist())


def notes_of(problem: Problem, designs: int = 1) -> list[Warned]:
    """Return what files say and is not computed, which concerns all of a number of designs."""
    return [Warned(note, designs, designs) for note in problem.notes]


def _under_transports(problem: Problem, designs: Population) -> list[Warned]:
    """Return that designs have a transport, if some do."""
    count = int((transports_of(problem.catalog, designs) >= 0).any(axis=0).sum())
    return [Warned(TRANSPORT, count, len(designs))] if count else []
