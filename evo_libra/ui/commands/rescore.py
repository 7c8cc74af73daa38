"""A front under another model of time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from evo_libra.errors import InputError, counted
from evo_libra.ui.commands.named_runs import given_of, origin_of_result, problem_from, run_folder
from evo_libra.ui.commands.shared import Assignments, Json, TrustCode, app, check_least
from evo_libra.ui.output import new_console, print_styled
from evo_libra.ui.texts import number, print_json, short_design, show_warnings, time_unit

if TYPE_CHECKING:
    from evo_libra.experiment.run.origin import Origin
    from evo_libra.front.front import Front
    from evo_libra.front.rescore import Rescored
    from evo_libra.problem.problem import Problem


@app.command
def rescore(
    result: Path,
    *,
    time: Literal["libra", "astra", "themis"],
    problem: str | None = None,
    assignments: Assignments = (),
    rows: int = 12,
    trust_code: TrustCode = False,
    as_json: Json = False,
) -> int:
    """Look at the front of a result under another time model: which designs change rank, which stay on the front.

    Parameters
    ----------
    result:
        Folder of a run, or one with a single run in it, such as results/gpt3-4k; or a part of a run's name.
    time:
        The other time model.
    problem:
        The problem, if its file is no longer where the run found it.
    assignments:
        KEY=VALUE, on top of those of the run, such as time.latency_ns=500; may be repeated.
    rows:
        Rows of the table, at most; they are spread along the front. JSON has all designs.
    trust_code:
        Run the code of a problem that the result names as module:object.
    as_json:
        Print one JSON object and nothing else.
    """
    from evo_libra.experiment.store.folder import RunFolder
    from evo_libra.front.rescore import rescore as rescored
    from evo_libra.problem.file.registry import with_time
    from evo_libra.problem.quirks import Warned, warnings_of

    check_least("rows", rows)
    folder = RunFolder(run_folder(result))
    front = folder.read_front()
    if not len(front):
        raise InputError(f"the front of {folder.path} is empty")
    origin = origin_of_result(folder, problem, given_of(folder), trust_code=trust_code)
    searched = problem_from(origin)
    if "time_ms" not in front.objectives:
        raise InputError(f"the front of {folder.path} has no time to compare with")
    other = _under(origin, with_time(searched, time), assignments, time)
    found = rescored(front, other)
    warnings = warnings_of(other, found.rescored)
    file = f"rescored-{time}.parquet"
    folder.write(file, found.frame.write_parquet)
    if as_json:
        print_json({
            "result": str(folder.path), "time": other.spec["time"], "agreement": found.agreement,
            "dropped": list(found.dropped), "warnings": list(map(Warned.json, warnings)),
            "designs": found.frame.to_dicts(), "rescored": str(folder.path / file),
        })  # fmt: skip
    else:
        _show(found, front, searched, other, rows)
        show_warnings(warnings)
        print(f"rescored  {folder.path / file}")
    return 0


def _under(origin: Origin, timed: Sequence[str], assignments: Sequence[str], model: str) -> Problem:
    try:
        return problem_from(origin, [*timed, *assignments])
    except InputError as error:
        said = str(error)
        for assignment in timed:  # which stand for the option, and nobody has written
            said = said.replace(f"--set {assignment}", f"--time {model}")
        raise InputError(said) from None


def _model(problem: Problem) -> str:
    time = problem.spec["time"]
    return time if isinstance(time, str) else str(time["model"])


def _show(found: Rescored, front: Front, problem: Problem, other: Problem, rows: int) -> None:
    import numpy as np
    from rich.table import Table
    from rich.text import Text

    from evo_libra.front.front import Front
    from evo_libra.ui.plots.axes import Series
    from evo_libra.ui.plots.pictures import terminal_scatter

    before, after = _model(problem), _model(other)
    if before == after:
        before, after = f"{before} (run)", f"{after} (now)"
    frame = found.frame
    console = new_console()
    if "cost_usd" in front.objectives:
        cost, times = frame["cost_usd"].to_numpy(), (frame["time_ms"].to_numpy(), frame["time_ms_rescored"].to_numpy())
        series = [Series(cost, time, label) for time, label in zip(times, (before, after), strict=True)]
        print_styled(terminal_scatter(series, "network cost [USD]", "iteration time [ms]", console))
    shown = Front(frame, front.objectives).spread(rows)
    table = Table(title=f"{len(shown)} of {counted(len(front), 'design')}; rank 1 is the fastest", title_justify="left")
    unit, size = time_unit(float(np.median(frame["time_ms_rescored"].to_numpy())))
    both = [f"{what}\n{model}" for what in (f"time [{unit}]", "rank") for model in (before, after)]
    for column in ("id", *both, "on\nfront"):
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("design", overflow="fold")
    for row in shown.to_dicts():
        table.add_row(*map(Text, _cells(row, size)), Text(short_design(row["design"])))
    console.print(table)
    ratio = frame["time_ms_rescored"].to_numpy() / frame["time_ms"].to_numpy()
    print(f"\ntime under {after} is {ratio.min():.4g} to {ratio.max():.4g} times that under {before}, median "
          f"{np.median(ratio):.4g}")  # fmt: skip
    if found.agreement is not None:
        moved = int((frame["rank"] != frame["rank_rescored"]).sum())
        print(f"order by time: Kendall's tau {found.agreement:.4f}; {moved:,} of {len(front):,} change their rank")
    if np.allclose(ratio, 1, rtol=1e-12, atol=0):
        print("both times are the same: nothing can have changed")
    if found.dropped:
        print(f"{after} does not offer what some designs say of {', '.join(found.dropped)}; it has its own instead")
    if problem.pricing.kits and problem.optimal and not other.optimal:
        print(f"bandwidths were solved for; what is not in whole ports cannot be built and is infeasible under {after}")
    print(f"on the front under {after}: {int(frame['on_front'].sum()):,} of {counted(len(front), 'design')}")


def _cells(row: Mapping[str, Any], size: float) -> list[str]:
    kept = "yes" if row["on_front"] else "no" if row["feasible"] else "infeasible"
    times = [number(row[name] / size) for name in ("time_ms", "time_ms_rescored")]
    return [str(row["id"]), *times, str(row["rank"]), str(row["rank_rescored"]), kept]
