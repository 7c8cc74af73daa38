"""What the commands do: call the other rooms, print what comes back."""

from __future__ import annotations

import sys
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from evo_libra.errors import EvoLibraError, InfeasibleError, InputError, counted
from evo_libra.experiment.failures import read_failures
from evo_libra.experiment.job import Job, Report
from evo_libra.experiment.loop import in_processes
from evo_libra.experiment.planned import planned_run
from evo_libra.experiment.runner import Outcome, catching_interrupts
from evo_libra.experiment.runspec import build, origin_of
from evo_libra.experiment.store import DONE, FAILURES, LOG, MANIFEST, PLOT, RunFolder
from evo_libra.experiment.words import course
from evo_libra.experiment.worker import perform
from evo_libra.front.front import Front
from evo_libra.problem.protocol import Objective, SearchProblem
from evo_libra.problem.registry import load_problem
from evo_libra.ui.pictures import figure_of, terminal_plot_of
from evo_libra.ui.texts import print_json
from evo_libra.ui.watch import Watch

_INTERRUPTED, _FAILED = 130, 1


def search_command(
    name: str,
    options: Mapping[str, Any],
    results: Path,
    assignments: Sequence[str],
    *,
    resume: bool,
    plot: bool,
    as_json: bool,
) -> int:
    """Search, keep the result, show the front."""
    origin = origin_of(name, assignments)
    spec, problem = planned_run(origin, **options), build(origin)
    job = Job(
        str(results.absolute()), uuid.uuid4().hex, again=("failed",) if resume else ("all",), resume=resume,
        command=tuple(sys.argv),
    )  # fmt: skip
    found: list[Outcome] = []

    def finish(outcome: Outcome) -> None:
        found.append(outcome)
        if plot and len(outcome.front):
            outcome.folder.write(PLOT, lambda path: figure_of(outcome.front, problem.objectives, problem.name, path))

    messages = Console(stderr=True)
    with Progress(
        SpinnerColumn(), TimeRemainingColumn(compact=True), TextColumn("{task.description}{task.fields[figures]}"),
        console=messages, transient=True, disable=not messages.is_terminal,
    ) as progress, catching_interrupts() as interrupted:  # fmt: skip
        watch = Watch(progress, problem, spec.evaluations)
        report = perform(
            spec, job, interrupted=interrupted, watch=watch, finish=finish, on_design=watch.design, place=in_processes
        )
    folder = RunFolder(results / spec.id)
    if report.ending == "busy":
        raise InputError(f"{folder.path} is being searched: {report.error}; wait for it, or name another --out")
    if report.ending not in ("done", "interrupt"):
        raise EvoLibraError(f"the search failed: {report.error or report.ending}; see {folder.path / LOG}")
    front = found[0].front if found else folder.read_front()
    return _report(problem, folder, front, report, as_json=as_json)


def _report(problem: SearchProblem, run: RunFolder, front: Front, report: Report, *, as_json: bool) -> int:
    folder, failures = run.path, read_failures(run)
    end = run.read_json(DONE) if run.done else {}
    if as_json:
        more: dict[str, Any] = {key: end[key] for key in ("ended", "restarts") if key in end}
        more |= {"failures": failures} if failures else {}
        print_json({**_result_json(front, report.evaluations, report.wall, folder), **more})
    elif len(front):
        _show(front, problem.objectives, problem.name, rows=12)
        told = f" ({words})" if (words := course(end.get("ended", ""), end.get("restarts", 0))) else ""
        evaluated, found = counted(report.evaluations, "evaluation"), counted(len(front), "design")
        print(f"\n{evaluated} in {report.wall:.2f} s{told}; {found} on the front")
        print(f"front  {folder / 'front.parquet'}")
        if (folder / PLOT).exists():
            print(f"plot   {folder / PLOT}")
    if failures:
        print(
            f"evo-libra: {counted(len(failures), 'design')} could not be evaluated and "
            f"{'counts' if len(failures) == 1 else 'count'} as infeasible, the first because {failures[0]['reason']}; "
            f"{folder / FAILURES} has the list",
            file=sys.stderr,
        )
    if report.ending == "interrupt":
        print(f"evo-libra: interrupted; what was found is kept in {folder}; --resume goes on", file=sys.stderr)
        return _INTERRUPTED
    if not len(front):
        raise InfeasibleError(
            f"no design meets the constraints, of {report.evaluations:,} that were evaluated; "
            "loosen them, or give more --evaluations"
        )
    return 0


