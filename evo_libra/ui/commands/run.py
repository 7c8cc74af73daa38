"""An experiment, run."""

from __future__ import annotations

import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING

from evo_libra.errors import InputError, counted, explained, shortened
from evo_libra.explain.labels import duration
from evo_libra.installed import require
from evo_libra.named_code import OPTION, trust_files, trusts_files
from evo_libra.ui.commands.plan import SHOWN_FAILURES, worker_count
from evo_libra.ui.commands.shared import Flag, Json, Out, TrustCode, app, check_min
from evo_libra.ui.processes import AGAIN, program
from evo_libra.ui.tables.named_runs import DEFAULT, written_to
from evo_libra.ui.tables.output import print, print_json, progress_bar

if TYPE_CHECKING:
    from evo_libra.experiment.execution.batch import Ended, Summary
    from evo_libra.experiment.execution.job import Executor
    from evo_libra.experiment.execution.plan import PlannedRun
    from evo_libra.experiment.execution.scheduler import Tls
    from evo_libra.experiment.run.spec import Experiment


_DONE, _FAILURES, _INTERRUPTED = 0, 3, 130


@app.command
def run(  # noqa: PLR0913 - each is an option of the command
    experiment: Path,
    *,
    results: Out = DEFAULT,
    workers: int | None = None,
    scheduler: str | None = None,
    tls_ca_file: Path | None = None,
    tls_cert: Path | None = None,
    tls_key: Path | None = None,
    detach: Flag = False,
    retry_failed: Flag = False,
    rerun_stale: Flag = False,
    trust_code: TrustCode = False,
    as_json: Json = False,
) -> int:
    """Run an experiment: skip runs that are done, continue interrupted ones. Exit code 3: some runs have failed.

    Parameters
    ----------
    experiment:
        Path of an experiment file.
    workers:
        Worker processes on this machine, one per core when left out; 0 runs everything in this process.
    scheduler:
        Address or file of a running Dask scheduler to use; whoever reaches one without certificates runs code as you.
    tls_ca_file:
        Certificate of the authority that has signed those of a scheduler and its workers, as of `dask scheduler`.
    tls_cert:
        This program's certificate for the scheduler.
    tls_key:
        The key of that certificate.
    detach:
        Leave the batch running without a terminal.
    retry_failed:
        Repeat runs that have failed.
    rerun_stale:
        Repeat runs that another version of the program has done.
    """
    from evo_libra.experiment.execution.batch import run_batch
    from evo_libra.experiment.execution.plan import plan_of, wanted
    from evo_libra.experiment.execution.scheduler import Tls
    from evo_libra.experiment.file.expansion import load_experiment
    from evo_libra.experiment.store.messages import catching_interrupts

    trust_files(allowed=trust_code)
    again = tuple(name for name, asked in (("failed", retry_failed), ("stale", rerun_stale)) if asked)
    options = RunOptions(results, workers, scheduler, Tls(tls_ca_file, tls_cert, tls_key), again)
    if workers is not None and scheduler is not None:
        raise InputError("--workers is for workers of this machine; with --scheduler, those of the scheduler are used")
    if workers is not None:
        check_min("workers", workers, 0)
    if scheduler is None and (words := _tls_words(options.tls)):
        raise InputError(f"{words[0]} belongs to --scheduler; workers of this machine have certificates of their own")
    if workers != 0:
        require("distributed", "cryptography", extra="cluster", purpose="run without --workers 0")
    loaded = load_experiment(experiment)
    planned = plan_of(loaded, written_to(options.results))
    if detach:
        return _detach(loaded, options, as_json=as_json)
    todo = wanted(planned, options.again)
    with catching_interrupts() as interrupted, _Lines(len(todo), len(planned)) as lines:
        executor = _executor(options, loaded.name, len(todo), interrupted, lines)
        try:
            summary = run_batch(
                loaded, planned, options.results, executor,
                again=options.again, interrupted=interrupted, on_end=lines, on_wait=lines.wait, on_news=lines.tell,
            )  # fmt: skip
        finally:
            executor.close()
    return _report(loaded, options, planned, summary, as_json=as_json)


@dataclass(frozen=True)
class RunOptions:
    """Execution of a batch; `again` names the statuses of ended runs that are run again."""

    results: Path
    workers: int | None
    scheduler: str | None
    tls: Tls
    again: tuple[str, ...]


def _executor(
    options: RunOptions, experiment: str, runs: int, interrupted: Callable[[], bool], lines: _Lines
) -> Executor:
    from evo_libra.experiment.execution.executor import InProcess
    from evo_libra.experiment.execution.local_worker import local_cluster
    from evo_libra.experiment.execution.plan import batch_folder
    from evo_libra.experiment.execution.scheduler import join

    if options.scheduler is not None:
        return join(options.scheduler, options.tls, lines.tell)
    workers = worker_count(options.workers, runs)
    if not workers or not runs:
        return InProcess(interrupted)
    return local_cluster(workers, batch_folder(options.results, experiment).path, lines.tell)


def _tls_words(tls: Tls) -> list[str]:
    """Return files for TLS as words of the command line, from any folder."""
    given = ((one.name, getattr(tls, one.name)) for one in fields(tls))
    return [
        word
        for name, path in given
        if path is not None
        for word in (f"--tls-{name.replace('_', '-')}", str(path.absolute()))
    ]


