"""The loop of every search: advance by a step, judge, restart or end; and what ends it before its evaluations do."""

from __future__ import annotations

import abc
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl

from evo_libra.arrays import FloatArray
from evo_libra.errors import InputError
from evo_libra.front.archive import Archive, Collection
from evo_libra.front.front import Front
from evo_libra.front.indicators import hypervolume
from evo_libra.problem.problem import Problem
from evo_libra.problem.protocol import COST, NO_FAILURES, TIME, Evaluation, Failures, SearchProblem
from evo_libra.searching.engine import EVALUATIONS, EXHAUSTED, GAP, SECONDS, STAGNATION, Engine, EngineState
from evo_libra.searching.evaluation.usable import evaluate

_LOOKS = 10
_EVALUATIONS_PER_STEP = 10
"""Late in a search, the evaluations so far for each one between two memetic steps."""


@dataclass(frozen=True)
class Stagnation:
    """Ends a search when its hypervolume has hardly grown for long.

    Attributes
    ----------
    evaluations : number over which the hypervolume of the archive has to grow; it is measured ten times meanwhile.
    growth : share of itself by which the hypervolume has to grow.
    """

    evaluations: int
    growth: float = 1e-3

    def __post_init__(self) -> None:
        if self.evaluations < 1 or not 0 <= self.growth < 1:
            raise InputError(
                f"found a stagnation of {self.evaluations} evaluations that grow by {self.growth:g}; "
                "at least 1 is needed, and a growth from 0 to below 1"
            )

    @property
    def every(self) -> int:
        """Evaluations between two checks."""
        return max(self.evaluations // _LOOKS, 1)


@dataclass(frozen=True)
class Gap:
    """Ends a search when its front is proven to be near the best one.

    Attributes
    ----------
    target : largest gap that is good enough.
    measure : returns the gap of an archive; see `certified_gap`.
    every : evaluations before the first proof; each further one comes after a quarter more of them, as a proof takes as
        long as hundreds of thousands.
    """

    target: float
    measure: Callable[[Archive], float]
    every: int = 100_000

    def __post_init__(self) -> None:
        if not 0 <= self.target < np.inf or self.every < 1:
            raise InputError(f"found a gap of {self.target:g}; a number of at least 0 is needed")

    def due(self, before: int, after: int) -> bool:
        """Return whether a proof is due between two numbers of evaluations."""
        at = self.every
        while at <= before:
            at += max(at // 4, 1)
        return at <= after


@dataclass(frozen=True)
class Stop:
    """Limits of a search besides its number of evaluations; None for no such limit.

    Attributes
    ----------
    seconds : wall time in s, earlier sessions included; how far the search gets depends on the machine.
    stagnation : ends the search after the same evaluations on every machine.
    gap : as `stagnation`.
    """

    seconds: float | None = None
    stagnation: Stagnation | None = None
    gap: Gap | None = None

    def __post_init__(self) -> None:
        if self.seconds is not None and not 0 < self.seconds < np.inf:
            raise InputError(f"found {self.seconds:g} s to search for; a number above 0 is needed")


@dataclass(frozen=True)
class Mark:
    """The evaluations and the (m, k) objectives of the archive when its hypervolume last grew by enough."""

    evaluations: int = 0
    objectives: FloatArray = field(default_factory=lambda: np.empty((0, 0)))


def passes_multiple(before: int, after: int, every: int) -> bool:
    """Return whether a count has passed a multiple of a number."""
    return before // every < after // every


def update_mark(mark: Mark, archive: Archive, evaluations: int, rule: Stagnation) -> Mark:
    """Return the mark after a check of the archive: the old one where the hypervolume has not grown by enough since."""
    if not len(archive):
        return mark
    low, high = archive.objectives.min(axis=1), archive.objectives.max(axis=1)
    now = hypervolume(archive.objectives, low, high)
    then = hypervolume(mark.objectives, low, high) if mark.objectives.size else 0.0
    return Mark(evaluations, archive.objectives) if now - then > rule.growth * now else mark


def certified_gap(problem: SearchProblem) -> Callable[[Archive], float]:
    """Return the function that proves by how much a front is slower than the best one, at most, at any cost.

    It is `Certificate.largest_factor` less 1; an archive without designs has an infinite gap. Raises `InputError` if
    there is no such proof for the problem: it is written in Python, has another time than LIBRA's, or other objectives
    than time and cost.
    """
    if not isinstance(problem, Problem) or not problem.time.exact:
        raise InputError(f"no gap can be proven of '{problem.name}': that takes a problem file with time: libra")
    if {objective.name for objective in problem.objectives} != {TIME.name, COST.name}:
        raise InputError(f"no gap can be proven of '{problem.name}': its objectives are not time and cost")

    from evo_libra.optimality.certificate import certify  # noqa: PLC0415 - few searches prove their gap

    def measure(archive: Archive) -> float:
        if not len(archive):
            return np.inf
        rows = zip(problem.objectives, archive.objectives, strict=True)
        frame = pl.DataFrame({objective.column: values / objective.scale for objective, values in rows})
        return certify(problem, Front(frame, (TIME.column, COST.column))).largest_factor - 1.0

    return measure


@dataclass(frozen=True)
class MemeticStep:
    """A step that improves `count` designs, spread over the archive, each time that `every` evaluations have passed.

    `better` returns better genes for (g, n) genes. They are evaluated, and the engine learns from them. Late in a long
    search a step has more designs and comes after as many more evaluations, since many designs at once cost less each.
    """

    better: Callable[[FloatArray], FloatArray]
    every: int = 5_000
    count: int = 250

    def due(self, before: int, after: int) -> int:
        """Return how many designs to improve between two numbers of evaluations; 0 where no step is due."""
        at, length = 0, self.every
        while at + length <= before:
            at, length = at + length, max(self.every, (at + length) // _EVALUATIONS_PER_STEP)
        return round(self.count * length / self.every) if at + length <= after else 0

    def improve(self, found: Collection, count: int) -> FloatArray:
        """Return (g, k) better genes of designs of an archive, k at most `count`."""
        genes = found.sample(count)
        return self.better(genes) if genes.shape[1] else genes


Extent = tuple[FloatArray, FloatArray]
"""(m,) best and worst objectives."""


@dataclass(frozen=True)
class Snapshot:
    """A search between two steps.

    `found` has every non-dominated design so far, and some that may be. `ended` is why the search ended, as
    `evo_libra.searching.engine` names it; empty while it goes on. `mark` is the archive when its hypervolume last grew,
    `restarts` how often the engine forgot all and began again, `seconds` the wall time so far, and `failures` the
    designs that could not be evaluated. `extent` are the best and the worst (m,) objectives of the first population's
    front, or of the first front after it that extends in every objective; None until then.
    """

    engine: EngineState
    found: Collection
    evaluations: int
    exhausted: bool = False
    ended: str = ""
    mark: Mark = field(default_factory=Mark)
    restarts: int = 0
    seconds: float = 0.0
    failures: Failures = NO_FAILURES
    extent: Extent | None = None

    @property
    def archive(self) -> Archive:
        """Every non-dominated design so far."""
        return self.found.archive


def extent_of(archive: Archive) -> Extent | None:
    """Return the best and the worst (m,) objectives of an archive; None where they are the same in an objective."""
    if not len(archive):
        return None
    best, worst = archive.objectives.min(axis=1), archive.objectives.max(axis=1)
    return (best, worst) if (worst > best).all() else None


@dataclass(frozen=True)
class SearchOptions:
    """Start, stop and improvement of a search, besides its engine.

    Attributes
    ----------
    stop : what ends the search before its evaluations are used up.
    restarts : how often a search that stagnates begins again with other random numbers, instead of ending.
    first : (g, k) genes of designs to start from.
    improve : the memetic step, if there is one.
    observe : called with the genes and the evaluation of all designs.
    """

    stop: Stop = field(default_factory=Stop)
    restarts: int = 0
    first: FloatArray | None = None
    improve: MemeticStep | None = None
    observe: Callable[[FloatArray, Evaluation], None] | None = None

    def __post_init__(self) -> None:
        if self.restarts < 0:
            raise InputError(f"found {self.restarts} restarts; at least 0 are needed")
        if self.restarts and self.stop.stagnation is None:
            raise InputError("restarts belong to a search that ends by stagnation")


NO_OPTIONS = SearchOptions()
"""A search that only its evaluations end and only its engine directs."""


@dataclass(frozen=True)
class SearchLoop(abc.ABC):
    """A search of a problem; subclasses define its step."""

    problem: SearchProblem
    engine: Engine
    population: int
    seed: int
    options: SearchOptions

    @abc.abstractmethod
    def advance(self, now: Snapshot, left: int) -> Snapshot:
        """Return the search after a step of at most `left` evaluations; after none, the engine is exhausted."""

    def start(self, seed: int) -> EngineState:
        """Return the state of an engine that knows nothing."""
        return self.engine.start(self.problem.genome, len(self.problem.objectives), self.population, seed)

    def first_seed(self) -> int:
        """Return the seed of the first start; restarts have derived ones."""
        return self.seed

    def begin(self, now: Snapshot, first: FloatArray) -> Snapshot:
        """Return the search once it knows the (g, k) designs to start from."""
        return self.learn(now, first)

    def snapshots(self, evaluations: int, resume: Snapshot | None = None) -> Iterator[Snapshot]:
        """Yield a snapshot after each step until the search ends; `evaluations` include those before `resume`."""
        begun = time.perf_counter() - (resume.seconds if resume else 0.0)
        now = self._begun(evaluations, resume)
        while now.evaluations < evaluations:
            before = now.evaluations
            now = replace(self.advance(now, evaluations - before), seconds=time.perf_counter() - begun)
            now = self._judge(now, before, evaluations)
            if now.extent is None and (now.ended or now.evaluations >= self.population):
                now = replace(now, extent=extent_of(now.archive))
            if now.ended == STAGNATION and now.restarts < self.options.restarts:
                now = self._restart(now)
            yield now
            if now.ended:
                return

    def learn(self, now: Snapshot, genes: FloatArray, evaluation: Evaluation | None = None) -> Snapshot:
        """Return the search once (g, n) genes are evaluated, observed and archived, and the engine knows them."""
        known = evaluate(self.problem, genes) if evaluation is None else evaluation
        now = self.archive(now, genes, known)
        return replace(now, engine=self.engine.tell(now.engine, genes, np.log10(known.objectives), known.violation))

    def archive(self, now: Snapshot, genes: FloatArray, evaluation: Evaluation) -> Snapshot:
        """Return the search once evaluated designs are observed, counted and in the archive."""
        if self.options.observe is not None:
            self.options.observe(genes, evaluation)
        found = now.found.add(genes, evaluation.objectives, evaluation.violation)
        failures = Failures.joined([now.failures, evaluation.failures]) if evaluation.failures.count else now.failures
        return replace(now, found=found, evaluations=now.evaluations + genes.shape[1], failures=failures)

    def _begun(self, evaluations: int, resume: Snapshot | None) -> Snapshot:
        state = self.start(self.first_seed())  # Also of a search that is resumed: the engine learns the genome here.
        if resume is not None:
            return replace(resume, exhausted=False, ended="")
        nothing = Archive.empty(len(self.problem.genome), len(self.problem.objectives))
        now = Snapshot(state, Collection(nothing), 0)
        return now if self.options.first is None else self.begin(now, self.options.first[:, :evaluations])

    def _judge(self, now: Snapshot, before: int, evaluations: int) -> Snapshot:
        """Return the search with the reason why it ends, if there is one."""
        stop, done = self.options.stop, now.evaluations
        if done == before:
            return replace(now, exhausted=True, ended=EXHAUSTED)
        if done >= evaluations:
            return replace(now, ended=EVALUATIONS)
        if stop.seconds is not None and now.seconds >= stop.seconds:
            return replace(now, ended=SECONDS)
        if stop.gap is not None and stop.gap.due(before, done) and stop.gap.measure(now.archive) <= stop.gap.target:
            return replace(now, ended=GAP)
        if stop.stagnation is not None and passes_multiple(before, done, stop.stagnation.every):
            mark = update_mark(now.mark, now.archive, done, stop.stagnation)
            stagnated = done - mark.evaluations >= stop.stagnation.evaluations
            return replace(now, mark=mark, ended=STAGNATION if stagnated else "")
        return now

    def _restart(self, now: Snapshot) -> Snapshot:
        """Return the search with an engine that knows nothing; the archive stays, and the mark is as of now."""
        restarts = now.restarts + 1
        state = self.start(derived_seed(self.seed, restarts))
        mark = replace(now.mark, evaluations=now.evaluations)
        return replace(now, engine=state, restarts=restarts, mark=mark, ended="")


def derived_seed(seed: int, *place: int) -> int:
    """Return the seed of a part of a search, such as a restart or an island; parts of all searches differ."""
    return int(np.random.SeedSequence(seed, spawn_key=place).generate_state(1, np.uint64)[0])
