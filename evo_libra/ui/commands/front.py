"""The front of a result for reading: a plot, a table and how it came about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.table import Table
from rich.text import Text

from evo_libra.errors import InfeasibleError, InputError, counted
from evo_libra.experiment.store.folder import DONE, MANIFEST, PLOT, RunFolder
from evo_libra.front.front import Front
from evo_libra.problem.protocol import Objective
from evo_libra.ui.output import new_console, print_styled
from evo_libra.ui.plots.pictures import terminal_plot_of
from evo_libra.ui.texts import number, print_json, run_folder, short_design, time_unit


def front_command(result: Path, rows: int, *, as_json: bool) -> int:
    """Show the front of a result."""
    if rows < 1:
        raise InputError(f"--rows: found {rows}; it must be at least 1")
    result = run_folder(result)
    folder = RunFolder(result)
    manifest = folder.read_json(MANIFEST)
    front = folder.read_front()
    if as_json:
        print_json(result_json(front, manifest.get("evaluations", 0), manifest.get("wall_s", 0.0), result))
        return 0
    if not len(front):
        raise InfeasibleError(f"the front of {result} is empty")
    objectives = tuple(Objective(c, c, 1.0, _axis_label(c)) for c in front.objectives)
    show_front(front, objectives, str(manifest.get("name", result)), rows=rows)
    state = "done" if folder.done else f"{manifest.get('status', 'unfinished')}, no {DONE}"
    evaluated = counted(manifest.get("evaluations", 0), "evaluation")
    print(f"\n{counted(len(front), 'design')} on the front; {evaluated}; {state}")
    if (result / PLOT).exists():
        print(f"plot   {result / PLOT}")
    return 0


def _axis_label(column: str) -> str:
    name, _, unit = column.rpartition("_")
    return {"time_ms": "iteration time [ms]", "cost_usd": "network cost [USD]"}.get(column, f"{name} [{unit}]")


def result_json(front: Front, evaluations: int, wall: float, folder: Path) -> dict[str, Any]:
    """Return what programs read of a result."""
    return {"front": front.rows(), "evaluations": evaluations, "wall_s": wall, "result": str(folder)}


def show_front(front: Front, objectives: Sequence[Objective], name: str, rows: int) -> None:
    """Print a front as a plot and some of it as a table."""
    console = new_console()
    print_styled(terminal_plot_of(front, objectives, console))
    shown = front.spread(rows)
    title = f"{name}: {len(shown)} of {counted(len(front), 'design')} on the front"
    table = Table(title=Text(title), title_justify="left")
    units = {column: _unit(column, shown[column].to_list()) for column in front.objectives}
    for column in ("id", *(column.removesuffix("ms") + units[column][0] for column in front.objectives)):
        table.add_column(Text(column), justify="right", no_wrap=True)
    table.add_column("design", overflow="fold")
    for row in shown.to_dicts():
        values = [Text(str(row["id"])), *(Text(number(row[column] / units[column][1])) for column in front.objectives)]
        table.add_row(*values, Text(_design(row, front.objectives)))
    console.print(table)


def _unit(column: str, values: Sequence[float]) -> tuple[str, float]:
    """Return the unit of a column of times and what its milliseconds are divided by; of others, no unit and 1."""
    return time_unit(sorted(values)[len(values) // 2]) if column.endswith("_ms") else ("", 1.0)


def _design(row: Mapping[str, Any], objectives: Sequence[str]) -> str:
    """Return what tells a design from others: the notation, or what a problem written in Python says of it."""
    if "design" in row:
        return short_design(str(row["design"]))
    said = {key: value for key, value in row.items() if key != "id" and key not in objectives}
    return ", ".join(f"{key}={number(value) if isinstance(value, float) else value}" for key, value in said.items())
