"""Fronts of runs next to each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, stdev
from typing import TYPE_CHECKING, Any

from evo_libra.errors import InputError
from evo_libra.explain.labels import label_of
from evo_libra.ui.commands.shared import Json, Out, app
from evo_libra.ui.tables.named_runs import DEFAULT, chosen_runs
from evo_libra.ui.tables.output import FIGURES, new_console, print, print_folded, print_json, print_styled, print_table

if TYPE_CHECKING:
    from evo_libra.arrays import FloatArray
    from evo_libra.experiment.results.comparison import Comparison, Measured, Subject
    from evo_libra.experiment.run.record import RunRecord
    from evo_libra.front.front import Front
    from evo_libra.pictures.plots.series import Series


_MAX_SERIES = 8
_MAX_KEYS = 5
_CELL = 10
_EACH = "over seeds; hypervolume and epsilon against all runs together"
_EPSILON = "epsilon: factor by which a row would have to be better to dominate a column"
_COVERAGE = "coverage: share of a column's front that a row dominates"


@app.command
def compare(*runs: str, results: Out = DEFAULT, figure: Path | None = None, as_json: Json = False) -> int:
    """Compare the fronts of runs; runs that differ only in their seeds form a group.

    Parameters
    ----------
    runs:
        Folders of runs, parts of their names, or filters such as experiment:mine engine:nsga2, which must all fit.
    figure:
        A file to draw the fronts to (.png, .pdf or .svg).
    """
    from evo_libra.experiment.results.comparison import compare as compared

    if figure is not None and figure.suffix.lower() not in FIGURES:
        raise InputError(f"--figure: found {figure}; allowed endings: {', '.join(FIGURES)}")
    problems = _problems(chosen_runs(runs, results))
    if figure is not None and len(problems) > 1:
        raise InputError(f"--figure: {_unlike(problems)}; name the runs of one of them")
    found = [compared(problem.objectives, problem.values) for problem in problems]
    if figure is not None:
        _draw(found[0], problems[0], figure)
    if as_json:
        pairs = zip(problems, found, strict=True)
        print_json({"problems": [_as_json(problem, comparison) for problem, comparison in pairs]})
        return 0
    if len(problems) > 1:
        print_folded(f"{_unlike(problems)}; each is shown alone.")
    for problem, comparison in zip(problems, found, strict=True):
        if len(problems) > 1:
            print(f"\n{problem.name}")
        _show(comparison, problem)
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
    groups : runs that differ in their seeds alone, by what tells them from others.
    values : (m, k) objectives of the fronts of each group.
    references : name and objectives of the reference designs, and what each group is better by, in rows.
    note : a sentence on the work of an iteration; empty where the work is the same for all.
    rates : max sequences per second of each group; empty where the work is the same for all, or not known.
    noun : what its rows are.
    """

    name: str
    identity: Mapping[str, Any]
    objectives: tuple[str, ...]
    groups: Mapping[str, Sequence[RunRecord]]
    values: Mapping[str, Sequence[FloatArray]]
    references: Mapping[str, FloatArray]
    better: Mapping[str, Sequence[Mapping[str, Any]]]
    note: str
    rates: Mapping[str, float]
    noun: str = "design"


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
    import numpy as np

    from evo_libra.experiment.results.catalogue import read_front
    from evo_libra.experiment.results.comparison import PER_ITERATION, sequences
    from evo_libra.experiment.store.folder import RunFolder
    from evo_libra.problem.objectives import TIME
    from evo_libra.ui.tables.references import rows_of_runs

    columns, work = subjects[0].objectives, sequences(subjects)
    groups = grouped(runs)
    works = dict(zip((run.id for run in runs), work or [1.0] * len(runs), strict=True))
    note = _note(groups, works, known=work is not None)
    differs = len(set(works.values())) > 1
    scale = {run: work if differs else 1.0 for run, work in works.items()}
    fronts = {name: [read_front(run) for run in group] for name, group in groups.items()}
    values = {
        name: [_objectives(front, columns, scale[run.id]) for front, run in zip(fronts[name], group, strict=True)]
        for name, group in groups.items()
    }
    better = {
        name: rows_of_runs([RunFolder(run.folder) for run in group], fronts[name]) for name, group in groups.items()
    }
    references = {
        str(row["name"]): np.array([row[one] / _sequences(one, scale[groups[name][0].id]) for one in columns])
        for name, rows in better.items()
        for row in rows
    }
    rates = {}
    if differs and TIME.column in columns:
        row = columns.index(TIME.column)
        rates = {name: max(1.0 / (one[row].min() * TIME.scale) for one in group) for name, group in values.items()}
    divided = PER_ITERATION if differs else ()
    named = tuple(one.replace("_", "_per_sequence_", 1) if one in divided else one for one in columns)
    return _Problem(
        name=runs[0].problem, identity=subjects[0].problem, objectives=named, groups=groups, values=values,
        references=references, better=better, note=note, rates=rates,
        noun=next(front.noun for each in fronts.values() for front in each),
    )  # fmt: skip


