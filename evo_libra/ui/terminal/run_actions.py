"""What keys do to runs."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

from evo_libra.errors import EvoLibraError, InputError
from evo_libra.experiment.run.record import RunRecord
from evo_libra.ui.terminal import actions, new_run, queue_view, view_model
from evo_libra.ui.terminal.actions import Action, Ask, Launch
from evo_libra.ui.terminal.board import Board
from evo_libra.ui.terminal.widgets.dialogs import Confirm, Editor, Field, Form

_OPTIONS = "--workers 4, or --scheduler tls://head:8786; as many workers as cores when empty"


class RunActions:
    """Start, pause, resume, stop, retry, copy, compare; the methods are actions of keys."""

    def __init__(self, board: Board) -> None:
        self.board = board

    def start(self) -> None:
        """Start or resume the selected run."""
        self._act("start")

    def pause(self) -> None:
        """Pause the selected run."""
        self._act("pause")

    def retry(self) -> None:
        """Run the selected run again."""
        self._act("retry")

    def _act(self, action: Action) -> None:
        run = self.board.run
        if run is None:
            self.board.say("there is no run; n starts an experiment file", "warning")
            return
        try:
            answer = actions.answer(action, run, self.board.scene)
        except InputError as error:
            self.board.say(str(error), "warning")
            return
        if isinstance(answer, Ask):
            self._ask(answer)
        else:
            self._confirm_launch(answer)

    def _ask(self, what: Ask) -> None:
        try:
            self.board.say(actions.ask(what))
        except EvoLibraError as error:
            self.board.say(str(error), "error")
        self.board.change(self.board.state, now=True)

    def pause_batch(self) -> None:
        """Pause all runs of the selected run's batch, or go on with them."""
        if self.board.run is None:
            return
        try:
            self._ask(actions.pause_all(self.board.run, self.board.scene))
        except InputError as error:
            self.board.say(str(error), "warning")

    def stop(self) -> None:
        """Stop the selected run or its batch, after a question."""
        run = self.board.run
        if run is None:
            return
        batch = actions.batch_of(run, self.board.scene.batches)
        answers = []
        try:
            answers.append((f"Stop {self.board.scene.names[run.id]}", actions.answer("stop", run, self.board.scene)))
        except InputError as error:
            reason = str(error)
        if batch is not None and batch.runner:
            all_of_it = Ask((batch,), "stop", f"all of {batch.experiment}: stop requested; checkpoints are kept")
            answers.append((f"Stop {batch.experiment}", all_of_it))
        if not answers:
            self.board.say(reason, "warning")
            return

        def take(answer: str | None) -> None:
            if answer is not None and isinstance(chosen := answers[int(answer)][1], Ask):
                self._ask(chosen)

        question = "Stop? What has been found is kept, and r goes on from there."
        self.board.screen.app.push_screen(
            Confirm(question, [(label, str(at)) for at, (label, _) in enumerate(answers)]), take
        )

    def stop_and_quit(self) -> None:
        """Stop everything and leave, after a question."""
        what = actions.stop_all(self.board.scene)
        if not what.targets:
            self.board.screen.app.exit()
            return

        def take(answer: str | None) -> None:
            if answer == "stop":
                self._ask(what)
                self.board.screen.app.exit()
            elif answer == "leave":
                self.board.screen.app.exit()

        names = ", ".join(getattr(target, "experiment", "") or target.id for target in what.targets)
        self.board.screen.app.push_screen(
            Confirm(f"Stop {names}, and leave?", [("Stop and leave", "stop"), ("Leave them running", "leave")]), take
        )

    def mark(self) -> None:
        """Plot the selected run beside others, or not any more."""
        if self.board.run is not None:
            try:
                self.board.change(view_model.with_mark(self.board.state, self.board.run.id))
            except InputError as error:
                self.board.say(str(error), "warning")

    def unmark(self) -> None:
        """Plot the selected run alone."""
        self.board.change(replace(self.board.state, marked=()))

    def sort(self) -> None:
        """Take the next order of the runs."""
        self.board.change(replace(self.board.state, sort=queue_view.next_sort(self.board.state.sort)))

    def _confirm_launch(self, what: Launch) -> None:
        batch = actions.batch_of(what.run, self.board.scene.batches)
        field = Field("options", "Options of evo-libra run", new_run.last_options(batch), _OPTIONS)

        def take(answer: dict[str, str] | None) -> None:
            if answer is not None:
                self.board.in_thread(partial(self._launch, what, answer["options"]), "launch")

        self.board.screen.app.push_screen(Form(new_run.with_warning(what.question, what.run), [field], "Start"), take)

    def _launch(self, what: Launch, options: str) -> None:
        try:
            path = what.file or self._file_of(what.run)
            self.board.say_later(new_run.start(path, self.board.results, again=what.again, options=options))
        except EvoLibraError as error:
            self.board.say_later(str(error), "error")
        self.board.screen.app.call_from_thread(partial(self.board.change, self.board.state, now=True))

    def _file_of(self, run: RunRecord) -> Path:
        """Write the experiment file of a single search, which must still be the same search."""
        batches = self.board.scene.batches
        name = new_run.free_name(f"{run.problem}-s{run.seed}", batches, self.board.results)
        text = new_run.experiment_text(run, name, batches)
        path = new_run.write_experiment(self.board.results, run, name, text, batches)
        experiment, _ = new_run.checked(path, self.board.results, batches)
        if [spec.id for spec in experiment.runs] != [run.id]:
            raise InputError(f"the problem of {run.id} is not what it was when the run began; c copies the run")
        return path

    def new_batch(self) -> None:
        """Start an experiment file."""
        fields = [
            Field("file", "Experiment file", "", "experiments/mine.yaml"),
            Field("options", "Options", "", _OPTIONS),
        ]

        def take(answer: dict[str, str] | None) -> None:
            if answer is not None and answer["file"]:
                path = Path(answer["file"]).expanduser()
                self.board.in_thread(partial(self._start_file, path, answer["options"]), "launch")

        self.board.screen.app.push_screen(Form("Start an experiment", fields, "Start"), take)

    def _start_file(self, path: Path, options: str) -> None:
        try:
            self.board.say_later(new_run.start(path, self.board.results, options=options))
        except EvoLibraError as error:
            self.board.say_later(str(error), "error")
        self.board.screen.app.call_from_thread(partial(self.board.change, self.board.state, now=True))

    def copy(self) -> None:
        """Copy the selected run as an experiment file, to be edited and started."""
        run = self.board.run
        if run is None:
            return
        try:
            origin = run.experiment.split(", ")[0] or run.problem
            name = new_run.free_name(f"{origin}-copy", self.board.scene.batches, self.board.results)
            text = new_run.experiment_text(run, name, self.board.scene.batches)
        except EvoLibraError as error:
            self.board.say(str(error), "warning")
            return
        self._edit_copy(run, name, text, "")

    def _edit_copy(self, run: RunRecord, name: str, text: str, wrong: str) -> None:
        dialog = Editor(f"Copy of {self.board.scene.names.get(run.id, run.id)}: edit, then start", text, "Start", wrong)

        def take(answer: str | None) -> None:
            if answer is not None:
                self.board.in_thread(partial(self._start_copy, run, name, answer), "launch")

        self.board.screen.app.push_screen(dialog, take)

    def _start_copy(self, run: RunRecord, name: str, text: str) -> None:
        path = None
        try:
            path = new_run.write_experiment(self.board.results, run, name, text, self.board.scene.batches)
            _, todo = new_run.checked(path, self.board.results, self.board.scene.batches)
            if not todo:
                raise InputError("its runs are done already; change the seed, the evaluations, the problem ...")
            self.board.say_later(new_run.start(path, self.board.results))
        except EvoLibraError as error:
            if path is not None:
                path.unlink(missing_ok=True)
            self.board.screen.app.call_from_thread(self._edit_copy, run, name, text, str(error))
            return
        self.board.screen.app.call_from_thread(partial(self.board.change, self.board.state, now=True))
