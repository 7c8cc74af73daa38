"""Which quirks of ASTRA-sim, and what files of models say beside what is computed, concern the times of designs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evo_libra.arrays import BoolArray, IntArray, Population
from evo_libra.collective import Collective, SizedCollective
from evo_libra.errors import counted
from evo_libra.network.transport import APPROXIMATION
from evo_libra.problem.problem import Problem
from evo_libra.problem.protocol import SearchProblem
from evo_libra.problem.time_models.kinds import ServingStep, TracedWorkload, TrainingStep
from evo_libra.problem.time_models.loops import WeightedLoop
from evo_libra.problem.written_designs import transports_of
from evo_libra.timing import quirks
from evo_libra.timing.names import Policy, Scheduler
from evo_libra.timing.quirks import WARNED, Quirk
from evo_libra.workload.layers.iteration_time import Merging
from evo_libra.workload.layers.workload import Workload

if TYPE_CHECKING:
    from evo_libra.timing.fidelity import Fidelity

TRANSPORT = Quirk("transport", f"Times under a congestion control of RoCE are an {APPROXIMATION}.")
"""What is said of every design with a transport."""

SHARES_OF_PARTS = Quirk(
    "shares",
    "`time.shares: libra` has no effect with a catalogue of parts: process groups get what the links of parts carry.",
)
"""What is said of every design of parts where the file asks for LIBRA's shares."""

_UNSAFE = (Policy.ALTERNATING, Policy.FEWEST_PHASES_FIRST)


@dataclass(frozen=True)
class Warned:
    """A quirk that concerns some designs, out of so many; the nodes of traces that it lies in, if it lies in some."""

    quirk: Quirk
    designs: int
    of: int
    nodes: tuple[str, ...] = ()

    def __str__(self) -> str:
        some = "" if self.designs == self.of else f" for {self.designs:,} of {counted(self.of, 'design')}"
        more = f", and {len(self.nodes) - 1:,} more" if len(self.nodes) > 1 else ""
        where = f" Here: {self.nodes[0]}{more}." if self.nodes else ""
        return f"warning{some}: {self.quirk.sentence}{where} [{self.quirk.name}]"

    def json(self) -> dict[str, Any]:
        """Return it for programs."""
        nodes = {"nodes": list(self.nodes)} if self.nodes else {}
        return {"quirk": self.quirk.name, "warning": self.quirk.sentence, "designs": self.designs, **nodes}


def warnings_of(problem: SearchProblem, designs: Population | Sequence[str]) -> list[Warned]:
    """Return what concerns the times of designs: notes on files of models, then quirks in the table's order.

    Of ASTRA-sim there are none under LIBRA's time.

    A problem that is written in Python has no times of ASTRA-sim.
    """
    if not isinstance(problem, Problem) or not len(designs):
        return []
    notes = notes_of(problem, len(designs))
    if problem.time.fidelity is None and not any(technology.transport for technology in problem.catalog.technologies):
        return notes  # Designs in the notation need not be read: a large front of them takes as long as half a search.
    population = designs if isinstance(designs, Population) else problem.read(designs)
    approximate = _under_transports(problem, population)
    return [*notes, *approximate, *(_of_astra(problem, population) if problem.time.fidelity is not None else ())]


def notes_of(problem: Problem, designs: int = 1) -> list[Warned]:
    """Return what files say and is not computed, which concerns all of a number of designs."""
    return [Warned(note, designs, designs) for note in problem.notes]


def _under_transports(problem: Problem, designs: Population) -> list[Warned]:
    """Return that designs have a transport, if some do."""
    count = int((transports_of(problem.catalog, designs) >= 0).any(axis=0).sum())
    return [Warned(TRANSPORT, count, len(designs))] if count else []


def _of_astra(problem: Problem, population: Population) -> list[Warned]:
    assert problem.time.fidelity is not None  # noqa: S101 - the caller has looked
    counts: Counter[Quirk] = Counter()
    _, kind = np.unique(population.plans, axis=1, return_inverse=True)
    for k in range(kind.max() + 1):
        mine = population.select(np.flatnonzero(kind.ravel() == k))
        found = _concerned(problem.pinned(mine), problem.time.fidelity, mine)
        counts.update({quirk: int(np.broadcast_to(found[quirk], len(mine)).sum()) for quirk in WARNED})
    nodes = {quirks.INSTANT_COMPUTATION: _instant(problem)}
    return [Warned(quirk, counts[quirk], len(population), nodes.get(quirk, ())) for quirk in WARNED if counts[quirk]]