class _Lines:
    """Shows what becomes of runs: a bar on a terminal, else a line for each."""

    def __init__(self, todo: int, total: int) -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn

        self.failed = 0
        self.progress = progress_bar(
            BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"), TimeRemainingColumn(compact=True)
        )
        self.plain = self.progress.disable
        self.task = self.progress.add_task("runs", total=todo)
        if self.plain:
            self.tell(f"{todo:,} of {counted(total, 'run')} to be executed")

    def __enter__(self) -> _Lines:  # noqa: PYI034 - a final class
        self.progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.progress.stop()

    def __call__(self, ended: Ended) -> None:
        report, spec = ended.report, ended.spec
        if report.ending == "interrupt" and not report.fresh:
            return
        text = f"[{ended.count}/{ended.total}] {report.ending} {spec.id}" + (f" ({spec.label})" if spec.label else "")
        if report.ending in ("failed", "machine"):
            self.failed += report.ending == "failed"
            text += f": {shortened(report.error)}"
        else:
            figures = report.figures
            text += f" {counted(figures.evaluations, 'evaluation')}, {figures.front_size:,} on the front"
            text += f", {duration(figures.wall_s)}"
        if self.plain or report.ending in ("failed", "machine"):
            self.tell(text)
        failed = f", {self.failed} failed" if self.failed else ""
        self.progress.update(self.task, completed=ended.count, description=f"runs{failed}")

    def wait(self, why: str) -> None:
        """Show why nothing happens."""
        self.tell(f"waiting: {why}")

    def tell(self, news: str) -> None:
        """Show a line."""
        from rich.text import Text

        if self.plain:
            print(f"{time.strftime('%H:%M:%S')} {news}", file=sys.stderr, flush=True)
        else:
            self.progress.console.print(Text(news))


def _report(
    experiment: Experiment, options: RunOptions, planned: Sequence[PlannedRun], summary: Summary, *, as_json: bool
) -> int:  # fmt: skip
    from evo_libra.experiment.store.folder import LOG

    bad = [report for report in summary.reports.values() if report.ending in ("failed", "stop", "again")]
    refused = [report for report in summary.reports.values() if report.ending == "machine"]
    before = sum(run.state == "failed" for run in planned) if "failed" not in options.again else 0
    counts = {
        "runs": len(planned), "done": summary.count("done"), "skipped": summary.skipped - before,
        "stale": summary.stale, "failed": len(bad) + before, "interrupted": summary.interrupted,
    }  # fmt: skip
    if as_json:
        failures = [{"id": report.id, "error": report.error or report.ending} for report in (*bad, *refused)]
        print_json({"experiment": experiment.name, **counts, "wall_s": summary.seconds, "failures": failures})
    else:
        left = counts["runs"] - counts["done"] - counts["skipped"] - counts["failed"]
        print(
            f"{experiment.name}: {counts['done']:,} done, {counts['skipped']:,} skipped, {counts['failed']:,} failed"
            + (f", {left:,} left" if left else "")
            + f" of {counted(counts['runs'], 'run')} in {duration(summary.seconds)}"
        )
        for report in bad[:SHOWN_FAILURES]:
            print(f"{report.ending} {report.id}: {shortened(report.error)} ({options.results / report.id / LOG})")
        for report in refused[:SHOWN_FAILURES]:
            print(f"not executed {report.id}: {shortened(report.error)}; the same command does it")
        if summary.stale:
            print(f"{summary.stale:,} were made by another version of the program; --rerun-stale runs them again")
        if before:
            print(f"{before:,} had failed before; --retry-failed runs them again")
        print(f"results  {_query(experiment, options)}")
    if summary.interrupted:
        print("evo-libra: interrupted; finished work is kept, and the same command continues", file=sys.stderr)
        return _INTERRUPTED
    return _FAILURES if counts["failed"] or refused else _DONE


def _query(experiment: Experiment, options: RunOptions) -> str:
    """Return the command that lists the runs of an experiment, from where this one was given."""
    words = ["evo-libra", "results", f"experiment:{experiment.name}"]
    if options.results.absolute() != Path("results").absolute():
        words += ["--out", str(options.results)]
    return shlex.join(words)


def _detach(experiment: Experiment, options: RunOptions, *, as_json: bool) -> int:
    """Start the batch as a program of its own that no terminal can end."""
    from evo_libra.experiment.execution.plan import batch_folder
    from evo_libra.experiment.store.records import RUNNER_LOG
    from evo_libra.experiment.store.staging import make_folder

    folder = batch_folder(options.results, experiment.name)
    log = folder.path / RUNNER_LOG
    words = ["run", str(experiment.file.resolve()), "--out", str(options.results.absolute())]
    words += [] if options.workers is None else ["--workers", str(options.workers)]
    words += [] if options.scheduler is None else ["--scheduler", options.scheduler, *_tls_words(options.tls)]
    words += [AGAIN[one] for one in options.again]
    words += [OPTION] if trusts_files() else []
    with explained(folder.path):
        make_folder(folder.path)
        with log.open("ab") as file:
            process = subprocess.Popen(  # noqa: S603 - our own program
                program(words), stdin=subprocess.DEVNULL, stdout=file, stderr=file, start_new_session=True,
            )  # fmt: skip
    if as_json:
        print_json({"experiment": experiment.name, "pid": process.pid, "log": str(log), "batch": str(folder.path)})
    else:
        print(f"{experiment.name} runs as process {process.pid}; its lines go to {log}")
        print(f"watch    {_query(experiment, options)}\nstop     kill {process.pid}")
    return _DONE
