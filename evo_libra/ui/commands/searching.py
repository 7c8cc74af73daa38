"""The commands that search: search, bench."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from evo_libra.experiment.run.settings import Setting, asked_settings
from evo_libra.ui.commands.shared import Assignments, Json, app


def search(
    problem: str,
    *,
    out: Path = Path("results"),
    resume: Annotated[bool, Parameter(negative="")] = False,
    plot: bool = True,
    set_: Assignments = None,
    json_: Json = False,
    **settings: Any,  # noqa: ANN401 - of the kinds in the table of settings
) -> int:
    """Search a problem for its Pareto front and keep it in a folder of results.

    Parameters
    ----------
    problem:
        Path of a problem file, name of a problem, or module:object, whose code is run.
    out:
        Folder of results.
    resume:
        Go on where an interrupted run of the same problem, engine and seed stopped.
    plot:
        Draw the front to front.png, which takes as long as 50,000 evaluations.
    set_:
        KEY=VALUE, replaces a value of the problem file; may be repeated.
    json_:
        Print one JSON object and nothing else.
    """
    from evo_libra.ui.commands.search import search_command  # noqa: PLC0415 - see `shared`

    return search_command(problem, settings, out, set_ or [], resume=resume, plot=plot, as_json=json_)


def _with_settings(command: Callable[..., int]) -> Callable[..., int]:
    """Give a command an option for each setting of a run, in place of its ``**settings``."""
    *own, _ = inspect.signature(command, eval_str=True).parameters.values()
    options = [
        inspect.Parameter(one.name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=_option(one))
        for one in asked_settings()
    ]
    vars(command)["__signature__"] = inspect.Signature([own[0], *options, *own[1:]], return_annotation=int)
    del command.__annotations__["settings"]
    return command


def _option(setting: Setting) -> Any:  # noqa: ANN401 - a type
    kind = list[Path] if setting.kind == tuple[str, ...] else setting.kind
    text = f"{setting.help[0].upper()}{setting.help[1:]}."
    negative = "" if kind in (bool, list[Path]) else None
    return Annotated[kind | None, Parameter(help=text, negative=negative)]


app.command(_with_settings(search))


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