def _objectives(front: Front, columns: Sequence[str], sequences: float) -> FloatArray:
    """Return (m, k) objectives, those of an iteration divided by its sequences."""
    import numpy as np

    values = front.frame.select(columns).to_numpy().T
    return np.asarray(values / np.array([[_sequences(column, sequences)] for column in columns]))


def _sequences(column: str, sequences: float) -> float:
    """Return what an objective of an iteration is divided by; 1 for any other one."""
    from evo_libra.experiment.results.comparison import PER_ITERATION

    return sequences if column in PER_ITERATION else 1.0


def _note(groups: Mapping[str, Sequence[RunRecord]], works: Mapping[str, float], *, known: bool) -> str:
    """Return the sentence on the work of an iteration."""
    if not known:
        return (
            "An iteration may be another amount of work in some of these runs, because their workloads differ and do "
            "not say how many sequences they train: their times are those of an iteration all the same."
        )
    each = {_letter(index): works[group[0].id] for index, group in enumerate(groups.values())}
    if len(set(each.values())) == 1:
        return ""
    counts = ", ".join(f"{count:,.0f} in {letter}" for letter, count in each.items())
    return f"An iteration trains another number of sequences in each ({counts}): times are those of one sequence."


def _unlike(problems: Sequence[_Problem]) -> str:
    """Return the sentence that problems are not ranked against one another, with the keys in which they differ."""
    from evo_libra.experiment.results.comparison import differing
    from evo_libra.files.mistakes import short

    first = problems[0]
    keys = dict.fromkeys(key for other in problems[1:] for key in differing(first.identity, other.identity))
    names = list(dict.fromkeys(problem.name for problem in problems))
    named = " and ".join(", ".join(names).rsplit(", ", 1)) if len(names) > 1 else f"runs of {names[0]}"
    orders = [problem for problem in problems if "order" in problem.identity]
    if 0 < len(orders) < len(problems):
        return (
            f"{short(named, 200)} are {len(problems)} different problems: {orders[0].name} asks for an order, "
            "others for a design. They are two questions, not ranked against one another"
        )
    differ = f" (they differ in {', '.join(list(keys)[:_MAX_KEYS])})"
    return f"{short(named, 200)} are {len(problems)} different problems{differ}, not ranked against one another"


def grouped(runs: Sequence[RunRecord]) -> dict[str, list[RunRecord]]:
    """Return runs by what they search and how, the seed aside, under names that tell the groups apart."""
    groups: dict[str, list[RunRecord]] = {}
    for run in runs:
        groups.setdefault(run.hash or run.id, []).append(run)
    firsts = [group[0] for group in groups.values()]
    names = [name_of(run, firsts) for run in firsts]
    twice = {name for name in names if names.count(name) > 1}
    keys = [f"{name} {run.hash[:8]}" if name in twice else name for name, run in zip(names, firsts, strict=True)]
    return dict(zip(keys, groups.values(), strict=True))


def name_of(run: RunRecord, others: Sequence[RunRecord]) -> str:
    """Return what tells a group from the others."""
    from evo_libra.experiment.run.record import COLUMNS

    parts = []
    for column in COLUMNS:
        is_part = column.attribute in ("problem", "name") or (column.place == "setting" and column.key != "seed")
        value = getattr(run, column.attribute)
        if is_part and value and len({getattr(one, column.attribute) for one in others}) > 1:
            parts.append(value if isinstance(value, str) else f"{column.key} {value:,}")
    return ", ".join(parts) or run.engine


def _as_json(problem: _Problem, found: Comparison) -> dict[str, Any]:
    groups = problem.groups
    return {
        "problem": problem.name,
        "question": problem.noun,
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
                "references": list(problem.better[name]),
                "attainment": {
                    str(level): corners.T.tolist() for level, corners in found.attainment.get(name, {}).items()
                },
            }
            for name, measured in found.runs.items()
        },
        "epsilon": [{"of": a, "to": b, "value": value} for (a, b), value in found.epsilon.items()],
        "coverage": [{"of": a, "to": b, "value": value} for (a, b), value in found.coverage.items()],
    }  # fmt: skip


