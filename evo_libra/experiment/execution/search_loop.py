"""The search of a run, from what a run is: whether it can be searched, where it begins, and its snapshots."""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from evo_libra.arrays import FloatArray
from evo_libra.errors import EngineError, InputError, Mistake
from evo_libra.experiment.run.origin import Origin, build, source_of
from evo_libra.experiment.run.spec import RunSpec, run_of
from evo_libra.experiment.store.folder import CHECKPOINT, FRONT, RunFolder
from evo_libra.experiment.store.messages import last_progress
from evo_libra.experiment.store.search_state import keep_first, read_checkpoint
from evo_libra.files.integrity import read_archive
from evo_libra.front.front import Front, front_genes
from evo_libra.problem.problem import Problem
from evo_libra.problem.protocol import Evaluation, SearchProblem
from evo_libra.searching.evaluation.parallel import CACHE, ExpensiveProblem, known_of
from evo_libra.searching.generations import generations, memetic_step
from evo_libra.searching.loop import Gap, SearchOptions, Snapshot, Stagnation, Stop, certified_gap
from evo_libra.searching.registry import DETERMINISTIC, load_engine

if TYPE_CHECKING:
    from evo_libra.searching.islands import Archipelago, Epoch

Observe = Callable[[FloatArray, Evaluation], None]
Place: TypeAlias = "Callable[[RunSpec], Archipelago]"
Names = str | Path | Sequence[str | Path]


def planned_run(
    origin: Origin,
    problem: SearchProblem | None = None,
    folder: Path | None = None,
    **settings: Any,  # noqa: ANN401 - see `run_of`
) -> RunSpec:
    """Return a run of a problem, checked; the problem and the settings are as for `run_of`.

    Besides, ``start_from`` says where earlier fronts are, relative to the folder.
    """
    start: Names = settings.pop("start_from", None) or ()
    problem = problem or build(origin)
    spec = run_of(origin, problem, **settings, start_from=start)
    if start:
        paths = [(folder or Path()) / one for one in ((start,) if isinstance(start, (str, Path)) else start)]
        digest = _digest(genes_from(problem, paths))
        spec = replace(spec, start_from=tuple(str(path.resolve()) for path in paths), start_digest=digest)
    try:
        check(spec, problem)
    except EngineError as error:
        if origin.data is None or settings.get("engine") is not None:
            raise
        source = source_of(origin)
        raise EngineError(source.mistake(("search", "engine"), one.message) for one in error.mistakes) from None
    return spec


def check(spec: RunSpec, problem: SearchProblem) -> None:
    """Refuse, before anything is written, a run whose engine cannot search the problem or whose method is wrong."""
    if spec.timeout is not None and spec.workers is None:
        raise InputError("--timeout belongs to --workers: a design is evaluated by itself only in a process of its own")
    problem = with_processes(spec, problem, None, retry=False)
    _check_method(spec, expensive=isinstance(problem, ExpensiveProblem))
    load_engine(spec.engine, problem).start(problem.genome, len(problem.objectives), spec.population, spec.seed)
    memetic_step(problem, spec.memetic, spec.population)
    if spec.gap is not None:
        certified_gap(problem)
    if spec.start_from:
        _first_genes(spec, problem)


def _check_method(spec: RunSpec, *, expensive: bool) -> None:
    certain = spec.engine in DETERMINISTIC
    if certain and expensive:
        many = "many designs at once" if spec.engine == "exhaustive" else "one design alone"
        raise InputError(f"{spec.engine} evaluates {many}; search without worker processes")
    if certain and (spec.restarts or spec.start_from or spec.memetic or spec.islands > 1):
        raise InputError(
            f"{spec.engine} leaves nothing to chance; it takes no restarts, start, memetic step or islands"
        )
    if spec.restarts and spec.stagnation is None:
        raise InputError("restarts: they need a stagnation, in evaluations, after which the search restarts")
    if spec.asynchronous and not expensive:
        raise InputError("an asynchronous search needs --workers, or a problem that has processes of its own")
    if spec.islands > 1 and expensive:
        raise InputError("islands: they evaluate designs in their own processes; search without worker processes")
    if spec.asynchronous and spec.memetic:
        raise InputError("memetic: an asynchronous search has no generations to improve")


