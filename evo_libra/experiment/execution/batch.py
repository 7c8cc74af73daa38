"""The execution of an experiment: send its runs, collect their reports, send lost runs again."""

from __future__ import annotations

import sys
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from evo_libra.errors import InputError, StorageError, counted
from evo_libra.experiment.execution.job import Executor, Job, Report, Undelivered
from evo_libra.experiment.execution.plan import PlannedRun, batch_folder, tidy, wanted, write_plan
from evo_libra.experiment.execution.worker import ATTEMPTS, abandon
from evo_libra.experiment.run.record import RunFigures
from evo_libra.experiment.run.spec import Experiment, RunSpec
from evo_libra.experiment.store.claim import Lease, current_claim, server_time
from evo_libra.experiment.store.folder import DONE, FAILED, RUNNER, RunFolder
from evo_libra.experiment.store.messages import all_requested, request, settle
from evo_libra.experiment.store.search_state import checkpoint_evaluations
from evo_libra.experiment.store.staging import TakenOverError

LOOK_SECONDS = 0.5
"""Time between two checks of requests, and of runs that another process executes."""
WAIT_SECONDS = 5.0
"""Time without any news after which the reason is reported."""
SILENT_SECONDS = 5.0
"""Time without a report after which the folders of runs are asked; a report may be lost on its way."""
IDLE_SECONDS = 30.0
"""Time without a report after which runs that no process has are sent again."""
STOP_SECONDS = 45.0
"""Time after a request to stop, and without a report, that runs at work have for their checkpoints."""
NEWS_SECONDS = 60.0
"""Time without a run that ends after which the progress of the running ones is reported."""


@dataclass(frozen=True)
class Ended:
    """A run that has ended for this batch, as the `count`-th of `total` runs, and what its worker said."""

    spec: RunSpec
    report: Report
    count: int
    total: int


@dataclass(frozen=True)
class Summary:
    """The outcome of a batch.

    Attributes
    ----------
    reports : of its runs, by id; those that were never sent are not in it.
    skipped, stale : how many had ended before, and how many of them were made by another version of the program.
    seconds : from the first run sent to the last report.
    """

    reports: Mapping[str, Report]
    skipped: int
    stale: int
    seconds: float
    interrupted: bool

    def count(self, *endings: str) -> int:
        """Return how many runs ended like this."""
        return sum(report.ending in endings for report in self.reports.values())


def run_batch(
    experiment: Experiment,
    planned: list[PlannedRun],
    results: Path,
    executor: Executor,
    *,
    again: tuple[str, ...] = (),
    interrupted: Callable[[], bool] = lambda: False,
    on_end: Callable[[Ended], None] = lambda _ended: None,
    on_wait: Callable[[str], None] = lambda _why: None,
    on_news: Callable[[str], None] = lambda _news: None,
) -> Summary:
    """Execute the runs of an experiment that are not done yet; `planned`, from `plan_of`, is what is there of it.

    Of the runs that have ended, those are run again that `again` names: ``stale``, ``failed``. Raises a `StorageError`
    where results cannot be written; finished runs are intact.

    Parameters
    ----------
    interrupted : whether this process is asked to stop; workers then keep a checkpoint and end.
    on_end, on_wait : called when a run ends, and with a new reason why nothing happens for a while.
    on_news : called with how far the runs at work are, when none has ended for a minute; and when they are to stop.
    """
    results = results.absolute()
    folder, todo = batch_folder(results, experiment.name), wanted(planned, again)
    batch = _Batch(
        experiment=experiment, todo=todo, results=results, folder=folder, executor=executor, again=again, on_end=on_end,
        on_wait=on_wait, on_news=on_news,
    )  # fmt: skip
    # The claim only shows that a process is at work; a second program with the same experiment shares the runs.
    with Lease(folder.path, batch.token) as lease:
        if lease.staging is not None:
            with suppress(TakenOverError):
                RunFolder(folder.path, lease.staging).take_over()
            batch.tidy()
        write_plan(experiment, results)
        folder.write_json(RUNNER, {"command": list(sys.argv), "started": time.time(), "workers": executor.workers()})
        begun = time.perf_counter()
        try:
            batch.loop(interrupted)
        finally:
            settle(results, batch.stop_target)
        for run in planned:
            if (results / run.spec.id).is_dir():
                tidy(run.spec, results, batch.token)
    stale = sum(run.state == "stale" for run in planned) if "stale" not in again else 0
    seconds = time.perf_counter() - begun
    return Summary(batch.ended, len(planned) - len(todo), stale, seconds, batch.stopping)