def _show(found: Comparison, problem: _Problem) -> None:
    from evo_libra.pictures.plots.scatter import terminal_scatter
    from evo_libra.ui.tables.references import reference_sentences

    print_styled(terminal_scatter(_series(found, problem), *_labels(found), new_console()))
    for index, name in enumerate(found.runs):
        rate = f"  up to {problem.rates[name]:,.0f} sequences/s" if problem.rates else ""
        print(f"{_letter(index)}  {name}{rate}" + ("" if index < _MAX_SERIES else "  (not drawn)"))
    if len(found.runs) > _MAX_SERIES:
        print(f"A plot has room for {_MAX_SERIES}; name fewer runs to see the others.")
    print_table(
        _EACH,
        ("", "runs", f"{problem.noun}s", "hypervolume", "+-", "best", "epsilon", "best"),
        [[_letter(index), *_cells(runs)] for index, runs in enumerate(found.runs.values())],
    )
    for index, name in enumerate(found.runs):
        print_folded(*(f"{_letter(index)} and {text}" for text in reference_sentences(problem.better[name])))
    for title, factors in ((_EPSILON, found.epsilon), (_COVERAGE, found.coverage)) if len(found.runs) > 1 else ():
        _matrix(title, list(found.runs), factors)


def _cells(runs: Sequence[Measured]) -> list[str]:
    volumes, factors = [run.hypervolume for run in runs], [run.epsilon for run in runs]
    spread = f"{stdev(volumes):.4f}" if len(runs) > 1 else ""
    return [
        str(len(runs)), f"{mean(run.designs for run in runs):,.0f}", f"{mean(volumes):.4f}", spread,
        f"{max(volumes):.4f}", f"{mean(factors):.4f}", f"{min(factors):.4f}",
    ]  # fmt: skip


def _matrix(title: str, names: Sequence[str], values: Mapping[tuple[str, str], float]) -> None:
    letters = [_letter(index) for index in range(len(names))]
    rows = [
        [letter, *("" if one == other else f"{values[one, other]:.4f}" for other in names)]
        for letter, one in zip(letters, names, strict=True)
    ]
    # Figures that are cut off say nothing; a terminal that is too narrow folds the lines.
    print_table(title, ["", *letters], rows, left=("",), min_width=_CELL * (len(names) + 1))


def _letter(index: int) -> str:
    """Return a short name of a group.

    >>> _letter(0), _letter(27)
    ('A', 'B1')
    """
    turn, place = divmod(index, 26)
    return chr(ord("A") + place) + (str(turn) if turn else "")


def _series(found: Comparison, problem: _Problem) -> list[Series]:
    """Return what a plot shows: of each group what half of its runs attain, or all that they found, and references."""
    import numpy as np

    from evo_libra.experiment.results.comparison import LEVELS
    from evo_libra.pictures.plots.axes import MAX_SERIES
    from evo_libra.pictures.plots.series import Series

    series = []
    for index, name in enumerate(list(found.runs)[:_MAX_SERIES]):
        surfaces = found.attainment.get(name)
        many = len(problem.values[name]) > 1
        points = surfaces[LEVELS[1]] if surfaces and many else np.concatenate(problem.values[name], axis=1)
        label = f"{_letter(index)} {name}" + (", attained by half of the runs" if surfaces and many else "")
        series.append(Series(points[min(1, len(points) - 1)], points[0], label))
    names = list(problem.references)
    for some in [[name] for name in names] if len(series) + len(names) <= MAX_SERIES else [names]:
        points = np.array([problem.references[name] for name in some]).T
        series.append(Series(points[min(1, len(points) - 1)], points[0], ", ".join(some)))
    return series


def _draw(found: Comparison, problem: _Problem, path: Path) -> None:
    from evo_libra.pictures.plots.figure import front_figure

    x_label, y_label = _labels(found)
    try:
        front_figure(_series(found, problem), x_label=x_label, y_label=y_label, path=path)
    except OSError as error:
        raise InputError(f"{path} cannot be written: {(error.strerror or '').lower()}") from None


def _labels(found: Comparison) -> tuple[str, str]:
    """Return what the horizontal and the vertical axis show."""
    return label_of(found.objectives[min(1, len(found.objectives) - 1)]), label_of(found.objectives[0])
