"""Engines compared on one problem."""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO

from cyclopts import Parameter

from evo_libra.errors import InputError, counted
from evo_libra.named_code import trust
from evo_libra.quantities import number
from evo_libra.ui.commands.shared import Assignments, Flag, Json, Out, ProblemName, app, check_min
from evo_libra.ui.tables.named_runs import DEFAULT, written_to
from evo_libra.ui.tables.output import new_console, print, print_json, print_styled, print_table, progress_bar

if TYPE_CHECKING:
    from evo_libra.arrays import FloatArray
    from evo_libra.experiment.results.benchmark import Benchmark, Run, Task
    from evo_libra.pictures.plots.series import Series
    from evo_libra.problem.objectives import Objective
    from evo_libra.problem.protocol import SearchProblem


PICTURE, DATA = "attainment.png", "bench.json"
_INTERRUPTED = 130
_STEPS = 160
_SEEDS = 5
_QUALITY = {"hypervolume": "hypervolume", "igd_plus": "IGD+", "epsilon": "epsilon"}
_SPEED = {"evaluations_per_s": "{noun}s\nper s", "engine_us": "engine\n[us]"}


@app.command
def bench(  # noqa: PLR0913 - each is an option of the command
    problem: ProblemName,
    *,
    engines: Annotated[list[str], Parameter(consume_multiple=True, negative="")],
    seeds: int | None = None,
    evaluations: int | None = None,
    population: int | None = None,
    exact: Flag = False,
    workers: int | None = None,
    results: Out = DEFAULT,
    assignments: Assignments = (),
    as_json: Json = False,
) -> int:
    """Compare engines on a problem: quality of their fronts over several seeds, and their speed.

    No memetic step helps the engines here.

    Parameters
    ----------
    engines:
        Engines, such as nsga2 pymoo:nsga2 deap:nsga2; `evo-libra catalog` lists them.
    seeds:
        Number of runs of each engine, with seeds 0, 1, ...; 5 when left out.
    evaluations:
        Designs that each run evaluates; the problem's own number when left out.
    population:
        Designs per generation.
    exact:
        Compare with the exact front, if the space can be enumerated, and not with the best of all runs.
    workers:
        Processes; one per core when left out. Times are more accurate with fewer.
    """
    from evo_libra.experiment.results.benchmark import compare, exact_front
    from evo_libra.experiment.store.folder import RunFolder
    from evo_libra.files.integrity import canonical_hash
    from evo_libra.problem.file.registry import load_problem

    trust(problem, *engines)
    loaded = load_problem(problem, assignments)
    settings = {
        "evaluations": loaded.settings.evaluations if evaluations is None else evaluations,
        "population": loaded.settings.population if population is None else population,
        "seeds": _SEEDS if seeds is None else seeds,
        "workers": (os.cpu_count() or 1) if workers is None else workers,
    }
    for key, value in settings.items():
        check_min(key, value, 4 if key == "population" else 1)
    written_to(results)
    tasks = _tasks(engines, settings)
    try:
        best = exact_front(loaded) if exact else None
        runs = _watched(loaded, problem, assignments, tasks, settings["workers"])
    except KeyboardInterrupt:
        print("evo-libra: interrupted; a comparison keeps nothing before its end", file=sys.stderr)
        return _INTERRUPTED
    order = {task: place for place, task in enumerate(tasks)}
    found = compare(sorted(runs, key=lambda run: order[run.task]), best)
    what = {
        "engines": engines,
        "exact": exact,
        **{key: settings[key] for key in ("seeds", "evaluations", "population")},
    }
    identity = canonical_hash({"problem": dict(loaded.identity()), **what})
    folder = RunFolder(results / loaded.name / f"bench-{identity[:8]}")
    data = {"problem": loaded.name, **what, **_data(found, loaded.objectives), "result": str(folder.path)}
    folder.write(DATA, f"{json.dumps(data, allow_nan=False, indent=2)}\n".encode())
    if len(loaded.objectives) > 1:
        folder.write(PICTURE, lambda file: _draw(found, loaded, settings["seeds"], file))
    if as_json:
        print_json(data)
    else:
        _show(found, loaded, settings, exact=exact)
        print(f"figures  {folder.path / DATA}")
        print(f"plot     {folder.path / PICTURE}" if len(loaded.objectives) > 1 else "no plot of one objective")
    return 0


def _tasks(engines: Sequence[str], settings: Mapping[str, int]) -> list[Task]:
    from evo_libra.experiment.results.benchmark import Task
    from evo_libra.pictures.plots.axes import MAX_SERIES

    if len(set(engines)) < len(engines):
        raise InputError(f"--engines: found one twice in {', '.join(engines)}; name each once")
    if not 0 < len(engines) <= MAX_SERIES:
        raise InputError(f"--engines: found {len(engines)}; 1 to {MAX_SERIES} can be told apart in a plot")
    size, evaluations = settings["population"], settings["evaluations"]
    return [Task(engine, seed, size, evaluations) for engine in engines for seed in range(settings["seeds"])]


def _watched(
    problem: SearchProblem, name: str, assignments: Sequence[str], tasks: Sequence[Task], workers: int
) -> list[Run]:
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn

    from evo_libra.experiment.results.benchmark import run_tasks

    columns = BarColumn(bar_width=20), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}")
    with progress_bar(*columns) as progress:
        shown = progress.add_task("runs", total=len(tasks))
        found: list[Run] = []
        for run in run_tasks(problem, name, assignments, tasks, workers):
            found.append(run)
            progress.update(shown, advance=1, description=f"{run.task.engine} seed {run.task.seed} in {run.wall:.1f} s")
    return found


