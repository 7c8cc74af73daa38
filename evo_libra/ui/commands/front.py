"""The front of a result: a plot, a table and how it was found; a part of it, also as a file."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from evo_libra.errors import InfeasibleError, InputError, counted
from evo_libra.explain.labels import label_of
from evo_libra.named_code import trust_files
from evo_libra.quantities import reading_unit
from evo_libra.ui.commands.shared import Flag, FrontRows, Json, RunName, TrustCode, app
from evo_libra.ui.tables.design_table import cells, columns_of, show_designs, write_files
from evo_libra.ui.tables.named_runs import run_folder
from evo_libra.ui.tables.output import new_console, print, print_json, print_styled, print_table

if TYPE_CHECKING:
    import polars as pl

    from evo_libra.experiment.store.folder import RunFolder
    from evo_libra.explain.references import ReferencePoint
    from evo_libra.front.front import Front
    from evo_libra.problem.objectives import Objective
    from evo_libra.ui.tables.answers import Front as Answer

File = Annotated[Path | None, Parameter(allow_leading_hyphen=True)]
_WIDE = 10_000


@app.command
def front(  # noqa: PLR0913 - options of a command
    result: RunName,
    *,
    where: str = "",
    sort: Annotated[str | None, Parameter(allow_leading_hyphen=True)] = None,
    columns: str | None = None,
    families: Flag = False,
    systems: Flag = False,
    wide: Flag = False,
    rows: FrontRows = 12,
    csv: File = None,
    markdown: File = None,
    parquet: File = None,
    trust_code: TrustCode = False,
    as_json: Json = False,
) -> int:
    """Show the front of a result, or a part of it.

    Parameters
    ----------
    where:
        Only designs that fit all words, such as "time<5s order_cost<300MUSD tp>=8 system:gb* #3,7".
    sort:
        A column, such as cost; -cost begins with the largest. The table then has the first rows.
    columns:
        Columns of the table and of files, such as id,time,cost,family; the unit may be left out.
    families:
        List the families instead: designs of one topology, where on the front they are, and how many.
    systems:
        List the networks of each system that can be ordered instead: time, cost of the network, what each row adds.
    wide:
        Print each design in one line, in the notation.
    csv:
        Write all designs that fit to a file; - is standard output.
    markdown:
        The same as a table in Markdown.
    parquet:
        The same as a Parquet file.
    """
    from evo_libra.experiment.store.folder import MANIFEST, RunFolder
    from evo_libra.explain.references import add_references, reference_rows
    from evo_libra.front.selection import chosen, ordered
    from evo_libra.ui.tables.references import show_references

    trust_files(allowed=trust_code)
    folder = RunFolder(run_folder(result))
    if systems:
        return _show_systems(folder, as_json=as_json)
    manifest = folder.read_json(MANIFEST)
    whole = folder.read_front()
    found = chosen(whole, where) if where else whole
    found = ordered(found, sort) if sort else found
    references = folder.read_references()
    if as_json:
        listed = replace(found, frame=columns_of(found, columns)) if columns else found
        answer: Answer = {
            "front": listed.frame, "evaluations": manifest.get("evaluations", 0),
            "wall_s": manifest.get("wall_s", 0.0), "result": str(folder.path),
            "question": manifest.get("question") or whole.noun,
        }  # fmt: skip
        add_references(answer, references, whole)
        if families:
            answer["families"] = _family_rows(found)
        print_json(answer)
        return 0
    if not len(whole):
        raise InfeasibleError(f"the front of {folder.path} is empty")
    if not len(found):
        raise InfeasibleError(f"none of {counted(len(whole), whole.noun)} of {folder.path} fits '{where}'")
    files = {"csv": csv, "markdown": markdown, "parquet": parquet}
    if any(files.values()):
        write_files(columns_of(found, columns), files)
        return 0
    name = str(manifest.get("name", folder.path))
    title = f"{name}: {{}} of {counted(len(whole), whole.noun)} on the front"
    if families:
        _show_families(found, name)
    elif columns:
        _show_columns(columns_of(replace(found, frame=_first(found, rows, sort)), columns), title)
    else:
        _show_part(found, whole, title=title, rows=rows, sort=sort, references=references.points, wide=wide)
        show_references(reference_rows(references.points, whole), whole.objectives, references.absent)
    _show_state(folder, manifest, found, whole)
    return 0


def _show_systems(folder: RunFolder, *, as_json: bool) -> int:
    """Show the networks of each system of a result of orders; an `InputError` says that it has none."""
    from evo_libra.explain.as_json import as_json as plain
    from evo_libra.explain.system_views import views_of
    from evo_libra.ui.tables.named_runs import problem_of_result
    from evo_libra.ui.tables.output import print_folded
    from evo_libra.ui.tables.systems import show_systems

    problem, found = problem_of_result(folder, None, ())[1], folder.read_front()
    views = views_of(problem, found)
    if views is None:
        raise InputError(f"'{problem.name}' asks for a design; systems are listed of a file with `question: order`")
    if as_json:
        answer: Answer = {
            "result": str(folder.path), "question": found.noun, "systems": views.systems, "absent": views.absent,
        }  # fmt: skip
        print_json(plain(answer))
    else:
        show_systems(views.systems, found.objectives[0])
        print_folded(*views.absent)
    return 0


def _show_part(
    found: Front, whole: Front, title: str, rows: int, sort: str | None, references: Sequence[ReferencePoint], *,
    wide: bool,
) -> None:  # fmt: skip
    from evo_libra.pictures.plots.scatter import terminal_plot_of
    from evo_libra.problem.objectives import Objective

    objectives = tuple(Objective(c, c, 1.0, label_of(c)) for c in found.objectives)
    print_styled(terminal_plot_of(found, objectives, new_console(), references))
    shown = _first(found, rows, sort)
    show_designs(whole, shown, title.format(shown.height), wide=wide)


def _show_state(folder: Any, manifest: Any, found: Front, whole: Front) -> None:  # noqa: ANN401 - as commands have it
    from evo_libra.experiment.store.folder import DONE, PLOT

    state = "done" if folder.done else f"{manifest.get('status', 'unfinished')}, no {DONE}"
    evaluated = counted(manifest.get("evaluations", 0), "evaluation")
    part = "" if len(found) == len(whole) else f"{len(found):,} of "
    print(f"\n{part}{counted(len(whole), whole.noun)} on the front; {evaluated}; {state}")
    if (folder.path / PLOT).exists():
        print(f"plot   {folder.path / PLOT}")


def show_front(
    front: Front, objectives: Sequence[Objective], name: str, rows: int, references: Sequence[ReferencePoint] = (),
    named: Collection[int] = (),
) -> None:  # fmt: skip
    """Print a front as a plot, with reference designs, and some of it as a table, the `named` ids among them."""
    from evo_libra.pictures.plots.scatter import terminal_plot_of

    print_styled(terminal_plot_of(front, objectives, new_console(), references))
    shown = front.spread(rows, named)
    show_designs(front, shown, f"{name}: {shown.height} of {counted(len(front), front.noun)} on the front")


def _first(found: Front, rows: int, sort: str | None) -> pl.DataFrame:
    """Return rows of a table: the first ones of an order that is asked for, or some that are spread along the front."""
    return found.frame.head(rows) if sort else found.spread(rows)


def _show_columns(frame: pl.DataFrame, title: str) -> None:
    texts = [name for name in frame.columns if not frame[name].dtype.is_numeric()]
    print_table(title.format(frame.height), frame.columns, cells(frame), left=texts, min_width=_WIDE)


def _family_rows(found: Front) -> list[dict[str, Any]]:
    from evo_libra.front.families import family_rows

    return family_rows(found)


def _show_families(found: Front, name: str) -> None:
    rows = _family_rows(found)
    columns = found.objectives
    units = {column: reading_unit(column, found.frame[column].to_list()) for column in columns}
    shape = "system" if found.noun == "order" else "network"
    kinds = counted(len(rows), *(("system",) if found.noun == "order" else ("topology", "topologies")))
    print_table(
        f"{name}: {kinds} of {counted(len(found), found.noun)} on the front",
        (shape, f"{found.noun}s", "ids", *(_head(column, unit) for column, (unit, _) in units.items())),
        [
            [
                row["family"], f"{row['designs']:,}", _range(str(row["first_id"]), str(row["last_id"])),
                *(_range(*(f"{row[f'{end}_{c}'] / units[c][1]:.5g}" for end in ("min", "max"))) for c in columns),
            ]
            for row in rows
        ],
        left=(shape,), min_width=_MIN_WIDTH,
    )  # fmt: skip


_MIN_WIDTH = 100
"""Columns in which names and ranges are whole."""


def _head(column: str, unit: str) -> str:
    return f"{column.rpartition('_')[0] or column} [{unit}]" if unit else column


def _range(low: str, high: str) -> str:
    return low if low == high else f"{low} - {high}"
