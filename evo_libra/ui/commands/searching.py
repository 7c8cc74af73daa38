"""The commands that search: search, bench."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from evo_libra.ui.commands.shared import Assignments, Json, app


@app.command
def search(  # noqa: PLR0913 - each is an option of the command
    problem: str,
    *,
    engine: str | None = None,
    evaluations: int | None = None,
    population: int | None = None,
    seed: int | None = None,
    out: Path = Path("results"),
    resume: Annotated[bool, Parameter(negative="")] = False,
    workers: int | None = None,
    timeout: float | None = None,
    asynchronous: Annotated[bool, Parameter(negative="")] = False,
    seconds: float | None = None,
    stagnation: int | None = None,
    gap: float | None = None,
    restarts: int | None = None,
    start_from: Annotated[list[Path] | None, Parameter(negative="")] = None,
    memetic: float | None = None,
    islands: int | None = None,
    keep: Literal["front", "designs"] | None = None,
    plot: bool = True,
    set_: Assignments = None,
    json_: Json = False,
) -> int:
    """Search a problem for its Pareto front and keep it in a folder of results.

    Parameters
    ----------
    problem:
        Path of a problem file, name of a problem, or module:object, whose code is run.
    engine:
        nsga2, nsga3, random, exhaustive, optimize, pymoo:NAME, deap:NAME, or your own module:object, which is run.
    evaluations:
        How many designs to evaluate.
    population:
        Designs per generation.
    seed:
        Seed of the random numbers; the same seed gives the same front.
    out:
        Folder of results.
    resume:
        Go on where an interrupted run of the same problem, engine and seed stopped.
    workers:
        For designs that take long to evaluate: processes that each evaluate one at a time, and none of them twice.
    timeout:
        Seconds that a design may take in a worker; one that takes longer counts as infeasible.
    asynchronous:
        Ask for another design whenever one is done; which is done first is chance: the seed does not decide the front.
    seconds:
        Of work, after which the search ends whatever its evaluations.
    stagnation:
        Evaluations over which the hypervolume has to grow by 0.1 %, or the search ends.
    gap:
        The search ends when its front is proven to be so near the best one, such as 0.01.
    restarts:
        How often a search that stagnates is started anew instead of being ended.
    start_from:
        Folder of a run, or file of a front, whose designs the search starts from; may be repeated.
    memetic:
        Share of the evaluations that give designs of the front better bandwidths; what pays when left out, 0 for none.
    islands:
        Searches side by side, in processes of their own, that exchange designs; each has the whole population.
    keep:
        What is kept: the front, or every design that is evaluated as well.
    plot:
        Draw the front to front.png, which takes as long as 50,000 evaluations.
    set_:
        KEY=VALUE, replaces a value of the problem file; may be repeated.
    json_:
        Print one JSON object and nothing else.
    """
    from evo_libra.ui.commands.search import search_command  # noqa: PLC0415 - see `shared`

    options: dict[str, Any] = {"engine": engine, "evaluations": evaluations, "population": population, "seed": seed}
    options |= {"workers": workers, "timeout": timeout, "asynchronous": asynchronous, "seconds": seconds}
    options |= {"stagnation": stagnation, "gap": gap, "restarts": restarts, "start_from": start_from}
    options |= {"memetic": memetic, "islands": islands, "keep": keep}
    return search_command(problem, options, out, set_ or [], resume=resume, plot=plot, as_json=json_)


@app.command
def bench(  # noqa: PLR0913 - each is an option of the command
    problem: str,
    *,
    engines: Annotated[list[str], Parameter(consume_multiple=True, negative="")],
    seeds: int | None = None,
    evaluations: int | None = None,
    population: int | None = None,
    exact: Annotated[bool, Parameter(negative="")] = False,
    workers: int | None = None,
    out: Path = Path("results"),
    set_: Assignments = None,
    json_: Json = False,
) -> int:
    """Compare engines on a problem: quality of their fronts over several seeds, and their speed.

    Engines work alone here: nothing but them improves designs.

    Parameters
    ----------
    problem:
        Path of a problem file, name of a problem, or module:object, whose code is run.
    engines:
        Such as nsga2 pymoo:nsga2 deap:nsga2; `evo-libra catalog` lists them.
    seeds:
        Runs of each engine, with the seeds from 0 on; 5 when left out.
    evaluations:
        How many designs each run evaluates.
    population:
        Designs per generation.
    exact:
        Compare with the exact front, where it can be enumerated, and not with the best of all runs.
    workers:
        Processes; one per core when left out. Times are more exact with fewer.
    out:
        Folder of results.
    set_:
        KEY=VALUE, replaces a value of the problem file; may be repeated.
    json_:
        Print one JSON object and nothing else.
    """
    from evo_libra.ui.commands.bench import bench_command  # noqa: PLC0415 - see `shared`

    options = {"seeds": seeds, "evaluations": evaluations, "population": population, "workers": workers}
    return bench_command(problem, engines, options, out, set_ or [], exact=exact, as_json=json_)