def _result_json(front: Front, evaluations: int, wall: float, folder: Path) -> dict[str, Any]:
    return {"front": front.rows(), "evaluations": evaluations, "wall_s": wall, "result": str(folder)}


def front_command(result: Path, rows: int, *, as_json: bool) -> int:
    """Show the front of a result."""
    if rows < 1:
        raise InputError(f"--rows: found {rows}; it must be at least 1")
    folder = RunFolder(result)
    manifest = folder.read_json(MANIFEST)
    front = folder.read_front()
    if as_json:
        print_json(_result_json(front, manifest.get("evaluations", 0), manifest.get("wall_s", 0.0), result))
        return 0
    if not len(front):
        raise InfeasibleError(f"the front of {result} is empty")
    objectives = tuple(Objective(c, c, 1.0, _axis_label(c)) for c in front.objectives)
    _show(front, objectives, str(manifest.get("name", result)), rows=rows)
    state = "done" if folder.done else f"{manifest.get('status', 'unfinished')}, no {DONE}"
    evaluated = counted(manifest.get("evaluations", 0), "evaluation")
    print(f"\n{counted(len(front), 'design')} on the front; {evaluated}; {state}")
    print(f"plot   {result / PLOT}")
    return 0


def _axis_label(column: str) -> str:
    name, _, unit = column.rpartition("_")
    return {"time_ms": "iteration time [ms]", "cost_usd": "network cost [USD]"}.get(column, f"{name} [{unit}]")


def _show(front: Front, objectives: Sequence[Objective], name: str, rows: int) -> None:
    console = Console()
    print(terminal_plot_of(front, objectives, console))
    table = Table(
        title=f"{name}: {min(rows, len(front))} of {counted(len(front), 'design')} on the front", title_justify="left"
    )
    for column in ("id", *front.objectives):
        table.add_column(Text(column), justify="right", no_wrap=True)
    table.add_column("design", overflow="fold")
    for row in front.spread(rows).to_dicts():
        values = [Text(str(row["id"])), *(Text(number(row[column])) for column in front.objectives)]
        table.add_row(*values, Text(short_design(str(row.get("design", "")))))
    console.print(table)


def number(value: float) -> str:
    """Return a figure for reading."""
    return f"{value:,.0f}" if abs(value) >= 1e5 else f"{value:.5g}"  # noqa: PLR2004 - large figures read better whole


def short_design(design: str) -> str:
    """Return the notation with bandwidths to four digits, for reading; files keep them all."""
    network, *options = design.split(" ")
    parts = []
    for part in network.split("_"):
        head, colon, bandwidth = part.partition(":")
        parts.append(f"{head}{colon}{float(bandwidth):.4g}" if colon else part)
    return " ".join(["_".join(parts), *options])


def evaluate_command(name: str, design: str, assignments: Sequence[str], *, as_json: bool) -> int:
    """Evaluate one design and break it down."""
    from evo_libra.front.explain import explain  # noqa: PLC0415 - problems in Python have no such breakdown
    from evo_libra.problem.designs import read_designs, violations  # noqa: PLC0415 - the same
    from evo_libra.problem.problem import Problem  # noqa: PLC0415 - the same

    problem = load_problem(name, assignments)
    if not isinstance(problem, Problem):
        raise InputError(f"'{name}' is no problem file; a problem written in Python evaluates genes, not designs")
    population = read_designs(problem, design)
    worth = problem.evaluate(population)
    broken = violations(problem, population)
    breakdown = explain(problem, population)
    time = sum(entry["weight"] * entry["time_ms"] for entry in breakdown["workloads"])
    cost = sum(entry["cost_usd"] for entry in breakdown["dimensions"])
    figures = {o.column: float(v) / o.scale for o, v in zip(problem.objectives, worth.objectives[:, 0], strict=True)}
    text = str(problem.fabrics(population)[0])
    head = {"design": text, "time_ms": time, "cost_usd": cost, **figures, "feasible": not broken, "violations": broken}
    if as_json:
        print_json({**head, "breakdown": breakdown})
    else:
        others = {o.label: figures[o.column] for o in problem.objectives if o.name not in ("time", "cost")}
        _show_breakdown(head, others, breakdown)
    return _FAILED if broken else 0


