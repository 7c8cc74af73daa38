"""A search for the Pareto front of a problem."""

from __future__ import annotations

import inspect
import io
import math
import re
import sys
import uuid
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from evo_libra.errors import EvoLibraError, InfeasibleError, InputError, counted, printable, shortened
from evo_libra.experiment.run.settings import Setting, asked_settings
from evo_libra.explain.labels import groups_text, size_text
from evo_libra.installed import is_installed
from evo_libra.named_code import trust, trust_files
from evo_libra.ui.commands.shared import Assignments, Flag, Json, Out, ProblemName, TrustCode, app
from evo_libra.ui.tables.named_runs import DEFAULT, named_origin, names_run, run_folder, written_to
from evo_libra.ui.tables.output import NoProgress, may_be_terminal, print, print_folded, print_json, progress_bar

if TYPE_CHECKING:
    from rich.progress import Progress

    from evo_libra.experiment.execution.job import Report
    from evo_libra.experiment.execution.search_run import Outcome
    from evo_libra.experiment.store.folder import RunFolder
    from evo_libra.explain.references import ReferencePoint, References
    from evo_libra.explain.system_views import SystemViews
    from evo_libra.explain.time_record import Size
    from evo_libra.front.front import Front
    from evo_libra.problem.protocol import SearchProblem
    from evo_libra.searching.loop import Snapshot
    from evo_libra.ui.tables.answers import Search as Answer


_REFRESH_SECONDS = 0.25
_INTERRUPTED = 130


def search(
    problem: ProblemName,
    *,
    results: Out = DEFAULT,
    resume: Flag = False,
    plot: bool | None = None,
    assignments: Assignments = (),
    trust_code: TrustCode = False,
    as_json: Json = False,
    **settings: Any,  # noqa: ANN401 - of the kinds in the table of settings
) -> int:
    """Search a problem for its Pareto front and keep it in a folder of results.

    Parameters
    ----------
    resume:
        Continue an interrupted run of the same problem, engine and seed.
    plot:
        Draw the front to front.png once it is shown, with --json only when asked; drawing takes a third of a second.
    """
    from evo_libra.experiment.execution.job import Job
    from evo_libra.experiment.execution.prepared import Prepared
    from evo_libra.experiment.execution.search_loop import in_processes, planned_run
    from evo_libra.experiment.execution.worker import perform
    from evo_libra.experiment.run.origin import build
    from evo_libra.experiment.store.folder import LOG, PLOT, RunFolder
    from evo_libra.experiment.store.messages import catching_interrupts

    trust_files(allowed=trust_code)
    trust(*filter(None, [settings.get("engine")]))
    if settings.get("start_from"):
        settings["start_from"] = _starts(settings["start_from"])
    origin = named_origin(problem, assignments)
    ready = Prepared(build(origin))
    built, spec = ready.problem, planned_run(origin, ready.problem, **settings)
    job = Job(
        str(written_to(results).absolute()), uuid.uuid4().hex, again=("failed",) if resume else ("all",), resume=resume,
        command=tuple(sys.argv),
    )  # fmt: skip
    found: list[Outcome] = []

    with _progress() as progress, catching_interrupts() as interrupted:
        watch = Watch(progress, built, spec.evaluations)
        report = perform(
            spec, job, interrupted=interrupted, watch=watch, finish=found.append, on_design=watch.design,
            place=in_processes, ready=ready,
        )  # fmt: skip
    folder = RunFolder(results / spec.id)
    if report.ending == "busy":
        raise InputError(f"{folder.path} is being searched: {report.error}; wait for it, or name another --out")
    if report.ending == "lost":
        raise EvoLibraError(
            f"{report.error or f'another process has taken over {folder.path}'}; nothing more was written"
        )
    if report.ending not in ("done", "interrupt"):
        raise EvoLibraError(f"the search failed: {report.error or report.ending}; see {folder.path / LOG}")
    front = found[0].front if found else folder.read_front()
    code = _report(
        built, folder, front=front, report=report, references=ready.compared, choice=spec.engine_choice,
        as_json=as_json,
    )  # fmt: skip
    sys.stdout.flush()  # whoever reads the front need not wait for its picture
    picture = folder.path / PLOT
    if (not as_json if plot is None else plot) and found and len(front):
        _draw(built, picture, front, ready.references)
    if not as_json and picture.exists():
        print(f"plot   {picture}")
    return code