def with_processes(spec: RunSpec, problem: SearchProblem, results: Path | None, *, retry: bool) -> SearchProblem:
    """Return a run's problem, in worker processes where the run says so.

    Evaluations are kept in ``<results>/<problem>/evaluations.sqlite``, if results are given; with `retry`, designs that
    failed before are evaluated again.
    """
    if spec.workers is None:
        return problem
    if isinstance(problem, ExpensiveProblem):
        raise InputError(f"'{spec.name}' has processes of its own; leave --workers out")
    cache = None if results is None else results / problem.name / CACHE
    return ExpensiveProblem(
        problem, workers=spec.workers, timeout=spec.timeout, cache=cache, retry=retry, load=partial(build, spec.origin)
    )


def in_this_process(spec: RunSpec) -> Archipelago:
    """Return islands that are searched one after the other, here."""
    from evo_libra.searching.islands import Archipelago  # noqa: PLC0415 - few runs have islands

    return Archipelago(spec.islands, 0)


def in_processes(spec: RunSpec) -> Archipelago:
    """Return islands that are searched in processes of their own, as far as there are processors."""
    from evo_libra.searching.islands import Archipelago  # noqa: PLC0415 - few runs have islands

    return Archipelago(spec.islands)


def snapshots(
    spec: RunSpec,
    problem: SearchProblem,
    resume: Snapshot | None = None,
    *,
    observe: Observe | None = None,
    place: Place = in_this_process,
) -> Generator[Snapshot, None, None]:
    """Yield the snapshots of a run; closing it ends the processes of its islands.

    `observe` is called with all genes that are evaluated, and their evaluation. The place of islands decides nothing
    but the time.
    """
    options = _options(spec, problem, observe, warm=resume is None)
    numbers = {"population": spec.population, "seed": spec.seed, "evaluations": spec.evaluations}
    if spec.islands > 1:
        from evo_libra.searching.islands import island_generations  # noqa: PLC0415 - few runs have islands

        yield from island_generations(problem, spec.engine, place(spec), **numbers, resume=resume, options=options)
        return
    engine = load_engine(spec.engine, problem)
    if spec.asynchronous:
        assert isinstance(problem, ExpensiveProblem), "checked"  # noqa: S101 - internal error
        from evo_libra.searching.asynchronous import completions  # noqa: PLC0415 - few runs are asynchronous

        yield from completions(problem, engine, **numbers, resume=resume, options=options)
    else:
        yield from generations(problem, engine, **numbers, resume=resume, options=options)


def _options(spec: RunSpec, problem: SearchProblem, observe: Observe | None, *, warm: bool) -> SearchOptions:
    stagnation = None if spec.stagnation is None else Stagnation(spec.stagnation, spec.growth)
    gap = None if spec.gap is None else Gap(spec.gap, certified_gap(problem), spec.gap_every)
    first = _first_genes(spec, problem) if warm and spec.start_from else None
    improve = memetic_step(problem, spec.memetic, spec.population)
    return SearchOptions(Stop(spec.seconds, stagnation, gap), spec.restarts, first, improve, observe)


def epoch_runner_of(spec: RunSpec, problem: SearchProblem) -> Callable[[Epoch], Epoch]:
    """Return the function that runs epochs of a run's islands."""
    from evo_libra.searching.islands import epoch_runner  # noqa: PLC0415 - few runs have islands

    improve = memetic_step(problem, spec.memetic, spec.population)
    return epoch_runner(problem, spec.engine, spec.population, improve, observed=spec.keep == "designs")


@dataclass(frozen=True)
class Start:
    """The start of a run: ``started`` at nothing, ``resumed`` at its checkpoint, or ``extended`` from a shorter run's.

    Earlier attempts put `seconds` of work into it. The reason is why a checkpoint that is there was not used, or
    the folder whose checkpoint is used.
    """

    kind: str
    snapshot: Snapshot | None
    seconds: float = 0.0
    reason: str = ""


def begin(results: Path, spec: RunSpec, folder: RunFolder, *, resume: bool) -> Start:
    """Make a run's claimed folder ready and return where the run begins; from a checkpoint only if it may `resume`."""
    start = _start(results, spec, folder) if resume else Start("started", None)
    if start.kind != "resumed":
        folder.clear()
    if spec.keep == "designs" and start.snapshot is not None:
        source = RunFolder(Path(start.reason)) if start.kind == "extended" else None
        if not keep_first(folder, start.snapshot.evaluations, source):
            folder.clear()
            return Start("started", None, reason="not all designs of the checkpoint were kept")
    return start


