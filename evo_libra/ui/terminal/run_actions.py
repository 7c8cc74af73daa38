"""The main screen's actions on runs."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

from textual import work

from evo_libra.errors import EvoLibraError, InputError
from evo_libra.experiment.run.record import RunRecord
from evo_libra.ui.terminal import actions, queue_view, view_model
from evo_libra.ui.terminal import new_run as launch
from evo_libra.ui.terminal.actions import Action, Ask, Launch
from evo_libra.ui.terminal.base import Base
from evo_libra.ui.terminal.widgets.dialogs import Confirm, Editor, Field, Form

_OPTIONS = "--workers 4, or --scheduler tls://head:8786; as many workers as cores when empty"


class RunActions(Base):
    """Start, pause, resume, stop, retry, copy, compare."""

    def action_start_run(self) -> None:
        """Start or resume the selected run."""
        self._act("start")

    def action_pause_run(self) -> None:
        """Pause the selected run."""
        self._act("pause")

    def action_retry_run(self) -> None:
        """Run the selected run again."""
        self._act("retry")

    def _act(self, action: Action) -> None:
        run = self.run
        if run is None:
            self.say("there is no run; n starts an experiment file", "warning")
            return
        try:
            answer = actions.answer(action, run, self.scene)
        except InputError as error:
            self.say(str(error), "warning")
            return
        if isinstance(answer, Ask):
            self._ask(answer)
        else:
            self._confirm_launch(answer)

    def _ask(self, what: Ask) -> None:
        try:
            self.say(actions.ask(what))
        except EvoLibraError as error:
            self.say(str(error), "error")
        self.change(self.state, now=True)

    def action_pause_batch(self) -> None:
        """Pause all runs of the selected run's batch, or go on with them."""
        if self.run is None:
            return
        try:
            self._ask(actions.pause_all(self.run, self.scene))
        except InputError as error:
            self.say(str(error), "warning")

    def action_stop_run(self) -> None:
        """Stop the selected run or its batch, after a question."""
        run = self.run
        if run is None:
            return
        batch = actions.batch_of(run, self.scene.batches)
        answers = []
        try:
            answers.append((f"Stop {self.scene.names[run.id]}", actions.answer("stop", run, self.scene)))
        except InputError as error:
            reason = str(error)
        if batch is not None and batch.runner:
            all_of_it = Ask((batch,), "stop", f"all of {batch.experiment}: stop requested; checkpoints are kept")
            answers.append((f"Stop {batch.experiment}", all_of_it))
        if not answers:
            self.say(reason, "warning")
            return

        def take(answer: str | None) -> None:
            if answer is not None and isinstance(chosen := answers[int(answer)][1], Ask):
                self._ask(chosen)

        question = "Stop? What has been found is kept, and r goes on from there."
        self.app.push_screen(Confirm(question, [(label, str(at)) for at, (label, _) in enumerate(answers)]), take)

    def action_stop_and_quit(self) -> None:
        """Stop everything and leave, after a question."""
        what = actions.stop_all(self.scene)
        if not what.targets:
            self.app.exit()
            return

        def take(answer: str | None) -> None:
            if answer == "stop":
                self._ask(what)
                self.app.exit()
            elif answer == "leave":
                self.app.exit()

        names = ", ".join(getattr(target, "experiment", "") or target.id for target in what.targets)
        self.app.push_screen(
            Confirm(f"Stop {names}, and leave?", [("Stop and leave", "stop"), ("Leave them running", "leave")]), take
        )

    def action_mark(self) -> None:
        """Plot the selected run beside others, or not any more."""
        if self.run is not None:
            try:
                self.change(view_model.with_mark(self.state, self.run.id))
            except InputError as error:
                self.say(str(error), "warning")

    def action_unmark(self) -> None:
        """Plot the selected run alone."""
        self.change(replace(self.state, marked=()))

    def action_sort(self) -> None:
        """Take the next order of the runs."""
        self.change(replace(self.state, sort=queue_view.next_sort(self.state.sort)))

    def _confirm_launch(self, what: Launch) -> None:
        batch = actions.batch_of(what.run, self.scene.batches)
        field = Field("options", "Options of evo-libra run", launch.last_options(batch), _OPTIONS)

        def take(answer: dict[str, str] | None) -> None:
            if answer is not None:
                self._launch(what, answer["options"])

        self.app.push_screen(Form(launch.with_warning(what.question, what.run), [field], "Start"), take)

    @work(thread=True, group="launch")
    def _launch(self, what: Launch, options: str) -> None:
        try:
            path = what.file or self._file_of(what.run)
            self.say_later(launch.start(path, self.results, again=what.again, options=options))
        except EvoLibraError as error:
            self.say_later(str(error), "error")
        self.app.call_from_thread(partial(self.change, self.state, now=True))

    def _file_of(self, run: RunRecord) -> Path:
        """Write the experiment file of a single search, which must still be the same search."""
        batches = self.scene.batches
        name = launch.free_name(f"{run.problem}-s{run.seed}", batches, self.results)
        text = launch.experiment_text(run, name, batches)
        path = launch.write_experiment(self.results, run, name, text, batches)
        experiment, _ = launch.checked(path, self.results, batches)
        if [spec.id for spec in experiment.runs] != [run.id]:
            raise InputError(f"the problem of {run.id} is not what it was when the run began; c copies the run")
        return path

    def action_new_batch(self) -> None:
        """Start an experiment file."""
        fields = [
            Field("file", "Experiment file", "", "experiments/mine.yaml"),
            Field("options", "Options", "", _OPTIONS),
        ]

        def take(answer: dict[str, str] | None) -> None:
            if answer is not None and answer["file"]:
                self._start_file(Path(answer["file"]).expanduser(), answer["options"])

        self.app.push_screen(Form("Start an experiment", fields, "Start"), take)

    @work(thread=True, group="launch")
    def _start_file(self, path: Path, options: str) -> None:
        try:
            self.say_later(launch.start(path, self.results, options=options))
        except EvoLibraError as error:
            self.say_later(str(error), "error")
        self.app.call_from_thread(partial(self.change, self.state, now=True))

    def action_copy_run(self) -> None:
        """Copy the selected run as an experiment file, to be edited and started."""
        run = self.run
        if run is None:
            return
        try:
            origin = run.experiment.split(", ")[0] or run.problem
            name = launch.free_name(f"{origin}-copy", self.scene.batches, self.results)
            text = launch.experiment_text(run, name, self.scene.batches)
        except EvoLibraError as error:
            self.say(str(error), "warning")
            return
        self._edit_copy(run, name, text, "")

    def _edit_copy(self, run: RunRecord, name: str, text: str, wrong: str) -> None:
        dialog = Editor(f"Copy of {self.scene.names.get(run.id, run.id)}: edit, then start", text, "Start", wrong)

        def take(answer: str | None) -> None:
            if answer is not None:
                self._start_copy(run, name, answer)

        self.app.push_screen(dialog, take)

    @work(thread=True, group="launch")
    def _start_copy(self, run: RunRecord, name: str, text: str) -> None:
        path = None
        try:
            path = launch.write_experiment(self.results, run, name, text, self.scene.batches)
            _, todo = launch.checked(path, self.results, self.scene.batches)
            if not todo:
                raise InputError("its runs are done already; change the seed, the evaluations, the problem ...")
            self.say_later(launch.start(path, self.results))
        except EvoLibraError as error:
            if path is not None:
                path.unlink(missing_ok=True)
            self.app.call_from_thread(self._edit_copy, run, name, text, str(error))
            return
        self.app.call_from_thread(partial(self.change, self.state, now=True))