def _starts(names: str | tuple[str, ...]) -> tuple[str, ...]:
    """Return the folders of runs, and files of fronts, that names of runs and paths stand for."""
    given = (names,) if isinstance(names, str) else names
    return tuple(str(run_folder(one)) if names_run(one) else one for one in given)


def _progress() -> Progress | NoProgress:
    """Return what shows on the error stream how far a search is."""
    if not may_be_terminal(sys.stderr):
        return NoProgress()
    from rich.progress import SpinnerColumn, TextColumn, TimeRemainingColumn

    columns = SpinnerColumn(), TimeRemainingColumn(compact=True), TextColumn("{task.description}{task.fields[figures]}")
    return progress_bar(*columns)


def _draw(problem: SearchProblem, picture: Path, front: Front, references: Sequence[ReferencePoint]) -> None:
    """Draw a front to the folder of its run, unless another process has the run by now."""
    from evo_libra.experiment.execution.worker import claimed
    from evo_libra.pictures.plots.scatter import figure_of

    drawn = io.BytesIO()
    figure_of(front, problem.objectives, problem.name, drawn, references)
    with claimed(picture.parent, uuid.uuid4().hex) as (run, _):
        if run is not None:
            run.write(picture.name, drawn.getvalue())


def _with_settings(command: Callable[..., int]) -> Callable[..., int]:
    """Give a command an option for each setting of a run, in place of its ``**settings``."""
    *own, _ = inspect.signature(command, eval_str=True).parameters.values()
    options = [
        inspect.Parameter(one.name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=_option(one))
        for one in asked_settings()
    ]
    vars(command)["__signature__"] = inspect.Signature([own[0], *options, *own[1:]], return_annotation=int)
    del command.__annotations__["settings"]
    return command


def _option(setting: Setting) -> Any:  # noqa: ANN401 - a type
    kind = list[Path] if setting.kind == tuple[str, ...] else setting.kind
    text = f"{setting.help[0].upper()}{setting.help[1:]}."
    negative = "" if kind in (bool, list[Path]) else None
    return Annotated[kind | None, Parameter(help=text, negative=negative)]


app.command(_with_settings(search))


class Watch:
    """Shows evaluations, rate, size of the front and hypervolume while a search runs."""

    def __init__(self, progress: Progress | NoProgress, problem: SearchProblem, evaluations: int) -> None:
        self.progress, self.last = progress, -math.inf
        self.bounds: tuple[Any, Any] | None = None
        self.task = progress.add_task(problem.name, total=evaluations, figures="")

    def design(self) -> None:
        """Show one design more, in a generation that takes long."""
        self.progress.update(self.task, advance=1)

    def __call__(self, snapshot: Snapshot, seconds: float) -> None:
        """Show where a search is between two generations."""
        from evo_libra.front.indicators import hypervolume

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


def _report(
    problem: SearchProblem, run: RunFolder, front: Front, report: Report, references: References,
    choice: str, *, as_json: bool,
) -> int:  # fmt: skip
    from evo_libra.experiment.run.record import ending_text
    from evo_libra.experiment.store.folder import DONE, MANIFEST
    from evo_libra.explain.advice import advice, short_advised
    from evo_libra.explain.as_json import as_json as plain
    from evo_libra.explain.candidates import candidates_of
    from evo_libra.explain.system_views import views_of
    from evo_libra.explain.verdict import verdict
    from evo_libra.problem.designs import warnings_of
    from evo_libra.searching.engine import EXHAUSTED
    from evo_libra.ui.commands.recommend import show_first
    from evo_libra.ui.tables.search_answers import add_ending, add_front

    folder, manifest = run.path, run.read_json(MANIFEST)
    failures, first_failures = int(manifest.get("failures", 0)), manifest.get("first_failures", [])
    designs = front.frame["design"].to_list() if "design" in front.frame.columns else ()
    warnings = warnings_of(problem, designs)
    end = run.read_json(DONE) if run.done else {}
    choices = candidates_of(front)
    advices = advice(front, choices, problem) if len(front) else ()
    answer = verdict(front, choices, problem) if len(front) else None
    views = views_of(problem, front) if front.noun == "order" or not len(front) else None
    if as_json:
        head: Answer = {
            "front": front.frame, "evaluations": report.figures.evaluations, "wall_s": report.figures.wall_s,
            "result": str(folder), "question": manifest["question"], "warnings": warnings,
        }  # fmt: skip
        if answer is not None:
            head["verdict"] = answer
        add_ending(head, end, choice)
        if failures:
            head["failure_count"], head["failures"] = failures, first_failures
        add_front(head, front, _workloads(problem), advices=advices, views=views, references=references)
        print_json(plain(head))
    elif answer is not None:
        sentences = list(short_advised(front, advices))
        _show_front(problem, front, references, views, [*answer.sentences, *sentences])
        ending = f" ({words})" if (words := ending_text(end.get("ended", ""), end.get("restarts", 0))) else ""
        evaluated, listed = counted(report.figures.evaluations, "evaluation"), counted(len(front), front.noun)
        print()
        print_folded(f"{evaluated} in {report.figures.wall_s:.2f} s{ending}; {listed} on the front")
        print_folded(*filter(None, (choice, end.get("claim", ""))), *warnings)
        print_folded(*_faster(problem, report.figures.wall_s))
        print(f"front  {folder / 'front.parquet'}")
        name = "last" if folder.parents[1] == DEFAULT else f"{folder.parents[1]}/last"
        show_first(name, answer, advices, sentences)
    if failures:
        _print_failures(failures, first_failures)
    if report.ending == "interrupt":
        print(f"evo-libra: interrupted; what was found is kept in {folder}; --resume continues", file=sys.stderr)
        return _INTERRUPTED
    if not len(front):
        from evo_libra.explain.infeasible import infeasible_text

        raise InfeasibleError(infeasible_text(problem, report.figures.evaluations, whole=end.get("ended") == EXHAUSTED))
    return 0


