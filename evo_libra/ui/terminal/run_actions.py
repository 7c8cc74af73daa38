"""Actions of keys on runs: requests in the store, and programs that are started."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

from evo_libra.errors import EvoLibraError, InputError, counted
from evo_libra.experiment.results.catalogue import request
from evo_libra.experiment.run.record import BatchRecord, RunRecord
from evo_libra.named_code import OPTION, trust_files
from evo_libra.ui.terminal import new_run, queue_view, view_model
from evo_libra.ui.terminal.board import Board
from evo_libra.ui.terminal.session import Scene
from evo_libra.ui.terminal.widgets.dialogs import Confirm, Field, Form

Action = Literal["start", "pause", "stop", "retry"]
_OPTIONS = "--workers 4, or --scheduler tls://head:8786; as many workers as cores when empty"
_REQUESTED = "all of {}: {} requested"


@dataclass(frozen=True)
class Ask:
    """Requests to be left in the store for runs or batches, and what is said once that has happened."""

    targets: tuple[RunRecord | BatchRecord, ...]
    action: str
    done: str


@dataclass(frozen=True)
class Launch:
    """A batch that is to be started.

    Attributes
    ----------
    file : the experiment file; None for a single search, `run`, whose file is to be written first.
    again : which runs that have ended are run again: ``stale``, ``failed``.
    question : what the user is asked before.
    """

    file: Path | None
    run: RunRecord
    again: tuple[str, ...]
    question: str


@dataclass(frozen=True)
class Draft:
    """A text of an experiment file that the user edits before it is started.

    Attributes
    ----------
    title : what the editor says.
    write : writes the text to its file, and returns the path.
    options : of ``evo-libra run``.
    """

    title: str
    write: Callable[[str], Path]
    options: str = ""


def batch_of(run: RunRecord, batches: Sequence[BatchRecord]) -> BatchRecord | None:
    """Return the batch that executes a run, or else that which did last; None for a single search."""
    its = [batch for batch in batches if run.id in batch.runs]
    return max(its, key=lambda batch: (bool(batch.runner), batch.started), default=None)


def answer(action: Action, run: RunRecord, scene: Scene) -> Ask | Launch:
    """Return what an action means for a run as it is now; raise an InputError that says why it means nothing."""
    batch = batch_of(run, scene.batches)
    name, asked = scene.names.get(run.id, run.id), scene.requests.get(run.id)
    alive = bool(run.worker) or (batch is not None and bool(batch.runner))
    if action == "start":
        return _start(run, batch, scene, name, alive=alive)
    if action == "retry":
        return _retry(run, batch, scene, name, alive=alive)
    if run.status in ("done", "stale", "failed", "damaged"):
        raise InputError(f"{name} is {run.status}: there is nothing to {action}")
    if not alive:
        raise InputError(f"no process is at work on {name}; r starts it")
    if asked == action:
        raise InputError(f"{name} has been asked to {action} already")
    return Ask((run,), action, f"{name}: {action} requested; its checkpoint is kept, r goes on")


def _start(run: RunRecord, batch: BatchRecord | None, scene: Scene, name: str, *, alive: bool) -> Ask | Launch:
    if run.status == "done":
        raise InputError(f"{name} is done; c makes a copy of it, which continues it if it has more evaluations")
    if run.status in ("stale", "failed"):
        raise InputError(f"{name} is {run.status}; R runs it again")
    if not alive:
        return _launch(run, batch, scene, name, ())
    if batch is not None and scene.requests.get(batch.id) == "pause":
        return Ask((batch,), "resume", _REQUESTED.format(batch.experiment, "resume"))
    if scene.requests.get(run.id) not in ("pause", "stop"):
        if run.status == "running":
            raise InputError(f"{name} is running already")
        if run.status == "queued":
            raise InputError(f"{name} waits for a worker")
    return Ask((run,), "resume", f"{name}: resume requested")


def _retry(run: RunRecord, batch: BatchRecord | None, scene: Scene, name: str, *, alive: bool) -> Ask | Launch:
    if run.status not in ("failed", "stale", "interrupted"):
        raise InputError(f"{name} is {run.status}; only runs that failed, are stale or were stopped are run again")
    if alive and run.status == "stale":
        raise InputError(f"{name} is stale; it can be run again once its batch has ended")
    if alive:
        return Ask((run,), "retry", f"{name}: another try requested")
    return _launch(run, batch, scene, name, () if run.status == "interrupted" else (run.status,))


def _launch(run: RunRecord, batch: BatchRecord | None, scene: Scene, name: str, again: tuple[str, ...]) -> Launch:
    if batch is None:
        return Launch(None, run, again, f"Start {name}?")
    status = {one.id: one.status for one in scene.every}
    waiting = ("queued", "interrupted", "paused", "damaged", *again)
    todo = sum(status.get(run_id) in waiting for run_id in batch.runs)
    question = f"Start {batch.experiment}? {todo:,} of {counted(len(batch.runs), 'run')} to be executed."
    return Launch(Path(batch.file), run, again, question)


def pause_all(run: RunRecord, scene: Scene) -> Ask:
    """Return what pauses all runs of a run's batch, or goes on with them where they have been asked to pause."""
    batch = batch_of(run, scene.batches)
    if batch is None:
        raise InputError(f"{scene.names.get(run.id, run.id)} belongs to no batch; p pauses it")
    if not batch.runner:
        raise InputError(f"no process executes {batch.experiment}; r starts it")
    if scene.requests.get(batch.id) == "pause":
        return Ask((batch,), "resume", _REQUESTED.format(batch.experiment, "resume"))
    return Ask((batch,), "pause", f"{_REQUESTED.format(batch.experiment, 'pause')}; r goes on")


