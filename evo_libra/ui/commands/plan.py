"""An experiment, planned."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evo_libra.errors import counted
from evo_libra.explain.labels import duration
from evo_libra.named_code import trust_files
from evo_libra.ui.commands.shared import Json, Out, Rows, TrustCode, app
from evo_libra.ui.processes import AGAIN
from evo_libra.ui.tables.named_runs import DEFAULT
from evo_libra.ui.tables.output import print, print_json, print_table

if TYPE_CHECKING:
    from evo_libra.experiment.execution.plan import PlannedRun
    from evo_libra.experiment.results.estimate import Estimate
    from evo_libra.experiment.run.spec import Experiment


SHOWN_FAILURES = 10


@app.command
def plan(
    experiment: Path,
    *,
    results: Out = DEFAULT,
    workers: int | None = None,
    rows: Rows = 40,
    trust_code: TrustCode = False,
    as_json: Json = False,
) -> int:
    """Show the runs of an experiment, which of them are done, and how long the rest will take.

    Parameters
    ----------
    experiment:
        Path of an experiment file.
    workers:
        Worker processes on this machine that the estimate assumes; one per core when left out.
    """
    from evo_libra.experiment.execution.plan import plan_of, wanted
    from evo_libra.experiment.file.expansion import load_experiment
    from evo_libra.experiment.results.estimate import estimate, start_seconds

    trust_files(allowed=trust_code)
    loaded = load_experiment(experiment)
    planned = plan_of(loaded, results)
    todo = wanted(planned, ())
    count = worker_count(workers, len(todo))
    guess = estimate(todo, results)
    start = start_seconds(count) if todo else 0.0
    wall = start + guess.seconds / max(count, 1)
    if as_json:
        print_json({
            "experiment": loaded.name, "runs": [_run_json(run) for run in planned], "to_run": len(todo),
            "workers": count, "evaluations": guess.evaluations, "core_s": guess.seconds, "start_s": start,
            "wall_s": wall,
        })  # fmt: skip
    else:
        _show_plan(loaded, planned, rows)
        _show_estimate(planned, todo, guess, (count, start, wall))
    return 0


def _run_json(run: PlannedRun) -> dict[str, Any]:
    spec = run.spec
    return {
        "id": spec.id, "name": spec.label, "problem": spec.name, "engine": spec.engine, "population": spec.population,
        "evaluations": spec.evaluations, "seed": spec.seed, "state": run.state,
        **({"reason": run.reason} if run.reason else {}),
    }  # fmt: skip


def _show_plan(experiment: Experiment, planned: Sequence[PlannedRun], rows: int) -> None:
    from evo_libra.experiment.execution.plan import STATES

    several = len({run.spec.name for run in planned}) > 1
    groups: dict[tuple[str, str, str, str], list[PlannedRun]] = {}
    for run in planned:
        spec = run.spec
        name = ", ".join(part for part in (spec.name if several else "", spec.label) if part) or spec.name
        key = (name, spec.engine, f"{spec.population:,}", f"{spec.evaluations:,}")
        groups.setdefault(key, []).append(run)
    states = [Counter[str](run.state for run in runs) for runs in groups.values()]
    texts = [", ".join(f"{count[state]} {state}" for state in STATES if count[state]) for count in states]
    lines = [
        (*key[1:], _ranges([run.spec.seed for run in runs]), text, key[0])
        for (key, runs), text in zip(groups.items(), texts, strict=True)
    ]
    print_table(
        f"{experiment.name}: {counted(len(planned), 'run')}",
        ("engine", "population", "evaluations", "seeds", "state", "runs"), lines[:rows],
        left=("engine",), fold=("seeds", "state", "runs"),
    )  # fmt: skip
    if len(groups) > rows:
        print(f"... and {len(groups) - rows} more rows; --rows shows them, --json has every run")


def _ranges(seeds: Sequence[int]) -> str:
    """Return seeds for reading.

    >>> _ranges([0, 1, 2, 7])
    '0-2, 7'
    """
    parts: list[list[int]] = []
    for seed in sorted(seeds):
        if parts and seed == parts[-1][-1] + 1:
            parts[-1].append(seed)
        else:
            parts.append([seed])
    return ", ".join(str(part[0]) if len(part) == 1 else f"{part[0]}-{part[-1]}" for part in parts)


def _show_estimate(
    planned: Sequence[PlannedRun], todo: Sequence[Any], guess: Estimate, when: tuple[int, float, float]
) -> None:
    evaluations = counted(guess.evaluations, "evaluation")
    print(f"\n{len(todo):,} of {counted(len(planned), 'run')} to be executed: {evaluations}")
    for state, option in AGAIN.items():
        if count := sum(run.state == state for run in planned):
            print(
                f"{counted(count, f'{state} run')} left as before; {option} runs {'it' if count == 1 else 'them'} again"
            )
    damaged = [run for run in planned if run.state == "damaged"]
    for run in damaged[:SHOWN_FAILURES]:
        print(f"{run.spec.id} is done again: {run.reason}")
    if len(damaged) > SHOWN_FAILURES:
        print(f"... and {len(damaged) - SHOWN_FAILURES:,} more damaged runs; --json has every reason")
    if todo:
        workers, start, wall = when
        print(
            f"estimate: {duration(guess.seconds)} of one core, {duration(wall)} with {counted(workers, 'worker')}, "
            f"{duration(start)} of it to start"
        )
        sources = (
            (guess.from_earlier, "earlier runs"), (guess.from_trial, "a trial just now"),
            (guess.from_similar, "the other runs"),
        )  # fmt: skip
        print(f"from {', '.join(f'{name} ({count:,})' for count, name in sources if count)}")


def worker_count(asked: int | None, runs: int) -> int:
    """Return the workers of this machine for a number of runs: as asked, or as many as there are cores."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores if asked is None else asked, runs)
