"""The front of a result: a plot, a table and how it was found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evo_libra.errors import InfeasibleError, counted
from evo_libra.ui.commands.named_runs import run_folder
from evo_libra.ui.commands.shared import FrontRows, Json, RunName, app
from evo_libra.ui.output import (
    label_of,
    new_console,
    number,
    print_json,
    print_styled,
    print_table,
    short_design,
    time_unit,
)

if TYPE_CHECKING:
    from evo_libra.front.front import Front
    from evo_libra.front.references import ReferencePoint
    from evo_libra.problem.objectives import Objective


@app.command
def front(result: RunName, *, rows: FrontRows = 12, as_json: Json = False) -> int:
    """Show the front of a result."""
    from evo_libra.experiment.store.folder import DONE, MANIFEST, PLOT, RunFolder
    from evo_libra.problem.objectives import Objective

    folder = RunFolder(run_folder(result))
    manifest = folder.read_json(MANIFEST)
    found = folder.read_front()
    if as_json:
        print_json(result_json(found, manifest.get("evaluations", 0), manifest.get("wall_s", 0.0), folder.path))
        return 0
    if not len(found):
        raise InfeasibleError(f"the front of {folder.path} is empty")
    objectives = tuple(Objective(c, c, 1.0, label_of(c)) for c in found.objectives)
    show_front(found, objectives, str(manifest.get("name", folder.path)), rows=rows)
    state = "done" if folder.done else f"{manifest.get('status', 'unfinished')}, no {DONE}"
    evaluated = counted(manifest.get("evaluations", 0), "evaluation")
    print(f"\n{counted(len(found), 'design')} on the front; {evaluated}; {state}")
    if (folder.path / PLOT).exists():
        print(f"plot   {folder.path / PLOT}")
    return 0


def result_json(front: Front, evaluations: int, wall: float, folder: Path) -> dict[str, Any]:
    """Return what programs read of a result."""
    return {"front": front.rows(), "evaluations": evaluations, "wall_s": wall, "result": str(folder)}


def show_front(
    front: Front, objectives: Sequence[Objective], name: str, rows: int, references: Sequence[ReferencePoint] = ()
) -> None:
    """Print a front as a plot, with reference designs, and some of it as a table."""
    from evo_libra.ui.plots.scatter import terminal_plot_of

    print_styled(terminal_plot_of(front, objectives, new_console(), references))
    shown = front.spread(rows)
    units = {column: _unit(column, shown[column].to_list()) for column in front.objectives}
    print_table(
        f"{name}: {len(shown)} of {counted(len(front), 'design')} on the front",
        ("id", *(column.removesuffix("ms") + unit for column, (unit, _) in units.items()), "design"),
        [
            [
                str(row["id"]),
                *(number(row[column] / size) for column, (_, size) in units.items()),
                _design(row, front.objectives),
            ]
            for row in shown.to_dicts()
        ],
        fold=("design",),
    )


def _unit(column: str, values: Sequence[float]) -> tuple[str, float]:
    """Return the unit of a column of times and what its milliseconds are divided by; of others, no unit and 1."""
    return time_unit(sorted(values)[len(values) // 2]) if column.endswith("_ms") else ("", 1.0)


def _design(row: Mapping[str, Any], objectives: Sequence[str]) -> str:
    """Return what tells a design from others: the notation, or what a problem written in Python says of it."""
    if "design" in row:
        return short_design(str(row["design"]))
    others = {key: value for key, value in row.items() if key != "id" and key not in objectives}
    return ", ".join(f"{key}={number(value) if isinstance(value, float) else value}" for key, value in others.items())