def stop_all(scene: Scene) -> Ask:
    """Return the requests that stop every batch and every single search with a process at work."""
    batches = [batch for batch in scene.batches if batch.runner]
    covered = {run_id for batch in batches for run_id in batch.runs}
    alone = [run for run in scene.every if run.worker and run.id not in covered]
    done = f"{counted(len(batches) + len(alone), 'stop request')}; checkpoints are kept"
    return Ask((*batches, *alone), "stop", done)


class RunActions:
    """Start, pause, resume, stop, retry, copy, compare; the methods are actions of keys."""

    def __init__(self, board: Board) -> None:
        self.board = board

    def act(self, action: Action) -> None:
        """Start, resume, pause or run again the selected run."""
        run = self.board.run
        if run is None:
            self.board.say("there is no run; n starts a problem or an experiment", "warning")
            return
        try:
            meaning = answer(action, run, self.board.scene)
        except InputError as error:
            self.board.say(str(error), "warning")
            return
        if isinstance(meaning, Ask):
            self._ask(meaning)
        else:
            self._confirm_launch(meaning)

    def _ask(self, what: Ask) -> None:
        """Leave requests in the store."""
        try:
            for target in what.targets:
                request(target, what.action)
            self.board.say(what.done)
        except EvoLibraError as error:
            self.board.say(str(error), "error")
        self.board.change(self.board.state, now=True)

    def pause_batch(self) -> None:
        """Pause all runs of the selected run's batch, or go on with them."""
        run = self.board.run
        if run is not None:
            self.board.attempt(lambda: self._ask(pause_all(run, self.board.scene)))

    def stop(self) -> None:
        """Stop the selected run or its batch, after a question."""
        run, scene = self.board.run, self.board.scene
        if run is None:
            return
        batch, answers, reason = batch_of(run, scene.batches), list[tuple[str, Ask | Launch]](), ""
        try:
            answers.append((f"Stop {scene.names[run.id]}", answer("stop", run, scene)))
        except InputError as error:
            reason = str(error)
        if batch is not None and batch.runner:
            done = f"{_REQUESTED.format(batch.experiment, 'stop')}; checkpoints are kept"
            answers.append((f"Stop {batch.experiment}", Ask((batch,), "stop", done)))
        if not answers:
            self.board.say(reason, "warning")
            return

        def take(chosen: str) -> None:
            if isinstance(what := answers[int(chosen)][1], Ask):
                self._ask(what)

        question = "Stop? What has been found is kept, and r goes on from there."
        self.board.ask(Confirm(question, [(label, str(at)) for at, (label, _) in enumerate(answers)]), take)

    def stop_and_quit(self) -> None:
        """Stop everything and leave, after a question."""
        what = stop_all(self.board.scene)
        if not what.targets:
            self.board.screen.app.exit()
            return

        def take(chosen: str) -> None:
            if chosen == "stop":
                self._ask(what)
            self.board.screen.app.exit()

        names = ", ".join(getattr(target, "experiment", "") or target.id for target in what.targets)
        answers = [("Stop and leave", "stop"), ("Leave them running", "leave")]
        self.board.ask(Confirm(f"Stop {names}, and leave?", answers), take)

    def mark(self) -> None:
        """Plot the selected run with others, or no longer."""
        run = self.board.run
        if run is not None:
            self.board.attempt(lambda: self.board.change(view_model.with_mark(self.board.state, run.id)))

    def unmark(self) -> None:
        """Plot the selected run alone."""
        self.board.update(marked=())

    def sort(self) -> None:
        """Take the next order of the runs."""
        self.board.update(sort=queue_view.next_sort(self.board.state.sort))

    def _confirm_launch(self, what: Launch) -> None:
        batch = batch_of(what.run, self.board.scene.batches)
        field = Field("options", "Options of evo-libra run", new_run.last_options(batch), _OPTIONS)

        def take(filled: dict[str, str]) -> None:
            self.board.say_in_thread(partial(self._launch, what, filled["options"]), "launch")

        self.board.ask(Form(new_run.with_warning(what.question, what.run), [field], "Start"), take)

    def _launch(self, what: Launch, options: str) -> str:
        board = self.board
        trust_files(allowed=OPTION in options.split())
        path = what.file or new_run.file_of_search(what.run, board.scene.batches, board.results)
        return new_run.start(path, board.results, again=what.again, options=options)

    def new_batch(self) -> None:
        """Start a problem, whose settings can be changed before, or an experiment file."""
        known = tuple(new_run.choices(self.board.scene.batches))
        file = Field("file", "Problem or experiment file (right arrow completes)", "", "gpt3-4k", known)

        def take(filled: dict[str, str]) -> None:
            if filled["file"]:
                self.board.attempt(partial(self._new, filled["file"], filled["options"]))

        self.board.ask(
            Form("Start a problem or an experiment", [file, Field("options", "Options", "", _OPTIONS)], "Start"), take
        )

    def _new(self, name: str, options: str) -> None:
        board, path = self.board, Path(name).expanduser()
        if not new_run.is_problem(str(path)):
            board.say_in_thread(lambda: new_run.start(path, board.results, options=options), "launch")
            return
        own = new_run.free_name(path.stem, board.scene.batches, board.results)
        title = f"Search of {path.stem}: edit, then start"
        draft = Draft(title, lambda text: new_run.write_file(board.results, own, text), options)
        self._edit(draft, new_run.search_text(str(path), own), "")

    def copy(self) -> None:
        """Copy the selected run as an experiment file, to be edited and started."""
        run = self.board.run
        if run is not None:
            self.board.attempt(lambda: self._copy(run))

    def _copy(self, run: RunRecord) -> None:
        origin, batches = run.experiment.split(", ")[0] or run.problem, self.board.scene.batches
        name = new_run.free_name(f"{origin}-copy", batches, self.board.results)
        title = f"Copy of {self.board.scene.names.get(run.id, run.id)}: edit, then start"
        draft = Draft(title, lambda text: new_run.write_experiment(self.board.results, run, name, text, batches))
        self._edit(draft, new_run.experiment_text(run, name, batches), "")

    def _edit(self, draft: Draft, text: str, wrong: str) -> None:
        from evo_libra.ui.terminal.widgets.editor import Editor  # noqa: PLC0415 - the first screen does not wait for it

        def take(edited: str) -> None:
            self.board.in_thread(partial(self._start_draft, draft, edited), "launch")

        self.board.ask(Editor(draft.title, text, "Start", wrong), take)

    def _start_draft(self, draft: Draft, text: str) -> None:
        path, batches = None, self.board.scene.batches
        try:
            path = draft.write(text)
            _, todo = new_run.checked(path, self.board.results, batches)
            if not todo:
                raise InputError("its runs are done already; change the seed, the evaluations, the problem ...")
            self.board.say_later(new_run.start(path, self.board.results, options=draft.options))
        except EvoLibraError as error:
            if path is not None:
                path.unlink(missing_ok=True)
            self.board.screen.app.call_from_thread(self._edit, draft, text, str(error))
            return
        self.board.screen.app.call_from_thread(partial(self.board.change, self.board.state, now=True))
