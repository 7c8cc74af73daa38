"""The command that puts fronts beside each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import numpy as np
from rich.table import Table
from rich.text import Text

from evo_libra.errors import InputError
from evo_libra.experiment.catalogue import Catalogue, read_front
from evo_libra.experiment.comparison import LEVELS, Comparison, compare
from evo_libra.experiment.filters import is_filter
from evo_libra.experiment.record import RunInfo
from evo_libra.experiment.store import MANIFEST
from evo_libra.model.arrays import FloatArray
from evo_libra.ui.axes import Series
from evo_libra.ui.folder import folder_at
from evo_libra.ui.output import new_console, print_styled
from evo_libra.ui.pictures import terminal_scatter
from evo_libra.ui.texts import print_json

_MOST_SERIES = 8
_CELL = 10
_EACH = "over seeds; hypervolume and epsilon against all runs together"
_EPSILON = "epsilon: factor by which a row would have to be better to dominate a column"
_COVERAGE = "coverage: share of a column's designs that a row dominates"
_SUFFIXES = (".png", ".pdf", ".svg")


def compare_command(names: Sequence[str], results: Path, figure: Path | None, *, as_json: bool) -> int:
    """Compare the fronts of runs."""
    if figure is not None and figure.suffix.lower() not in _SUFFIXES:
        raise InputError(f"--figure: found {figure}; allowed endings: {', '.join(_SUFFIXES)}")
    groups = _grouped(_chosen(names, results))
    fronts = {name: [read_front(run) for run in runs] for name, runs in groups.items()}
    objectives = sorted({front.objectives for group in fronts.values() for front in group})
    if len(objectives) != 1:
        several = "; ".join(", ".join(one) for one in objectives)
        raise InputError(f"runs of the same objectives can be compared; found: {several}")
    columns = objectives[0]
    values = {name: [front.frame.select(columns).to_numpy().T for front in group] for name, group in fronts.items()}
    found = compare(columns, values)
    if figure is not None:
        _draw(found, values, figure)
    if as_json:
        print_json(_as_json(found, groups))
    else:
        _show(found, values)
        if figure is not None:
            print(f"plot   {figure}")
    return 0


def _chosen(names: Sequence[str], results: Path) -> list[RunInfo]:
    """Return the runs that are named by paths, ids or parts of ids, and those that fit all of the filters there are."""
    catalogues: dict[Path, Catalogue] = {}

    def catalogue(folder: Path) -> Catalogue:
        return catalogues.setdefault(folder, Catalogue.open(folder))

    runs: list[RunInfo] = []
    filters = [name for name in names if not (Path(name) / MANIFEST).is_file() and is_filter(name)]
    if filters:
        runs += catalogue(results).runs(" ".join([*filters, "status:done,stale"]))
        if not runs:
            raise InputError(f"no run that is done fits '{' '.join(filters)}'")
    for name in names:
        if name not in filters:
            path = folder_at(name)
            runs.append(catalogue(results if path is None else path.resolve().parents[1]).find(str(path or name)))
    found = {run.folder.resolve(): run for run in runs}
    for one in catalogues.values():
        one.close()
    if len(found) < 2:  # noqa: PLR2004 - one run has nothing to be compared with
        raise InputError(f"two runs or more are needed; found {len(found)}")
    return list(found.values())


def _grouped(runs: Sequence[RunInfo]) -> dict[str, list[RunInfo]]:
    """Return runs by what they search and how, the seed aside, under names that tell the groups apart."""
    groups: dict[str, list[RunInfo]] = {}
    for run in runs:
        groups.setdefault(run.hash or run.id, []).append(run)
    firsts = [group[0] for group in groups.values()]
    names = [_name(run, firsts) for run in firsts]
    twice = {name for name in names if names.count(name) > 1}
    keys = [f"{name} {run.hash[:8]}" if name in twice else name for name, run in zip(names, firsts, strict=True)]
    return dict(zip(keys, groups.values(), strict=True))


def _name(run: RunInfo, others: Sequence[RunInfo]) -> str:
    """Return what tells a group from the others."""
    facts = {
        "problem": run.problem,
        "name": run.name,
        "engine": run.engine,
        "population": f"population {run.population:,}",
        "budget": f"{run.budget:,} evaluations",
    }
    parts = [text for field, text in facts.items() if text and len({getattr(one, field) for one in others}) > 1]
    return ", ".join(parts) or run.engine


def _as_json(found: Comparison, groups: Mapping[str, Sequence[RunInfo]]) -> dict[str, Any]:
    return {
        "objectives": list(found.objectives),
        "ideal": found.ideal.tolist(),
        "nadir": found.nadir.tolist(),
        "groups": {
            name: {
                "runs": [
                    {
                        "id": run.id, "seed": run.seed, "hypervolume": one.hypervolume, "epsilon": one.epsilon,
                        "designs": one.designs,
                    }
                    for run, one in zip(groups[name], measured, strict=True)
                ],
                "attainment": {
                    str(level): corners.T.tolist() for level, corners in found.attainment.get(name, {}).items()
                },
            }
            for name, measured in found.runs.items()
        },
        "epsilon": [{"of": a, "to": b, "value": value} for (a, b), value in found.epsilon.items()],
        "coverage": [{"of": a, "to": b, "value": value} for (a, b), value in found.coverage.items()],
    }  # fmt: skip


def _show(found: Comparison, values: Mapping[str, Sequence[FloatArray]]) -> None:
    console = new_console()
    series = _series(found, values)
    print_styled(terminal_scatter(series, _label(found.objectives, 1), _label(found.objectives, 0), console))
    for index, name in enumerate(found.runs):
        print(f"{_letter(index)}  {name}" + ("" if index < _MOST_SERIES else "  (not drawn)"))
    if len(found.runs) > _MOST_SERIES:
        print(f"A plot has room for {_MOST_SERIES}; name fewer runs to see the others.")
    table = Table(title=_EACH, title_justify="left")
    for column in ("", "runs", "designs", "hypervolume", "+-", "best", "epsilon", "best"):
        table.add_column(column, justify="right", no_wrap=True)
    for index, runs in enumerate(found.runs.values()):
        volumes, factors = [run.hypervolume for run in runs], [run.epsilon for run in runs]
        spread = f"{stdev(volumes):.4f}" if len(runs) > 1 else ""
        cells = [
            _letter(index), str(len(runs)), f"{mean(run.designs for run in runs):,.0f}", f"{mean(volumes):.4f}",
            spread, f"{max(volumes):.4f}", f"{mean(factors):.4f}", f"{min(factors):.4f}",
        ]  # fmt: skip
        table.add_row(*map(Text, cells))
    console.print(table)
    if len(found.runs) > 1:
        _matrix(_EPSILON, found.runs, found.epsilon)
        _matrix(_COVERAGE, found.runs, found.coverage)


def _matrix(title: str, names: Mapping[str, object], values: Mapping[tuple[str, str], float]) -> None:
    table = Table(title=title, title_justify="left")
    table.add_column("")
    for index in range(len(names)):
        table.add_column(_letter(index), justify="right", no_wrap=True)
    for index, one in enumerate(names):
        cells = ["" if one == other else f"{values[one, other]:.4f}" for other in names]
        table.add_row(_letter(index), *cells)
    # Figures that are cut off tell nothing; a terminal that is too narrow folds the lines.
    console = new_console()
    new_console(width=max(console.width, _CELL * (len(names) + 1))).print(table)


def _letter(index: int) -> str:
    """Return a short name of a group.

    >>> _letter(0), _letter(27)
    ('A', 'B1')
    """
    turn, place = divmod(index, 26)
    return chr(ord("A") + place) + (str(turn) if turn else "")


def _series(found: Comparison, values: Mapping[str, Sequence[FloatArray]]) -> list[Series]:
    """Return what a plot shows of each group: what half of its runs attain, or all that they found."""
    series = []
    for index, name in enumerate(list(found.runs)[:_MOST_SERIES]):
        surfaces = found.attainment.get(name)
        many = len(values[name]) > 1
        points = surfaces[LEVELS[1]] if surfaces and many else np.concatenate(values[name], axis=1)
        label = f"{_letter(index)} {name}" + (", attained by half of the runs" if surfaces and many else "")
        series.append(Series(points[min(1, len(points) - 1)], points[0], label))
    return series


def _draw(found: Comparison, values: Mapping[str, Sequence[FloatArray]], path: Path) -> None:
    from evo_libra.ui.figure import front_figure  # noqa: PLC0415 - Matplotlib takes a third of a second

    try:
        front_figure(
            _series(found, values), x_label=_label(found.objectives, 1), y_label=_label(found.objectives, 0), title="",
            log_x=True, log_y=True, path=path,
        )  # fmt: skip
    except OSError as error:
        raise InputError(f"{path} cannot be written: {(error.strerror or '').lower()}") from None


def _label(objectives: Sequence[str], index: int) -> str:
    column = objectives[min(index, len(objectives) - 1)]
    name, _, unit = column.rpartition("_")
    return {"time_ms": "iteration time [ms]", "cost_usd": "network cost [USD]"}.get(column, f"{name} [{unit}]")
