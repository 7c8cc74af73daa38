"""Fronts of runs beside each other."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, stdev
from typing import TYPE_CHECKING, Any

from evo_libra.errors import InputError
from evo_libra.ui.commands.named_runs import DEFAULT, folder_at
from evo_libra.ui.commands.shared import Json, Out, app
from evo_libra.ui.output import new_console, print_styled
from evo_libra.ui.texts import (
    label_of,
    print_folded,
    print_json,
)

if TYPE_CHECKING:
    from evo_libra.arrays import FloatArray
    from evo_libra.experiment.results.catalogue import Catalogue
    from evo_libra.experiment.results.comparison import Comparison, Subject
    from evo_libra.experiment.run.record import RunRecord
    from evo_libra.front.front import Front
    from evo_libra.ui.plots.axes import Series


_MOST_SERIES = 8
_MOST_KEYS = 5
_CELL = 10
_EACH = "over seeds; hypervolume and epsilon against all runs together"
_EPSILON = "epsilon: factor by which a row would have to be better to dominate a column"
_COVERAGE = "coverage: share of a column's designs that a row dominates"
_SUFFIXES = (".png", ".pdf", ".svg")


@app.command
def compare(*runs: str, results: Out = DEFAULT, figure: Path | None = None, as_json: Json = False) -> int:
    """Compare the fronts of runs; runs that differ only in their seeds form a group.

    Parameters
    ----------
    runs:
        Folders of runs, parts of their names, or filters such as experiment:mine engine:nsga2, which must all fit.
    results:
        Folder of results.
    figure:
        A file to draw the fronts to (.png, .pdf or .svg).
    as_json:
        Print one JSON object and nothing else.
    """
    if figure is not None and figure.suffix.lower() not in _SUFFIXES:
        raise InputError(f"--figure: found {figure}; allowed endings: {', '.join(_SUFFIXES)}")
    problems = _problems(_chosen(runs, results))
    if figure is not None and len(problems) > 1:
        raise InputError(f"--figure: {_unlike(problems)}; name the runs of one of them")
    found = [problem.compared() for problem in problems]
    if figure is not None:
        _draw(found[0], problems[0].values, figure)
    if as_json:
        pairs = zip(problems, found, strict=True)
        print_json({"problems": [_as_json(problem, comparison) for problem, comparison in pairs]})
        return 0
    if len(problems) > 1:
        print_folded(f"{_unlike(problems)}; each is shown alone.")
    for problem, comparison in zip(problems, found, strict=True):
        if len(problems) > 1:
            print(f"\n{problem.name}")
        _show(comparison, problem.values, problem.rates)
        if problem.note:
            print_folded(problem.note)
    if figure is not None:
        print(f"plot   {figure}")
    return 0


@dataclass(frozen=True)
class _Problem:
    """Runs that are ranked against one another.

    Attributes
    ----------
    name : of their problem.
    identity : that of the first run.
    objectives : columns.
    groups : runs that differ in their seeds alone, by what tells them from others.
    values : (m, k) objectives of the fronts of each group.
    note : what is said of the work of an iteration; empty where it is the same for all.
    rates : the most sequences a second of each group; empty where the work is the same for all, or not known.
    """

    name: str
    identity: Mapping[str, Any]
    objectives: tuple[str, ...]
    groups: Mapping[str, Sequence[RunRecord]]
    values: Mapping[str, Sequence[FloatArray]]
    note: str
    rates: Mapping[str, float]

    def compared(self) -> Comparison:
        """Return the groups beside each other."""
        from evo_libra.experiment.results.comparison import compare

        return compare(self.objectives, self.values)


def _problems(runs: Sequence[RunRecord]) -> list[_Problem]:
    """Return runs by what they may be ranked against."""
    from evo_libra.experiment.results.comparison import Subject, by_problem
    from evo_libra.experiment.store.folder import RunFolder

    subjects = [Subject.of_run(RunFolder(run.folder)) for run in runs]
    alike = by_problem(subjects)
    found = [_problem([runs[at] for at in places], [subjects[at] for at in places]) for places in alike]
    if len(found) > 1 and len(found) == len(runs):
        raise InputError(f"{_unlike(found)}; two runs or more of one problem are needed")
    return found


def _problem(runs: Sequence[RunRecord], subjects: Sequence[Subject]) -> _Problem:
    from evo_libra.experiment.results.catalogue import read_front
    from evo_libra.experiment.results.comparison import PER_ITERATION, sequences
    from evo_libra.problem.protocol import TIME

    columns, work = subjects[0].objectives, sequences(subjects)
    groups = _grouped(runs)
    works = dict(zip((run.id for run in runs), work or [1.0] * len(runs), strict=True))
    note = _note(groups, works, known=work is not None)
    differs = len(set(works.values())) > 1
    scale = {run: work if differs else 1.0 for run, work in works.items()}
    values = {
        name: [_objectives(read_front(run), columns, scale[run.id]) for run in group] for name, group in groups.items()
    }
    rates = {}
    if differs and TIME.column in columns:
        row = columns.index(TIME.column)
        rates = {name: max(1.0 / (one[row].min() * TIME.scale) for one in group) for name, group in values.items()}
    named = tuple(_per_sequence(one) if differs and one in PER_ITERATION else one for one in columns)
    return _Problem(runs[0].problem, subjects[0].problem, named, groups, values, note, rates)


def _objectives(front: Front, columns: Sequence[str], sequences: float) -> FloatArray:
    """Return (m, k) objectives, those of an iteration divided by its sequences."""
    import numpy as np

    from evo_libra.experiment.results.comparison import PER_ITERATION

    values = front.frame.select(columns).to_numpy().T
    per = np.array([sequences if column in PER_ITERATION else 1.0 for column in columns])
    return np.asarray(values / per[:, None])


def _per_sequence(column: str) -> str:
    """Return the name of an objective of an iteration once it is one of a sequence.

    >>> _per_sequence("time_ms")
    'time_per_sequence_ms'
    """
    name, _, unit = column.partition("_")
    return f"{name}_per_sequence_{unit}"


def _note(groups: Mapping[str, Sequence[RunRecord]], works: Mapping[str, float], *, known: bool) -> str:
    """Return what is said of the work of an iteration."""
    if not known:
        return (
            "An iteration may be another amount of work in some of these runs, as their workloads differ and do not "
            "say how many sequences they train: their times are those of an iteration all the same."
        )
    each = {_letter(index): works[group[0].id] for index, group in enumerate(groups.values())}
    if len(set(each.values())) == 1:
        return ""
    said = ", ".join(f"{count:,.0f} in {letter}" for letter, count in each.items())
    return f"An iteration trains another number of sequences in each ({said}): times are those of one sequence."


def _unlike(problems: Sequence[_Problem]) -> str:
    """Return the sentence that problems are not ranked against one another, with the keys in which they differ."""
    from evo_libra.experiment.results.comparison import differing
    from evo_libra.files.mistakes import short

    first = problems[0]
    keys = dict.fromkeys(key for other in problems[1:] for key in differing(first.identity, other.identity))
    names = list(dict.fromkeys(problem.name for problem in problems))
    named = " and ".join(", ".join(names).rsplit(", ", 1)) if len(names) > 1 else f"runs of {names[0]}"
    differ = f" (they differ in {', '.join(list(keys)[:_MOST_KEYS])})"
    return f"{short(named, 200)} are {len(problems)} different problems{differ}, not ranked against one another"


def _chosen(names: Sequence[str], results: Path) -> list[RunRecord]:
    """Return the runs that are named by paths, ids or parts of ids, and those that fit all of the filters there are."""
    from evo_libra.experiment.results.catalogue import Catalogue
    from evo_libra.experiment.results.listing import is_filter
    from evo_libra.experiment.store.folder import is_run

    catalogues: dict[Path, Catalogue] = {}

    def catalogue(folder: Path) -> Catalogue:
        return catalogues.setdefault(folder, Catalogue.open(folder))

    runs: list[RunRecord] = []
    filters = [name for name in names if not is_run(Path(name)) and is_filter(name)]
    if filters:
        others = [word for word in filters if not word.startswith("status:")]
        for run in catalogue(results).runs(" ".join([*others, "status:damaged"])):
            _leave_out(run, run.error)
        fitting = catalogue(results).runs(" ".join([*filters, "status:done,stale"]))
        runs += [run for run in fitting if _sound(run)]
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


def _sound(run: RunRecord) -> bool:
    """Return whether the front of a run that was not named can be read; say what is wrong with it where it cannot."""
    from evo_libra.experiment.results.catalogue import read_front
    from evo_libra.files.integrity import DamagedError

    try:
        read_front(run)
    except DamagedError as error:
        _leave_out(run, str(error))
        return False
    return True


def _leave_out(run: RunRecord, why: str) -> None:
    print(f"evo-libra: {run.id} is left out: {why}", file=sys.stderr)


def _grouped(runs: Sequence[RunRecord]) -> dict[str, list[RunRecord]]:
    """Return runs by what they search and how, the seed aside, under names that tell the groups apart."""
    groups: dict[str, list[RunRecord]] = {}
    for run in runs:
        groups.setdefault(run.hash or run.id, []).append(run)
    firsts = [group[0] for group in groups.values()]
    names = [_name(run, firsts) for run in firsts]
    twice = {name for name in names if names.count(name) > 1}
    keys = [f"{name} {run.hash[:8]}" if name in twice else name for name, run in zip(names, firsts, strict=True)]
    return dict(zip(keys, groups.values(), strict=True))


def _name(run: RunRecord, others: Sequence[RunRecord]) -> str:
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


def _as_json(problem: _Problem, found: Comparison) -> dict[str, Any]:
    groups = problem.groups
    return {
        "problem": problem.name,
        "note": problem.note,
        "sequences_per_second": problem.rates,
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


def _show(
    found: Comparison, values: Mapping[str, Sequence[FloatArray]], rates: Mapping[str, float] | None = None
) -> None:
    from rich.table import Table
    from rich.text import Text

    from evo_libra.ui.plots.pictures import terminal_scatter

    console = new_console()
    series = _series(found, values)
    print_styled(terminal_scatter(series, *_labels(found), console))
    for index, name in enumerate(found.runs):
        rate = f"  up to {rates[name]:,.0f} sequences/s" if rates else ""
        print(f"{_letter(index)}  {name}{rate}" + ("" if index < _MOST_SERIES else "  (not drawn)"))
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
    from rich.table import Table

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
    import numpy as np

    from evo_libra.experiment.results.comparison import LEVELS
    from evo_libra.ui.plots.axes import Series

    series = []
    for index, name in enumerate(list(found.runs)[:_MOST_SERIES]):
        surfaces = found.attainment.get(name)
        many = len(values[name]) > 1
        points = surfaces[LEVELS[1]] if surfaces and many else np.concatenate(values[name], axis=1)
        label = f"{_letter(index)} {name}" + (", attained by half of the runs" if surfaces and many else "")
        series.append(Series(points[min(1, len(points) - 1)], points[0], label))
    return series


def _draw(found: Comparison, values: Mapping[str, Sequence[FloatArray]], path: Path) -> None:
    from evo_libra.ui.plots.figure import front_figure

    x_label, y_label = _labels(found)
    try:
        front_figure(
            _series(found, values), x_label=x_label, y_label=y_label, title="",
            log_x=True, log_y=True, path=path,
        )  # fmt: skip
    except OSError as error:
        raise InputError(f"{path} cannot be written: {(error.strerror or '').lower()}") from None


def _labels(found: Comparison) -> tuple[str, str]:
    """Return what the horizontal and the vertical axis show."""
    return label_of(found.objectives[min(1, len(found.objectives) - 1)]), label_of(found.objectives[0])