def _concerned(problem: Problem, fidelity: Fidelity, designs: Population) -> dict[Quirk, BoolArray]:
    """Return, of each quirk, which of the (n,) designs it concerns."""
    assert designs.schedule is not None  # noqa: S101 - a fidelity always makes one
    schedulers = [tuple(Scheduler)[n] for n in np.broadcast_to(designs.schedule.scheduler, len(designs)).tolist()]
    depth = (designs.npus > 1).sum(axis=0)
    several, greedy = depth > 1, np.array([scheduler.greedy for scheduler in schedulers])
    paper, turning, baseline = (
        np.array([scheduler is kind for scheduler in schedulers])
        for kind in (Scheduler.THEMIS_PAPER, Scheduler.ROUND_ROBIN, Scheduler.BASELINE)
    )
    again = several & any(len(collectives_of(loop)) > 1 for loop in problem.time.loops)
    policies = [fidelity.policy_of(scheduler) for scheduler in schedulers]
    asked = ~baseline | np.array([policy is not Policy.FIFO for policy in policies])
    unsafe = np.array([policy in _UNSAFE for policy in policies])
    parts = _parts(problem, designs)
    return {
        quirks.SCHEDULER_KEYS: asked & ~paper,
        quirks.PAPER_SCHEDULER: paper,
        quirks.ROUND_ROBIN_COUNTER: turning & again & _turned(problem, designs, depth),
        quirks.STALE_LOADS: greedy & again,
        quirks.QUEUE_ORDER_DEADLOCK: greedy & unsafe & several,
        quirks.GROUPS_AS_RINGS: parts,
        quirks.ONE_DIMENSION_GROUPS: parts & ~several,
        quirks.ONE_COLLECTIVE_AT_A_TIME: _overlapping(problem, designs),
        quirks.INSTANT_COMPUTATION: np.full(len(designs), bool(_instant(problem))),
    }


def _instant(problem: Problem) -> tuple[str, ...]:
    """Return the nodes of traces that compute for less than 1 ns; of NPUs that do the same, those of the first."""
    traced = [loop.workload for loop in problem.time.loops if isinstance(loop.workload, TracedWorkload)]
    return tuple(
        f"node {program.nodes[at]} '{program.names[at]}' of NPU {program.classes[program.owner[at]][0]} in {work.name}"
        for work in traced
        for program in (work.program,)
        for at in work.instant
    )


def _parts(problem: Problem, designs: Population) -> BoolArray:
    """Return which designs have a process group that holds a part of a dimension."""
    found = np.zeros(len(designs), dtype=np.bool_)
    for placed in problem.time.placed(designs.npus).values():
        found |= ((placed.extent > 1) & (placed.extent < designs.npus)).any(axis=0)
    return found


def _turned(problem: Problem, designs: Population, depth: IntArray) -> BoolArray:
    """Return in which designs a collective's chunks are no multiple of the dimensions, which are taken by turns."""
    from evo_libra.timing.collectives.system import cut  # noqa: PLC0415 - LIBRA's time does not need it

    found, placed = np.zeros(len(designs), dtype=np.bool_), problem.time.placed(designs.npus)
    assert designs.schedule is not None  # noqa: S101 - a fidelity always makes one
    for loop in problem.time.loops:
        for collective, group, size in set(collectives_of(loop)):
            npus = placed[loop.layouts[group], group].extent.prod(axis=0)
            found |= cut(collective, size, npus, designs.schedule.chunks).count % np.maximum(depth, 1) > 0
    return found


def collectives_of(loop: WeightedLoop) -> list[tuple[Collective, str, int]]:
    """Return kind, group and bytes of the collectives of an iteration; of traces, of the NPU that has most of them."""
    if isinstance(loop.workload, TracedWorkload):
        each: dict[int, list[tuple[Collective, str, int]]] = {}
        for owner, collective, group, size in loop.workload.collectives():
            each.setdefault(owner, []).append((collective, group, size))
        return max(each.values(), key=len, default=[])
    if isinstance(loop.workload, TrainingStep | ServingStep):
        from evo_libra.workload.training.iteration import step_iteration  # noqa: PLC0415 - tables of layers do not need it

        streams = step_iteration(loop.workload.time, loop.degrees, Merging.NONE).streams
        return [(load.collective, group, load.size) for group, load in streams if isinstance(load, SizedCollective)]
    assert isinstance(loop.workload, Workload), "plans are pinned"  # noqa: S101 - our mistake
    phases = (phase for layer in loop.workload.layers for phase in layer.phases)
    return [
        (phase.collective, phase.group, round(phase.size))
        for phase in phases
        if phase.collective and loop.degrees[phase.group] > 1
    ]


def _overlapping(problem: Problem, designs: Population) -> BoolArray:
    """Return in which designs the collective of an input gradient takes longer than what runs beside it."""
    found, time = np.zeros(len(designs), dtype=np.bool_), problem.spec["time"]
    if isinstance(time, str) or time["overlap"] == "none":
        return found
    placed = problem.time.placed(designs.npus)
    for loop in problem.time.loops:
        for first, computed in _beside(loop):
            collective, group, size = first
            found |= problem.time.seconds(collective, size, placed[loop.layouts[group], group], designs) > computed
    return found


def _beside(loop: WeightedLoop) -> set[tuple[tuple[Collective, str, int], float]]:
    """Return the collectives of input gradients, and the seconds of computation before another collective can begin."""
    layers = loop.workload.layers if isinstance(loop.workload, Workload) else ()
    return {
        ((first.collective, first.group, round(first.size)), second.compute)
        for first, second in ((layer.input_gradient, layer.weight_gradient) for layer in layers)
        if first.collective and second.collective and min(loop.degrees[phase.group] for phase in (first, second)) > 1
    }
