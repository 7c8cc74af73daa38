"""Results as one page of HTML."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from evo_libra.errors import InputError, counted
from evo_libra.named_code import trust_files
from evo_libra.ui.commands.shared import Json, Out, TrustCode, app
from evo_libra.ui.tables.named_runs import DEFAULT, chosen_runs, given_of, problem_of_result
from evo_libra.ui.tables.output import print, print_json, progress_console

if TYPE_CHECKING:
    from evo_libra.arrays import FloatArray
    from evo_libra.experiment.run.record import RunRecord
    from evo_libra.experiment.store.folder import RunFolder
    from evo_libra.front.front import Front
    from evo_libra.optimality.certificate import Certificate
    from evo_libra.problem.problem import Problem
    from evo_libra.report.data import Source
    from evo_libra.report.records import Chart

_SECONDS, _TIMES = 5.0, 5.0
_PAGE = Path("report.html")


@app.command
def report(
    *runs: str,
    file: Annotated[Path, Parameter(name=["--page", "-o"])] = _PAGE,
    results: Out = DEFAULT,
    title: str | None = None,
    seconds: float | None = None,
    trust_code: TrustCode = False,
    as_json: Json = False,
) -> int:
    """Write results as one page of HTML that works offline: front, designs, pictures of networks, tables.

    Parameters
    ----------
    runs:
        Folders of runs, parts of their names, last, or filters such as experiment:mine, which must all fit.
    file:
        The file to write.
    title:
        The heading of the page; the problem when left out.
    seconds:
        Seconds for the proof of each front, 0 for none. When left out, 5 for one result and 0 for several.
    """
    from evo_libra.report.data import report_document
    from evo_libra.report.page import page

    trust_files(allowed=trust_code)
    if seconds is not None and not 0 <= seconds < math.inf:
        raise InputError(f"--seconds: found {seconds:g}; a number of at least 0 is needed")
    chosen = chosen_runs(runs, results, fewest=1)
    limit = _limit(chosen) if seconds is None else seconds
    notes: list[str] = []
    sources = [_source(run, chosen, limit, notes) for run in chosen]
    name = title or " and ".join(dict.fromkeys(run.problem for run in chosen))
    document = report_document(sources, title=name, charts=_charts(chosen, sources, notes), notes=notes)
    text = page(document)
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"{file} cannot be written: {(error.strerror or '').lower()}") from None
    if as_json:
        print_json(
            {
                "page": str(file),
                "question": document.noun,
                "results": len(sources),
                "designs": len(document.rows.id),
                "notes": notes,
            }
        )
        return 0
    designs = counted(len(document.rows.id), document.noun)
    print(f"{file}: {designs} of {counted(len(sources), 'result')}, {len(text) / 1e6:.1f} MB; open it in a browser")
    return 0


def _limit(chosen: Sequence[RunRecord]) -> float:
    """Return the seconds for a proof unless the user says: of a run that proves its front, several times its own."""
    if len(chosen) > 1:
        return 0.0
    return max(_SECONDS, _TIMES * chosen[0].wall_s) if chosen[0].claim else _SECONDS


def _source(run: RunRecord, runs: Sequence[RunRecord], limit: float, notes: list[str]) -> Source:
    """Return a result; why something is not known of it is added to the notes."""
    from evo_libra.experiment.results.catalogue import read_front, read_manifest
    from evo_libra.experiment.store.folder import RunFolder
    from evo_libra.explain.references import references_of
    from evo_libra.report.data import Source
    from evo_libra.report.results import facts_of

    front, problem, proof = read_front(run), None, None
    name = _name(run, runs)
    if "design" in front.frame.columns:
        problem = _problem(run, notes)
    else:
        notes.append(f"{name}: its designs are not known in the notation, so only their objectives are shown.")
    if problem is not None and limit and len(front):
        proof = _proof(RunFolder(run.folder), problem, front, limit, notes)
    # A problem in Python is not built for a page; its run has kept what its front is compared with.
    beside = RunFolder(run.folder).read_references() if problem is None else references_of(problem)
    return Source(
        name=name, front=front, problem=problem, address=str(run.folder), certificate=proof, references=beside,
        facts=facts_of(read_manifest(run)),
    )  # fmt: skip


def _name(run: RunRecord, runs: Sequence[RunRecord]) -> str:
    """Return what tells a run from the others."""
    from evo_libra.ui.commands.compare import name_of

    if len(runs) == 1:
        return run.problem
    alike = sum(name_of(other, runs) == name_of(run, runs) for other in runs)
    return f"{name_of(run, runs)}, seed {run.seed}" if alike > 1 else name_of(run, runs)


def _problem(run: RunRecord, notes: list[str]) -> Problem | None:
    from evo_libra.experiment.store.folder import RunFolder
    from evo_libra.problem.problem import Problem

    folder = RunFolder(run.folder)
    try:
        _, found = problem_of_result(folder, None, given_of(folder))
    except InputError as error:
        notes.append(f"The parts of time and cost of {run.id} are not shown: {error}.")
        return None
    return found if isinstance(found, Problem) else None


def _proof(
    folder: RunFolder, problem: Problem, front: Front, seconds: float, notes: list[str]
) -> Certificate | None:  # fmt: skip
    from rich.status import Status

    from evo_libra.experiment.store.kept_proof import proof_of
    from evo_libra.explain.reasons import is_loose, proof_text, scope_text
    from evo_libra.optimality.certificate import Certificate
    from evo_libra.optimality.scope import scope_of

    try:
        with Status("proving", console=progress_console()):
            found = proof_of(folder, problem, front, seconds)
            if isinstance(found, Certificate):
                return found
            factor = found.largest_factor
            said = [] if is_loose(factor) else [proof_text(factor, of_time_and_cost=False, space=" of the front")]
            notes.append(" ".join([*said, scope_text(factor, scope_of(problem))]))
            return None
    except InputError as error:
        notes.append(f"Nothing is proven of the front: {error}.")
        return None


def _charts(runs: Sequence[RunRecord], sources: Sequence[Source], notes: list[str]) -> list[Chart]:
    """Return what groups of runs attain, where they may be ranked, and how each run went."""
    from evo_libra.experiment.results.comparison import Subject, by_problem, compare, sequences
    from evo_libra.experiment.store.folder import RunFolder
    from evo_libra.report.charts import attainment_chart, convergence_chart
    from evo_libra.ui.commands.compare import grouped

    groups, charts = grouped(runs), [convergence_chart(_courses(grouped(runs)))]
    subjects = [Subject.of_run(RunFolder(run.folder)) for run in runs]
    if len(by_problem(subjects)) > 1:
        notes.append("These results are of different problems: they are next to each other here, and not ranked.")
    elif len(runs) > 1 and len(set(sequences(subjects) or (0, 1))) > 1:
        notes.append("An iteration is other work in some of these results: their times are not those of equal work.")
    elif len(runs) > 1 and all(len(source.front) for source in sources):
        fronts = {run.id: source.front for run, source in zip(runs, sources, strict=True)}
        columns = sources[0].front.objectives
        values = {
            name: [fronts[run.id].frame.select(columns).to_numpy().T for run in group]
            for name, group in groups.items()
        }  # fmt: skip
        sizes = {name: len(group) for name, group in groups.items()}
        charts.insert(0, attainment_chart(compare(columns, values).attainment, sizes, columns))
    charts += [_of_systems(source, source.name if len(sources) > 1 else "") for source in _of_problems(sources)]
    return [chart for chart in charts if chart is not None]


def _of_problems(sources: Sequence[Source]) -> list[Source]:
    """Return the first result of each problem; its systems are those of all results of the problem."""
    found: dict[str, Source] = {}
    for source in sources:
        found.setdefault("" if source.problem is None else source.problem.name, source)
    return list(found.values())


def _of_systems(source: Source, name: str) -> Chart | None:
    """Return the networks of each system of a result of orders; None of another."""
    from evo_libra.explain.system_views import system_rows
    from evo_libra.report.orders import systems_chart

    if source.problem is None or source.problem.book is None:
        return None
    return systems_chart(system_rows(source.problem), source.front.objectives[0], name)


def _courses(groups: Mapping[str, Sequence[RunRecord]]) -> dict[str, list[FloatArray]]:
    """Return evaluations and hypervolumes of each run, (2, k), by group."""
    import numpy as np

    from evo_libra.experiment.store.messages import read_progress

    def course(run: RunRecord) -> FloatArray:
        known = [one for one in read_progress(run.folder) if one.hypervolume is not None and one.evaluations > 0]
        return np.array([[one.evaluations for one in known], [one.hypervolume for one in known]], dtype=np.float64)

    return {name: [course(run) for run in group] for name, group in groups.items()}