class _Batch:
    """The state of each run of a batch: waiting for a shorter one, sent, elsewhere, paused, ended."""

    def __init__(
        self,
        experiment: Experiment,
        todo: list[RunSpec],
        results: Path,
        folder: RunFolder,
        executor: Executor,
        again: tuple[str, ...],
        on_end: Callable[[Ended], None],
        on_wait: Callable[[str], None],
        on_news: Callable[[str], None],
    ) -> None:
        self.token = uuid.uuid4().hex[:12]
        self.results, self.executor = results, executor
        self.on_end, self.on_wait, self.on_news = on_end, on_wait, on_news
        self.name = folder.path.relative_to(results).as_posix()
        self.stop_target = f"{self.name}/{self.token}"
        self.specs = {spec.id: spec for spec in todo}
        self.waiting, self.sent = _chains(todo), set[str]()
        self.elsewhere, self.paused = set[str](), set[str]()
        self.ended: dict[str, Report] = {}
        self.deaths: dict[str, int | None] = {}
        self.lost: dict[str, int] = {}
        self.looked, self.stopping = 0.0, False
        self.happened, self.why = time.monotonic(), ""
        self.asked = self.happened
        self.reported = self.happened
        job = Job(
            str(results),
            self.token,
            stops=(self.name, self.stop_target),
            again=again,
            checkpoint_seconds=experiment.checkpoint_seconds,
            command=tuple(sys.argv),
        )
        self.job: dict[str, Any] = asdict(job)
        for target in all_requested(results).keys() & {*self.specs, self.name}:
            settle(results, target)  # it was asked of an earlier execution

    def tidy(self) -> None:
        """Remove the requests to an earlier execution that was killed."""
        for target in all_requested(self.results):
            if target.startswith(f"{self.name}/"):
                settle(self.results, target)

    def loop(self, interrupted: Callable[[], bool]) -> None:
        """Go on until every run has ended, or those at work have after a request to stop."""
        for key in list(self.waiting):
            self._send_next(key)
        while self.waiting or self.sent or self.elsewhere or self.paused:
            if interrupted():
                self._stop()
            for run_id, answer in self.executor.poll(LOOK_SECONDS / 2):
                if run_id not in self.sent:  # its folder has told the same
                    continue
                self.happened = self.reported = time.monotonic()
                self.sent.discard(run_id)
                self._take(run_id, self._report_death(run_id, answer) if isinstance(answer, Undelivered) else answer)
            if time.monotonic() - self.looked > LOOK_SECONDS:
                self.looked = time.monotonic()
                self._look()
                self._look_at_silent()
                self._report_wait()
                self._report_progress()
            if self.stopping and self.sent and not self.executor.workers():
                self.executor.withdraw()
                self.sent.clear()

    def _stop(self) -> None:
        if not self.stopping:
            self.stopping = True
            request(self.results, self.stop_target, "stop")
            if self.sent:
                self.on_news("stopping; runs at work keep a checkpoint")
        for group in (self.waiting, self.elsewhere, self.paused):
            group.clear()

    def _send_next(self, key: tuple[str, int]) -> None:
        """Send the shortest run of a search that has not been sent; longer ones go on from what it leaves."""
        chain = self.waiting.get(key)
        if chain:
            self._submit(chain.pop())
        if not chain:
            self.waiting.pop(key, None)

    def _submit(self, run_id: str, again: tuple[str, ...] = ()) -> None:
        self.sent.add(run_id)
        job = {**self.job, "again": tuple({*self.job["again"], *again})}
        self.executor.submit(run_id, self.specs[run_id].data(), job)

    def _take(self, run_id: str, report: Report) -> None:
        if report.ending == "storage":
            self._stop()
            raise StorageError(report.error)
        if report.ending == "again" and not self.stopping:
            self._submit(run_id)
            return
        if report.ending in ("busy", "lost") and not self.stopping:
            self.elsewhere.add(run_id)
        elif report.ending == "pause" and not self.stopping:
            self.paused.add(run_id)
        else:
            self.ended[run_id] = report
            self.on_end(Ended(self.specs[run_id], report, len(self.ended), len(self.specs)))
        spec = self.specs[run_id]
        self._send_next((spec.search, spec.seed))

    def _report_death(self, run_id: str, answer: Undelivered) -> Report:
        """Return the report on a run whose workers died: again if they got further than the workers before."""
        here = checkpoint_evaluations(RunFolder(self.results / run_id))
        further = run_id not in self.deaths or self.deaths[run_id] != here
        self.deaths[run_id] = here
        return Report(run_id, "again") if further else abandon(self.specs[run_id], Job(**self.job), answer.error)

    def _look(self) -> None:
        """Check requests, and whether runs of other processes have ended or were given up."""
        actions = all_requested(self.results)
        if actions.get(self.name) == "stop":
            settle(self.results, self.name)
            self._stop()
        for run_id in sorted(self.elsewhere):
            folder = self.results / run_id
            claim = current_claim(folder)
            if RunFolder(folder).done or claim is None or not claim.alive(server_time(folder)):
                self.elsewhere.discard(run_id)
                self._submit(run_id)
        held = actions.get(self.name) == "pause"
        for run_id in sorted(self.paused):
            action = actions.get(run_id)
            if action == "pause" or (held and action is None):
                continue
            self.paused.discard(run_id)
            self._submit(run_id)
            if action == "resume":
                settle(self.results, run_id)
        if actions.get(self.name) == "resume":
            settle(self.results, self.name)
        self._again(actions)

    def _look_at_silent(self) -> None:
        """Take what the folders of runs say, where no report has come for a while, and go on without reports."""
        silent = time.monotonic() - max(self.happened, self.asked)
        if not self.sent or silent < SILENT_SECONDS:
            return
        self.asked = time.monotonic()
        for run_id in sorted(self.sent):
            if (report := self._ended_on_disk(run_id)) is not None:
                self.happened = self.reported = time.monotonic()
                self.sent.discard(run_id)
                self._take(run_id, report)
        silent = time.monotonic() - self.happened
        if self.stopping and self.sent and (silent > STOP_SECONDS or not self._at_work()):
            self.on_news(f"{counted(len(self.sent), 'run has', 'runs have')} not answered; checkpoints are kept")
            self.executor.withdraw()
            self.sent.clear()
        elif not self.stopping and silent > IDLE_SECONDS and self.executor.workers() and not self._at_work():
            self._send_lost()

    def _ended_on_disk(self, run_id: str) -> Report | None:
        """Return the report of a run that has ended by what its folder says; None for one that has not."""
        folder = RunFolder(self.results / run_id)
        if (not folder.done and not (folder.path / FAILED).is_file()) or self._is_at_work(run_id):
            return None
        try:
            if folder.done:
                return Report(run_id, "done", fresh=True, figures=RunFigures.of(folder.read_json(DONE)))
            return Report(run_id, "failed", fresh=True, error=str(folder.read_json(FAILED).get("error", "")))
        except InputError:  # damaged, or just being written
            return None

    def _is_at_work(self, run_id: str) -> bool:
        claim = current_claim(self.results / run_id)
        return claim is not None and claim.alive(server_time(self.results / run_id))

    def _at_work(self) -> bool:
        """Return whether a process has one of the runs that were sent."""
        return any(self._is_at_work(run_id) for run_id in self.sent)

    def _send_lost(self) -> None:
        """Send the runs again that no worker has, though there are workers; end them after some times."""
        self.happened = time.monotonic()
        self.executor.withdraw()
        for run_id in sorted(self.sent):
            self.lost[run_id] = self.lost.get(run_id, 0) + 1
            self.sent.discard(run_id)
            if self.lost[run_id] < ATTEMPTS:
                self._submit(run_id)
            else:
                self._take(run_id, Report(run_id, "machine", error="its workers give no report"))

    def _report_wait(self) -> None:
        """Report why nothing happens."""
        if time.monotonic() - self.happened < WAIT_SECONDS:
            return
        why = ""
        if self.elsewhere and not self.sent:
            why = f"{counted(len(self.elsewhere), 'run is', 'runs are')} executed by another program"
        elif self.paused and not self.sent:
            why = f"{counted(len(self.paused), 'run is', 'runs are')} paused"
        elif self.sent and not self.executor.workers():
            why = "there are no workers yet"
        if why and why != self.why:
            self.on_wait(why)
        self.why = why

    def _report_progress(self) -> None:
        """Report the progress of the running ones."""
        if time.monotonic() - self.reported < NEWS_SECONDS:
            return
        self.reported = time.monotonic()
        here = {run_id: checkpoint_evaluations(RunFolder(self.results / run_id)) for run_id in self.sent}
        at_work = {run_id: count for run_id, count in here.items() if count}
        if at_work:
            asked = sum(self.specs[run_id].evaluations for run_id in at_work)
            self.on_news(
                f"{counted(len(at_work), 'run')} at work, {sum(at_work.values()):,} of "
                f"{counted(asked, 'evaluation')}; {len(self.sent) - len(at_work):,} not begun"
            )

    def _again(self, actions: Mapping[str, str]) -> None:
        """Send runs again that have failed, could not be executed or were stopped, where that is asked for."""
        endings = ("failed", "machine", "stop")
        for run_id in [run_id for run_id, report in self.ended.items() if report.ending in endings]:
            if actions.get(run_id) in ("retry", "resume"):
                settle(self.results, run_id)
                del self.ended[run_id]
                self._submit(run_id, ("failed",))


def _chains(specs: Sequence[RunSpec]) -> dict[tuple[str, int], list[str]]:
    """Return the ids of the runs of each search and seed, the longest first."""
    chains: dict[tuple[str, int], list[str]] = {(spec.search, spec.seed): [] for spec in specs}
    for spec in sorted(specs, key=lambda spec: -spec.evaluations):
        chains[spec.search, spec.seed].append(spec.id)
    return chains
