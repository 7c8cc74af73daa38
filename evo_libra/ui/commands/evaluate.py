"""One design: its time and cost, and what both are made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from evo_libra.errors import InputError
from evo_libra.ui.commands.named_runs import design_of, run_folder
from evo_libra.ui.commands.shared import Assignments, Json, app
from evo_libra.ui.output import new_console
from evo_libra.ui.texts import (
    number,
    print_folded,
    print_json,
    short_design,
    show_warnings,
    size_of_iteration,
    time_text,
    time_unit,
)

if TYPE_CHECKING:
    from rich.console import Console

    from evo_libra.problem.protocol import SearchProblem


@app.command
def evaluate(
    problem: str,
    *,
    design: str | None = None,
    number: Annotated[int | None, Parameter(name="id")] = None,
    assignments: Assignments = (),
    as_json: Json = False,
) -> int:
    """Evaluate one design: its time and cost, and where they come from.

    Parameters
    ----------
    problem:
        Path of a problem file, or name of a problem; with --id the folder of a run.
    design:
        The design, such as "RI(4)@chiplet:250_FC(8)@package:125_RI(4)@node:60_SW(32)@pod:20" (GB/s per NPU).
    number:
        Instead of --design, the design's id in the front of that run.
    assignments:
        KEY=VALUE, replaces a value of the problem file; may be repeated.
    as_json:
        Print one JSON object and nothing else.
    """
    from evo_libra.front.explain import explain
    from evo_libra.problem.designs import violations
    from evo_libra.problem.file.registry import load_problem
    from evo_libra.problem.problem import Problem
    from evo_libra.problem.quirks import warnings_of

    if design is not None and number is not None:
        raise InputError("--design and --id both name a design; give one of the two")
    if number is not None:
        loaded, design = _of_result(problem, number, assignments)
    elif design is not None:
        loaded = load_problem(problem, assignments)
    else:
        raise InputError("a design is needed: --design of a problem, or --id of a design in the front of a result")
    if not isinstance(loaded, Problem):
        raise InputError(f"'{problem}' is no problem file; a problem written in Python evaluates genes, not designs")
    population = loaded.read(design)
    values = loaded.evaluate(population).objectives[:, 0]
    broken = violations(loaded, population)
    breakdown = explain(loaded, population)
    time = sum(entry["weight"] * entry["time_ms"] for entry in breakdown["workloads"])
    cost = sum(entry["cost_usd"] for entry in breakdown["dimensions"])
    figures = {o.column: float(v) / o.scale for o, v in zip(loaded.objectives, values, strict=True)}
    text = str(loaded.fabrics(population)[0])
    head = {"design": text, "time_ms": time, "cost_usd": cost, **figures, "feasible": not broken, "violations": broken}
    warnings = warnings_of(loaded, population)
    if as_json:
        print_json({**head, "warnings": [warned.json() for warned in warnings], "breakdown": breakdown})
    else:
        others = {o.label: figures[o.column] for o in loaded.objectives if o.name not in ("time", "cost")}
        _show_breakdown(head, others, breakdown)
        show_warnings(warnings)
    return _FAILED if broken else 0


_FAILED = 1


def _of_result(name: str, number_: int, assignments: Sequence[str]) -> tuple[SearchProblem, str]:
    """Return the problem of a result as its run built it, wherever its file is by now, and a design of its front."""
    from evo_libra.experiment.run.spec import problem_as_run
    from evo_libra.experiment.store.folder import RunFolder

    if assignments:
        raise InputError("--set belongs to --design; a design of a result is evaluated as its run did")
    result = RunFolder(run_folder(name))
    return problem_as_run(result), design_of(result, number_)


def _show_breakdown(head: Mapping[str, Any], others: Mapping[str, float], breakdown: Mapping[str, Any]) -> None:
    from rich.table import Table
    from rich.text import Text

    console = new_console()
    print(f"{short_design(head['design'])}\ntime   {time_text(head['time_ms'])}\ncost   {head['cost_usd']:,.2f} USD")
    for label, value in others.items():
        print(f"{label}  {number(value)}")
    for sentence in head["violations"]:
        print(f"broken: {sentence}")
    for workload in breakdown["workloads"]:
        _show_times(workload, breakdown["dimensions"], console)
    if "bill" in breakdown:
        _show_bill(breakdown, console)
        return
    if "ports" in breakdown["dimensions"][0]:
        _show_fractions(breakdown, console)
        return
    table = Table(title=Text("cost by part [USD]"), title_justify="left")
    for column in ("dimension", "GB/s", "link", "switch", "nic", "total"):
        table.add_column(column, justify="left" if column == "dimension" else "right")
    for d in breakdown["dimensions"]:
        label = f"{d['dimension']}: {d['block']}({d['npus']}) @{d['technology']}"
        costs = [f"{d[key]:,.0f}" for key in ("link_usd", "switch_usd", "nic_usd", "cost_usd")]
        table.add_row(*map(Text, [label, f"{d['bandwidth_GBps']:.5g}", *costs]))
    console.print(table)


def _show_fractions(breakdown: Mapping[str, Any], console: Console) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(title=Text("parts in any fraction; whole ones cost no less"), title_justify="left")
    for column in ("dimension", "GB/s", "ports", "cost [USD]", "power [W]"):
        table.add_column(column, justify="left" if column == "dimension" else "right")
    for d in breakdown["dimensions"]:
        label = f"{d['dimension']}: {d['block']}({d['npus']}) @{d['technology']}"
        figures = [f"{d['bandwidth_GBps']:.5g}", f"{d['ports']:.5g}", f"{d['cost_usd']:,.2f}", f"{d['power_W']:,.1f}"]
        table.add_row(*map(Text, [label, *figures]))
    console.print(table)


def _show_times(workload: Mapping[str, Any], dimensions: Sequence[Mapping[str, Any]], console: Console) -> None:
    from rich.table import Table
    from rich.text import Text

    groups = " ".join(f"{name}={degree}" for name, degree in workload["parallelism"].items())
    whole, compute = time_text(workload["time_ms"]), time_text(workload["compute_ms"])
    print(f"\n{workload['name']} ({groups}): {whole}, {compute} of it compute")
    if size_said := size_of_iteration(workload):
        print_folded(size_said)
    entries = [*workload["collectives"], *workload["messages"]]
    beyond = any("beyond_bandwidth_ms" in entry for entry in entries)
    ratio = ", and bytes over bandwidth of each" if beyond else " and"
    kinds = "collective and message" if workload["messages"] else "collective"
    unit, size = time_unit(max((entry["time_ms"] for entry in entries), default=1.0))
    title = f"time by {kinds}{ratio} dimension [{unit}]; bold is the bottleneck"
    table = Table(title=Text(title), title_justify="left")
    what = "communication" if workload["messages"] else "collectives"
    for column in ("phase", what, "time"):
        table.add_column(column, justify="right" if column == "time" else "left", no_wrap=column == "time")
    for dimension in dimensions:
        table.add_column(f"dim {dimension['dimension']}", justify="right", no_wrap=True)
    for entry in entries:
        slowest = entry["bottleneck_dimension"]
        figures = [(f"{d['time_ms'] / size:.4g}", d["dimension"] == slowest) for d in entry["dimensions"]]
        times = [Text(text, style="bold" if is_slowest else "") for text, is_slowest in figures]
        what = f"{entry['count']} send over dim {slowest}"
        if "collective" in entry:
            what = f"{entry['count']} {entry['collective']} ({entry['group']})"
        words = [entry["phase"].replace("_", " "), what, f"{entry['time_ms'] / size:.4g}"]
        table.add_row(*map(Text, words), *times)
    console.print(table)


def _show_bill(breakdown: Mapping[str, Any], console: Console) -> None:
    from rich.table import Table
    from rich.text import Text

    labels = {
        d["dimension"]: f"{d['dimension']}: {d['block']}({d['npus']}) @{d['technology']}, {d['ports']} ports"
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
