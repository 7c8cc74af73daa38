"""What the commands do: call the other rooms, print what comes back."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from evo_libra.errors import InfeasibleError, InputError
from evo_libra.experiment.runner import Outcome, mark_done, run_search
from evo_libra.experiment.store import DONE, MANIFEST, PLOT, RunFolder
from evo_libra.front.front import Front
from evo_libra.front.indicators import hypervolume
from evo_libra.model.arrays import GIGA, NANO
from evo_libra.problem.protocol import Objective, SearchProblem
from evo_libra.problem.registry import load_problem, problem_names
from evo_libra.search.engine import ENGINES
from evo_libra.search.run import Snapshot
from evo_libra.ui.pictures import figure_of, terminal_plot_of

_INTERRUPTED, _FAILED = 130, 1
_REFRESH_SECONDS = 0.25


def print_json(data: Mapping[str, Any]) -> None:
    """Print one JSON object to standard output."""
    print(json.dumps(data, allow_nan=False))


def search_command(
    name: str, options: Mapping[str, Any], results: Path, assignments: Sequence[str], *, resume: bool, as_json: bool
) -> int:
    """Search, keep the result, show the front."""
    problem = load_problem(name, assignments)
    settings = {key: getattr(problem.settings, key) if value is None else value for key, value in options.items()}
    for key, least in (("evaluations", 1), ("population", 4), ("seed", 0)):
        if not least <= settings[key] < 2**63:
            raise InputError(f"--{key}: found {settings[key]}; it must be at least {least}")
    messages = Console(stderr=True)
    with Progress(
        SpinnerColumn(), TimeRemainingColumn(compact=True), TextColumn("{task.description}{task.fields[figures]}"),
        console=messages, transient=True, disable=not messages.is_terminal,
    ) as progress:  # fmt: skip
        watch = _Watch(progress, problem, settings["evaluations"])
        outcome = run_search(
            problem,
            engine=settings["engine"],
            population=settings["population"],
            evaluations=settings["evaluations"],
            seed=settings["seed"],
            results=results,
            resume=resume,
            source={"problem": str(Path(name).resolve()) if Path(name).is_file() else name, "set": list(assignments)},
            on_generation=watch,
        )
    if len(outcome.front):
        outcome.folder.write(PLOT, lambda path: figure_of(outcome.front, problem.objectives, problem.name, path))
    if not outcome.interrupted:
        mark_done(outcome)
    return _report(problem, outcome, as_json=as_json)


class _Watch:
    """Shows evaluations, rate, size of the front and hypervolume while a search runs."""

    def __init__(self, progress: Progress, problem: SearchProblem, evaluations: int) -> None:
        self.progress, self.last = progress, -math.inf
        self.bounds: tuple[Any, Any] | None = None
        self.task = progress.add_task(problem.name, total=evaluations, figures="")

    def __call__(self, snapshot: Snapshot, seconds: float) -> None:
        if seconds - self.last < _REFRESH_SECONDS or self.progress.disable:
            return
        self.last = seconds
        volume = ""
        if len(snapshot.archive):
            objectives = snapshot.archive.objectives
            # Scaled by the first front, so that the figure only ever grows.
            self.bounds = self.bounds or (objectives.min(axis=1), objectives.max(axis=1))
            volume = f"  hypervolume {hypervolume(objectives, *self.bounds):.4f}"
        figures = f"  {snapshot.evaluations:,} designs  {snapshot.evaluations / max(seconds, 1e-9):,.0f}/s"
        figures += f"  front {len(snapshot.archive):,}{volume}"
        self.progress.update(self.task, completed=snapshot.evaluations, figures=figures)


def _report(problem: SearchProblem, outcome: Outcome, *, as_json: bool) -> int:
    front, folder = outcome.front, outcome.folder.path
    if as_json:
        print_json(_result_json(front, outcome.evaluations, outcome.wall, folder))
    elif len(front):
        _show(front, problem.objectives, problem.name, rows=12)
        print(f"\n{outcome.evaluations:,} evaluations in {outcome.wall:.2f} s; {len(front):,} designs on the front")
        print(f"front  {folder / 'front.parquet'}\nplot   {folder / PLOT}")
    if outcome.interrupted:
        print(f"evo-libra: interrupted; what was found is kept in {folder}; --resume goes on", file=sys.stderr)
        return _INTERRUPTED
    if not len(front):
        raise InfeasibleError(
            f"none of the {outcome.evaluations:,} designs that were evaluated meets the constraints; "
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
    print(f"\n{len(front):,} designs on the front; {manifest.get('evaluations', 0):,} evaluations; {state}")
    print(f"plot   {result / PLOT}")
    return 0


def _axis_label(column: str) -> str:
    name, _, unit = column.rpartition("_")
    return {"time_ms": "iteration time [ms]", "cost_usd": "network cost [USD]"}.get(column, f"{name} [{unit}]")


def _show(front: Front, objectives: Sequence[Objective], name: str, rows: int) -> None:
    console = Console()
    print(terminal_plot_of(front, objectives, console))
    table = Table(title=f"{name}: {min(rows, len(front))} of {len(front):,} designs on the front", title_justify="left")
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
        _show_breakdown(head, breakdown)
    return _FAILED if broken else 0


def _show_breakdown(head: Mapping[str, Any], breakdown: Mapping[str, Any]) -> None:
    console = Console()
    print(f"{short_design(head['design'])}\ntime   {head['time_ms']:.6g} ms\ncost   {head['cost_usd']:,.0f} USD")
    for sentence in head["violations"]:
        print(f"broken: {sentence}")
    for workload in breakdown["workloads"]:
        groups = " ".join(f"{name}={degree}" for name, degree in workload["parallelism"].items())
        print(
            f"\n{workload['name']} ({groups}): {workload['time_ms']:.6g} ms, {workload['compute_ms']:.6g} of it compute"
        )
        entries = [*workload["collectives"], *workload["messages"]]
        beyond = any("beyond_bandwidth_ms" in entry for entry in entries)
        dimensions = ", and bytes over bandwidth of each" if beyond else " and"
        kinds = "collective and message" if workload["messages"] else "collective"
        title = f"time by {kinds}{dimensions} dimension [ms]; bold is the bottleneck"
        table = Table(title=Text(title), title_justify="left")
        what = "communication" if workload["messages"] else "collectives"
        for column in ("phase", what, "time"):
            table.add_column(column, justify="right" if column == "time" else "left", no_wrap=True)
        for dimension in breakdown["dimensions"]:
            table.add_column(f"dim {dimension['dimension']}", justify="right", no_wrap=True)
        for entry in entries:
            slowest = entry["bottleneck_dimension"]
            times = [
                Text(f"{d['time_ms']:.4g}", style="bold" if d["dimension"] == slowest else "")
                for d in entry["dimensions"]
            ]
            what = f"{entry['count']} send over dim {slowest}"
            if "collective" in entry:
                what = f"{entry['count']} {entry['collective']} ({entry['group']})"
            words = [entry["phase"].replace("_", " "), what, f"{entry['time_ms']:.4g}"]
            table.add_row(*map(Text, words), *times)
        console.print(table)
    table = Table(title=Text("cost by part [USD]"), title_justify="left")
    for column in ("dimension", "GB/s", "link", "switch", "nic", "total"):
        table.add_column(column, justify="left" if column == "dimension" else "right")
    for d in breakdown["dimensions"]:
        label = f"{d['dimension']}: {d['block']}({d['npus']}) @{d['technology']}"
        costs = [f"{d[key]:,.0f}" for key in ("link_usd", "switch_usd", "nic_usd", "cost_usd")]
        table.add_row(*map(Text, [label, f"{d['bandwidth_GBps']:.5g}", *costs]))
    console.print(table)


def catalog_command(name: str | None, *, as_json: bool) -> int:
    """List catalogues, models, problems and engines."""
    from evo_libra.model.catalog import catalog_names, load_catalog, load_models  # noqa: PLC0415 - reads YAML

    catalogs = [load_catalog(each) for each in ([name] if name else catalog_names())]
    data: dict[str, Any] = {
        "catalogs": {
            catalog.name: {
                "source": " ".join(catalog.source.split()),
                "technologies": {t.name: _technology_json(t) for t in catalog.technologies},
            }
            for catalog in catalogs
        }
    }
    if name is None:
        models = {key: model.model_dump(mode="json") for key, model in load_models().items()}
        data |= {"models": models, "problems": problem_names(), "engines": list(ENGINES)}
    if as_json:
        print_json(data)
    else:
        _show_catalog(data)
    return 0


def _technology_json(technology: Any) -> dict[str, Any]:  # noqa: ANN401 - a Technology, imported late
    def per_gigabyte(value: float | None) -> float | None:
        # Twelve digits, so that the price reads as it was written.
        return None if value is None else float(f"{value * GIGA:.12g}")

    return {
        "link_usd_per_GBps": per_gigabyte(technology.link),
        "switch_usd_per_GBps": per_gigabyte(technology.switch),
        "nic_usd_per_GBps": per_gigabyte(technology.nic),
        "largest_dimension": technology.largest_dimension,
        "bandwidth_cap_GBps": None if technology.bandwidth_cap is None else technology.bandwidth_cap / GIGA,
        "latency_ns": None if technology.latency is None else technology.latency / NANO,
        "blocks": list(technology.blocks),
    }


def _show_catalog(data: Mapping[str, Any]) -> None:
    console = Console()
    for name, catalog in data["catalogs"].items():
        table = Table(
            title=f"catalogue {name}", title_justify="left", caption=Text(catalog["source"]), caption_justify="left"
        )
        table.add_column("technology")
        prices = [f"{part}\nUSD/(GB/s)" for part in ("link", "switch", "NIC")]
        for column in (*prices, "largest\ndimension", "cap\nGB/s", "latency\nns"):
            table.add_column(Text(column), justify="right")
        table.add_column("blocks")
        for technology, figures in catalog["technologies"].items():
            cells = ["-" if value is None else f"{value:.9g}" for key, value in figures.items() if key != "blocks"]
            table.add_row(*map(Text, [technology, *cells, ", ".join(figures["blocks"])]))
        console.print(table)
    for key in ("models", "problems", "engines"):
        if key in data:
            print(f"{key:9s} {', '.join(data[key])}")
