"""Search that never waits for the slowest design: when one is done, the engine learns it and asks for another."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from evo_libra.arrays import FloatArray
from evo_libra.errors import InputError
from evo_libra.problem.protocol import Evaluation
from evo_libra.searching.engine import Engine, EngineState
from evo_libra.searching.engines.variation import is_new
from evo_libra.searching.evaluation.parallel import ExpensiveProblem
from evo_libra.searching.loop import NO_OPTIONS, SearchLoop, SearchOptions, Snapshot


def completions(
    problem: ExpensiveProblem,
    engine: Engine,
    *,
    population: int,
    seed: int,
    evaluations: int,
    resume: Snapshot | None = None,
    options: SearchOptions = NO_OPTIONS,
) -> Iterator[Snapshot]:
    """Return an iterator of a snapshot after each design, until the search ends.

    Chance decides which design is done first, so that the same seed gives another search each time. A snapshot can be
    kept and resumed all the same: designs in flight are dropped, and the engine is asked for others.

    Parameters
    ----------
    problem : the problem; it also says how many designs are in flight.
    engine : an engine that may learn designs in any order: all but ``exhaustive`` and ``optimize``.
    population, seed, evaluations, resume, options : as for `evo_libra.searching.generations.generations`.

    Raises
    ------
    InputError : the engine needs an order, or there is a memetic step, which takes many designs at a time.
    """
    if reason := getattr(engine, "in_order", ""):
        raise InputError(f"{reason}; search it without --asynchronous")
    if options.improve is not None:
        raise InputError("an asynchronous search improves no designs")
    return Completions(problem, engine, population, seed, options).snapshots(evaluations, resume)


@dataclass(frozen=True)
class Completions(SearchLoop):
    """A search whose step is one design that is done.

    `queue` has designs to start from that no process has yet, `flying` those that processes evaluate, by their bytes,
    and `done` those that the engine does not know yet.
    """

    problem: ExpensiveProblem
    queue: deque[FloatArray] = field(default_factory=deque)
    flying: dict[bytes, FloatArray] = field(default_factory=dict)
    done: deque[tuple[FloatArray, Evaluation]] = field(default_factory=deque)

    def begin(self, now: Snapshot, first: FloatArray) -> Snapshot:
        """Return the search as it is; the first designs are evaluated like all others."""
        self.queue.extend(first.T)
        return now

    def advance(self, now: Snapshot, left: int) -> Snapshot:
        """Return the search once the next design is done."""
        while True:
            while self.done:
                design, evaluation = self.done.popleft()
                # An earlier loop over the same problem may have left a design in flight; only the cache keeps it.
                if self.flying.pop(design.tobytes(), None) is not None:
                    return self.learn(now, design[:, None], evaluation)
            now = self._submit(now, left)
            if not self.flying:
                return now
            self.done.extend(self.problem.completed())

    def _submit(self, now: Snapshot, left: int) -> Snapshot:
        """Return the search once all processes have a design, those to start from first."""
        while len(self.flying) < min(self.problem.workers, left):
            if self.queue:
                design, state = self.queue.popleft(), now.engine
                if design.tobytes() in self.flying:
                    continue
            else:
                asked, state = self._ask(now.engine)
                if not asked.shape[1]:
                    break
                design = asked[:, 0]
            now = replace(now, engine=state)
            self.flying[design.tobytes()] = design
            self.problem.submit(design)
        return now

    def _ask(self, state: EngineState) -> tuple[FloatArray, EngineState]:
        """Return (g, n) designs that are not in flight, and the state with other random numbers."""
        genes, asked = self.engine.ask(state)
        if self.flying and genes.shape[1]:
            genes = genes[:, is_new(genes, np.stack(list(self.flying.values()), axis=1))]
        return genes, EngineState(state.arrays, asked.random)