def _start(results: Path, spec: RunSpec, folder: RunFolder) -> Start:
    reason = ""
    try:
        own, point = read_checkpoint(folder, spec.search), last_progress(folder.path)
    except InputError as error:
        own, point, reason = None, None, str(error)
    if own is not None and own.evaluations <= spec.evaluations:
        return Start("resumed", own, point.seconds if point else 0.0)
    return _shorter(results, spec) or Start("started", None, reason=reason)


def _shorter(results: Path, spec: RunSpec) -> Start | None:
    """Return the furthest checkpoint of the same search that this run's budget reaches beyond."""
    best: Start | None = None
    for path in sorted((results / spec.id).parent.glob(f"{spec.stem}-e*-s{spec.seed}")):
        try:
            found = read_checkpoint(RunFolder(path), spec.search)
        except InputError:
            continue
        if found is None or found.evaluations >= spec.evaluations or found.seconds >= (spec.seconds or math.inf):
            continue
        if best is None or best.snapshot is None or found.evaluations > best.snapshot.evaluations:
            best = Start("extended", found, reason=str(path))
    return best


def _first_genes(spec: RunSpec, problem: SearchProblem) -> FloatArray:
    """Return the (g, k) genes that a run starts from; refuse others than when it was planned."""
    genes = genes_from(problem, [Path(one) for one in spec.start_from])
    if _digest(genes) != spec.start_digest:
        raise InputError(
            f"the designs of {' and '.join(spec.start_from)} to start from have changed since this was planned"
        )
    return genes


def _digest(genes: FloatArray) -> str:
    return hashlib.sha256(str(genes.shape).encode() + np.ascontiguousarray(genes).tobytes()).hexdigest()


def genes_from(problem: SearchProblem, paths: Sequence[Path]) -> FloatArray:
    """Return the (g, k) genes of earlier fronts: of the first, and of each further one what those before do not have.

    The paths are folders of runs or files of fronts. For a problem of a problem file, designs are read in the notation,
    of whatever problem they are; for one in Python, from the last checkpoint of a run with the same genes. Designs that
    the problem has no genes for are left out. Raises an InputError where none remains.
    """
    fronts = [_of_path(problem, path) for path in paths]
    genes = np.hstack(fronts)
    _, new = np.unique(genes, axis=1, return_index=True)
    return np.ascontiguousarray(genes[:, np.union1d(np.arange(fronts[0].shape[1]), new)])


def _refusal(message: str) -> InputError:
    return InputError(Mistake(message, key="start_from"))


def _of_path(problem: SearchProblem, path: Path) -> FloatArray:
    if not os.path.exists(path):  # noqa: PTH110 - false for what cannot be the name of a file
        raise _refusal(f"there is no {path}; the folder of a run or the file of a front is needed")
    whole = known_of(problem)
    genes = _of_file(whole, path) if isinstance(whole, Problem) else _of_checkpoint(problem, path)
    if not genes.shape[1]:
        raise _refusal(f"{path} has no design of '{problem.name}'")
    return genes


def _of_file(problem: Problem, path: Path) -> FloatArray:
    file = path / FRONT if path.is_dir() else path
    if not file.is_file():
        raise _refusal(f"{path} has no front: its run was not finished")
    try:
        return front_genes(problem, Front.read(file)).genes
    except InputError as error:
        raise _refusal(f"{file}: {error}") from None


def _of_checkpoint(problem: SearchProblem, path: Path) -> FloatArray:
    found = read_archive(path / CHECKPOINT)
    if found is None:
        raise _refusal(f"{path} has no checkpoint; a problem in Python starts from the folder of a run")
    genes: FloatArray = found[1]["archive/genes"]
    if len(genes) != len(problem.genome):
        raise _refusal(
            f"the designs of {path} have {len(genes)} genes; those of '{problem.name}' have {len(problem.genome)}"
        )
    legal = problem.genome.repair(genes)
    return np.asarray(legal[:, (legal == genes).all(axis=0)])