def _quartiles(values: FloatArray) -> tuple[float, float, float]:
    """Return the median and the quartiles; infinite values, of runs that found nothing, are counted as largest."""
    import numpy as np

    low, middle, high = np.percentile(values, (25, 50, 75), method="linear" if np.isfinite(values).all() else "nearest")
    return float(middle), float(low), float(high)


def _plain(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _data(found: Benchmark, objectives: Sequence[Objective]) -> dict[str, Any]:
    from evo_libra.front.indicators import hypervolume

    ends = {
        key: {o.column: float(value) / o.scale for o, value in zip(objectives, point, strict=True)}
        for key, point in (("ideal", found.ideal), ("nadir", found.nadir))
    }
    engines: dict[str, Any] = {}
    for name, figures in found.figures.items():
        summary = {}
        for key, values in figures.items():
            middle, low, high = map(_plain, _quartiles(values))
            summary[key] = {"median": middle, "lower_quartile": low, "upper_quartile": high}
        rows = [
            {
                "seed": run.task.seed, "front": run.objectives.shape[1], "evaluations": run.evaluations,
                "wall_s": run.wall, **{key: _plain(values[place]) for key, values in figures.items()},
            }
            for place, run in enumerate(found.runs[name])
        ]  # fmt: skip
        engines[name] = {**summary, "runs": rows}
    best = hypervolume(found.reference, found.ideal, found.nadir)
    reference = {"designs": found.reference.shape[1], "hypervolume": best}
    return {"axes": ends, "reference": reference, "results": engines}


def _show(found: Benchmark, problem: SearchProblem, settings: Mapping[str, int], *, exact: bool) -> None:
    from evo_libra.front.indicators import hypervolume
    from evo_libra.pictures.plots.scatter import terminal_scatter

    if len(problem.objectives) > 1:
        print_styled(terminal_scatter(_terminal_series(found, problem), *_labels(problem), new_console()))
        beside = "" if len(problem.objectives) == 2 else "; other objectives are looked past"  # noqa: PLR2004
        several = f"25, 50 and 75 % of {settings['seeds']} seeds attain"
        print(f"what {'one seed attains' if settings['seeds'] == 1 else several}{beside}")
    title = f"{problem.name}: {settings['evaluations']:,} evaluations, population {settings['population']:,}"
    rows = [
        [
            name,
            *(_with_quartiles(figures[key]) for key in _QUALITY),
            *(number(_quartiles(figures[key])[0]) for key in _SPEED),
        ]
        for name, figures in found.figures.items()
    ]
    noun = _noun(problem)
    speed = (head.format(noun=noun) for head in _SPEED.values())
    print_table(
        f"{title}; median and quartiles", ("engine", *_QUALITY.values(), *speed), rows, left=("engine",),
        box=None, pad_edge=False, padding=(0, 1, 0, 0),
    )  # fmt: skip
    print(f"engine [us]: what the engine itself takes per {noun}")
    best = hypervolume(found.reference, found.ideal, found.nadir)
    what = "the exact front" if exact else "the best of all runs"
    print(f"compared with {what}: {counted(found.reference.shape[1], noun)}, hypervolume {best:.4f}")


def _noun(problem: SearchProblem) -> str:
    """Return the kind of what a problem asks for."""
    from evo_libra.problem.problem import Problem

    return "order" if isinstance(problem, Problem) and problem.book is not None else "design"


def _with_quartiles(values: FloatArray) -> str:
    middle, low, high = (f"{value:.4f}" if math.isfinite(value) else "none" for value in _quartiles(values))
    return f"{middle}\n{low}-{high}"


def _labels(problem: SearchProblem) -> tuple[str, str]:
    return problem.objectives[1].label, problem.objectives[0].label


def _lines(found: Benchmark, problem: SearchProblem) -> dict[str, list[FloatArray]]:
    """Return the lines of each engine's surfaces in the units of the axes: (2, s) across and up."""
    import numpy as np

    from evo_libra.front.indicators import staircase

    scales = np.array([objective.scale for objective in problem.objectives[:2]])
    surfaces = found.surfaces()
    corners = np.concatenate([surface for three in surfaces.values() for surface in three], axis=1)
    worst = corners.max(axis=1, initial=0.0)
    return {
        name: [staircase(surface, worst)[::-1] / scales[::-1, None] for surface in three]
        for name, three in surfaces.items()
    }


def _terminal_series(found: Benchmark, problem: SearchProblem) -> list[Series]:
    import numpy as np

    from evo_libra.pictures.plots.series import Series

    dots = {
        name: np.concatenate([_dotted(line) for line in lines], axis=1)
        for name, lines in _lines(found, problem).items()
    }
    return [Series(across, up, name) for name, (across, up) in dots.items()]


def _dotted(line: FloatArray) -> FloatArray:
    """Return points along a (2, s) line, even on logarithmic axes."""
    import numpy as np

    if line.shape[1] < 2:  # noqa: PLR2004 - a line has two ends
        return line
    logs = np.log10(line)
    span = np.maximum(logs.max(axis=1) - logs.min(axis=1), 1e-12)[:, None]
    along = np.concatenate([[0.0], np.cumsum(np.abs(np.diff(logs / span, axis=1)).sum(axis=0))])
    wanted = np.linspace(0.0, along[-1], 2 * _STEPS)
    return 10.0 ** np.stack([np.interp(wanted, along, values) for values in logs])


def _draw(found: Benchmark, problem: SearchProblem, seeds: int, file: BinaryIO) -> None:
    from evo_libra.pictures.plots.figure import attainment_figure

    x_label, y_label = _labels(problem)
    several = f"50 % of {seeds} seeds (line), by 75 to 25 % (area)"
    title = f"{problem.name}: attained by {'one seed' if seeds == 1 else several}"
    attainment_figure(_lines(found, problem), x_label=x_label, y_label=y_label, title=title, path=file)
