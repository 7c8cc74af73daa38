"""Search a problem, keep the result, show the front."""

from __future__ import annotations

import math
import sys
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.progress import Progress, SpinnerColumn, TextColumn, TimeRemainingColumn

from evo_libra.errors import EvoLibraError, InfeasibleError, InputError, counted
from evo_libra.experiment.execution.executor import Job, Report, catching_interrupts
from evo_libra.experiment.execution.search_loop import in_processes
from evo_libra.experiment.execution.search_run import Outcome
from evo_libra.experiment.execution.worker import perform
from evo_libra.experiment.file.expansion import planned_run
from evo_libra.experiment.run.origin import build, origin_of
from evo_libra.experiment.run.record import ending_text
from evo_libra.experiment.store.evaluated import read_failures
from evo_libra.experiment.store.folder import DONE, FAILURES, LOG, PLOT, RunFolder
from evo_libra.front.explain import sizes_of
from evo_libra.front.front import Front
from evo_libra.front.indicators import hypervolume
from evo_libra.problem.problem import Problem
from evo_libra.problem.protocol import SearchProblem
from evo_libra.problem.quirks import Warned, warnings_of
from evo_libra.searching.loop import Snapshot
from evo_libra.ui.commands.front import result_json, show_front
from evo_libra.ui.output import new_console
from evo_libra.ui.plots.pictures import figure_of
from evo_libra.ui.texts import print_folded, print_json, size_of_iteration, written_to
from evo_libra.ui.warned import show_warnings

_REFRESH_SECONDS = 0.25


class Watch:
    """Shows evaluations, rate, size of the front and hypervolume while a search runs."""

    def __init__(self, progress: Progress, problem: SearchProblem, evaluations: int) -> None:
        self.progress, self.last = progress, -math.inf
        self.bounds: tuple[Any, Any] | None = None
        self.task = progress.add_task(problem.name, total=evaluations, figures="")

    def design(self) -> None:
        """Show one design more, in a generation that takes long."""
        self.progress.update(self.task, advance=1)

    def __call__(self, snapshot: Snapshot, seconds: float) -> None:
        """Show where a search is between two generations."""
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


_INTERRUPTED = 130


def search_command(
    name: str,
    options: Mapping[str, Any],
    results: Path,
    assignments: Sequence[str],
    *,
    resume: bool,
    plot: bool,
    as_json: bool,
) -> int:
    """Search, keep the result, show the front."""
    origin = origin_of(name, assignments)
    spec, problem = planned_run(origin, **options), build(origin)
    job = Job(
        str(written_to(results).absolute()), uuid.uuid4().hex, again=("failed",) if resume else ("all",), resume=resume,
        command=tuple(sys.argv),
    )  # fmt: skip
    found: list[Outcome] = []

    def finish(outcome: Outcome) -> None:
        found.append(outcome)
        if plot and len(outcome.front):
            outcome.folder.write(PLOT, lambda file: figure_of(outcome.front, problem.objectives, problem.name, file))

    messages = new_console(stderr=True)
    with Progress(
        SpinnerColumn(), TimeRemainingColumn(compact=True), TextColumn("{task.description}{task.fields[figures]}"),
        console=messages, transient=True, disable=not messages.is_terminal,
    ) as progress, catching_interrupts() as interrupted:  # fmt: skip
        watch = Watch(progress, problem, spec.evaluations)
        report = perform(
            spec, job, interrupted=interrupted, watch=watch, finish=finish, on_design=watch.design, place=in_processes
        )
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
    return _report(problem, folder, front, report, as_json=as_json)


def _report(problem: SearchProblem, run: RunFolder, front: Front, report: Report, *, as_json: bool) -> int:
    folder, failures = run.path, read_failures(run)
    designs = front.frame["design"].to_list() if "design" in front.frame.columns else ()
    warnings = warnings_of(problem, designs)
    end = run.read_json(DONE) if run.done else {}
    loops = problem.time.loops if isinstance(problem, Problem) else ()
    workloads = [{"name": loop.workload.name, **sizes_of(loop)} for loop in loops]
    if as_json:
        more: dict[str, Any] = {key: end[key] for key in ("ended", "restarts") if key in end}
        more |= {"failures": failures} if failures else {}
        more |= {"workloads": workloads} if workloads else {}
        report_json = result_json(front, report.figures.evaluations, report.figures.wall_s, folder)
        print_json({**report_json, "warnings": list(map(Warned.json, warnings)), **more})
    elif len(front):
        show_front(front, problem.objectives, problem.name, rows=12)
        for workload in workloads:
            groups = " ".join(f"{name}={degree}" for name, degree in workload["parallelism"].items())
            print_folded(": ".join(filter(None, (f"{workload['name']} {groups}".strip(), size_of_iteration(workload)))))
        told = f" ({words})" if (words := ending_text(end.get("ended", ""), end.get("restarts", 0))) else ""
        evaluated, found = counted(report.figures.evaluations, "evaluation"), counted(len(front), "design")
        print(f"\n{evaluated} in {report.figures.wall_s:.2f} s{told}; {found} on the front")
        show_warnings(warnings)
        print(f"front  {folder / 'front.parquet'}")
        if (folder / PLOT).exists():
            print(f"plot   {folder / PLOT}")
    if failures:
        print(
            f"evo-libra: {counted(len(failures), 'design')} could not be evaluated and "
            f"{'counts' if len(failures) == 1 else 'count'} as infeasible, the first because {failures[0]['reason']}; "
            f"{folder / FAILURES} has the list",
            file=sys.stderr,
        )
    if report.ending == "interrupt":
        print(f"evo-libra: interrupted; what was found is kept in {folder}; --resume goes on", file=sys.stderr)
        return _INTERRUPTED
    if not len(front):
        raise InfeasibleError(
            f"no design meets the constraints, of {report.figures.evaluations:,} that were evaluated; "
            "loosen them, or give more --evaluations"
        )
    return 0