def _show_front(
    problem: SearchProblem, front: Front, references: References, views: SystemViews | None, sentences: Sequence[str],
) -> None:  # fmt: skip
    """Print a front, with all rows that sentences name, its networks of systems, and the sizes of workloads."""
    import polars as pl

    from evo_libra.explain.references import reference_rows
    from evo_libra.ui.commands.front import show_front
    from evo_libra.ui.tables.references import show_references
    from evo_libra.ui.tables.systems import MOST, show_systems

    missing = () if views is None else views.absent
    named = {int(number) for text in (*missing, *sentences) for number in _ID.findall(text)}
    show_front(front, problem.objectives, problem.name, rows=12, references=references.points, named=named)
    show_references(reference_rows(references.points, front), front.objectives, references.absent)
    if views is not None:
        designs = front.frame.filter(pl.col("id").is_in(named))["design"].to_list()
        show_systems(views.systems, front.objectives[0], MOST, [*designs, *views.named])
    print_folded(*missing)
    for name, size in _workloads(problem):
        print_folded(": ".join(filter(None, (f"{name} {groups_text(size)}".strip(), size_text(size)))))


_ID = re.compile(r"#(\d+)")
"""The id of a design in a sentence."""


def _workloads(problem: SearchProblem) -> list[tuple[str, Size]]:
    """Return the workloads of a problem file with their sizes."""
    from evo_libra.explain.time_record import Size
    from evo_libra.problem.problem import Problem

    loops = problem.time.loops if isinstance(problem, Problem) else ()
    return [(loop.workload.name, Size(**loop.workload.figures(loop.degrees))) for loop in loops]


def _print_failures(count: int, first: Sequence[Mapping[str, Any]]) -> None:
    """Print on the error stream how many designs could not be evaluated, and the first of them with their reasons."""
    verb, shown = ("counts", "") if count == 1 else ("count", f"; the first {len(first)}" if len(first) < count else "")
    print(
        f"evo-libra: {counted(count, 'design')} could not be evaluated and {verb} as infeasible{shown}:",
        file=sys.stderr,
    )
    for line, times in Counter(map(_failure_line, first)).items():
        print(f"  {line}{f' ({times} designs)' if times > 1 else ''}", file=sys.stderr)


def _failure_line(row: Mapping[str, Any]) -> str:
    described = {key: value for key, value in row.items() if key not in ("reason", "genes", "description")}
    words = ", ".join(f"{key} {value}" for key, value in described.items()) or f"genes {row['genes']}"
    return f"{shortened(printable(words))}: {row['reason']}"


_LONG_SECONDS = 2.0


def _faster(problem: SearchProblem, seconds: float) -> list[str]:
    """Return how such a search is faster, where it was long, numba is missing, and numba makes it twice as fast."""
    from evo_libra.problem.problem import Problem

    simulated = isinstance(problem, Problem) and problem.time.predicts_astra_sim
    if not simulated or seconds < _LONG_SECONDS or is_installed("numba"):
        return []
    return ["numba makes such a search several times as fast: pip install 'evo-libra[fast]'"]