def _show_breakdown(head: Mapping[str, Any], others: Mapping[str, float], breakdown: Mapping[str, Any]) -> None:
    console = Console()
    print(f"{short_design(head['design'])}\ntime   {head['time_ms']:.6g} ms\ncost   {head['cost_usd']:,.2f} USD")
    for label, value in others.items():
        print(f"{label}  {number(value)}")
    for sentence in head["violations"]:
        print(f"broken: {sentence}")
    for workload in breakdown["workloads"]:
        _show_times(workload, breakdown["dimensions"], console)
    if "bill" in breakdown:
        _show_bill(breakdown, console)
        return
    table = Table(title=Text("cost by part [USD]"), title_justify="left")
    for column in ("dimension", "GB/s", "link", "switch", "nic", "total"):
        table.add_column(column, justify="left" if column == "dimension" else "right")
    for d in breakdown["dimensions"]:
        label = f"{d['dimension']}: {d['block']}({d['npus']}) @{d['technology']}"
        costs = [f"{d[key]:,.0f}" for key in ("link_usd", "switch_usd", "nic_usd", "cost_usd")]
        table.add_row(*map(Text, [label, f"{d['bandwidth_GBps']:.5g}", *costs]))
    console.print(table)


def _show_times(workload: Mapping[str, Any], dimensions: Sequence[Mapping[str, Any]], console: Console) -> None:
    groups = " ".join(f"{name}={degree}" for name, degree in workload["parallelism"].items())
    print(f"\n{workload['name']} ({groups}): {workload['time_ms']:.6g} ms, {workload['compute_ms']:.6g} of it compute")
    entries = [*workload["collectives"], *workload["messages"]]
    beyond = any("beyond_bandwidth_ms" in entry for entry in entries)
    each = ", and bytes over bandwidth of each" if beyond else " and"
    kinds = "collective and message" if workload["messages"] else "collective"
    title = f"time by {kinds}{each} dimension [ms]; bold is the bottleneck"
    table = Table(title=Text(title), title_justify="left")
    what = "communication" if workload["messages"] else "collectives"
    for column in ("phase", what, "time"):
        table.add_column(column, justify="right" if column == "time" else "left", no_wrap=column == "time")
    for dimension in dimensions:
        table.add_column(f"dim {dimension['dimension']}", justify="right", no_wrap=True)
    for entry in entries:
        slowest = entry["bottleneck_dimension"]
        times = [
            Text(f"{d['time_ms']:.4g}", style="bold" if d["dimension"] == slowest else "") for d in entry["dimensions"]
        ]
        what = f"{entry['count']} send over dim {slowest}"
        if "collective" in entry:
            what = f"{entry['count']} {entry['collective']} ({entry['group']})"
        words = [entry["phase"].replace("_", " "), what, f"{entry['time_ms']:.4g}"]
        table.add_row(*map(Text, words), *times)
    console.print(table)


def _show_bill(breakdown: Mapping[str, Any], console: Console) -> None:
    labels = {
        d["dimension"]: f"{d['dimension']}: {d['block']}({d['npus']}) @{d['technology']}, {d['lanes']} lanes"
        for d in breakdown["dimensions"]
    }
    table = Table(title=Text("bill of materials"), title_justify="left")
    for column in ("part", "pieces", "each [USD]", "cost [USD]", "power [W]"):
        table.add_column(column, justify="left" if column == "part" else "right", no_wrap=column != "part")
    for d, label in labels.items():
        table.add_section()
        table.add_row(Text(label, style="bold"))
        for row in breakdown["bill"]:
            if row["dimension"] == d:
                each = "-" if row["unit_usd"] is None else f"{row['unit_usd']:,.10g}"
                words = [f"  {row['item']} {row['part'] or ''}", f"{row['pieces']:,}", each]
                table.add_row(*map(Text, [*words, f"{row['cost_usd']:,.2f}", f"{row['power_W']:,.1f}"]))
    total = [sum(row[key] for row in breakdown["bill"]) for key in ("cost_usd", "power_W")]
    table.add_section()
    table.add_row("total", "", "", Text(f"{total[0]:,.2f}"), Text(f"{total[1]:,.1f}"))
    console.print(table)
