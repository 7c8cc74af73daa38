"""What is read of a store before Polars is imported."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from patience import run_to_end

from evo_libra.experiment.run.record import RUN_FIGURES
from evo_libra.ui.terminal.queue_view import QUEUE, SORTS, queue_rows
from evo_libra.ui.terminal.session import Session, Wanted

GLANCE = """
import sys
from pathlib import Path
from evo_libra.ui.terminal import app
from evo_libra.ui.terminal.session import Session, Wanted
session = Session(Path("results"), Path("cache"))
session.look(Wanted(), data=False)
found = session.glance(Wanted(shown=tuple(sys.argv[1:])))
print(*(len(found.data[run].values["time_ms"]) for run in sys.argv[1:]))
print(*(name for name in ("polars", "pydantic", "moocore") if name in sys.modules))
"""


def test_fronts_are_glanced_at_as_they_are_read_later(store: Path, tmp_path: Path) -> None:
    session = Session(store, tmp_path / "cache")
    session.look(Wanted(), data=False)
    runs = {run.status: run.id for run in session.look(Wanted(), data=False).every}
    wanted = Wanted(shown=(runs["done"], runs["interrupted"], runs["queued"]))
    first = session.glance(wanted)
    assert list(first.data) == [runs["interrupted"]]  # of those that are done, nobody has read one
    read = session.look(wanted)
    assert read.data[runs["interrupted"]].front is not None
    again = Session(store, tmp_path / "cache")
    again.look(Wanted(), data=False)
    found = again.glance(wanted)
    assert list(found.data) == [runs["done"], runs["interrupted"]]
    for run, data in found.data.items():
        assert data.front is None
        assert data.progress == read.data[run].progress
        assert list(data.values) == list(read.data[run].values)
        assert all(np.array_equal(values, read.data[run].values[name]) for name, values in data.values.items())
    assert again.look(wanted).data[runs["done"]].front is not None


@pytest.mark.slow
def test_a_glance_imports_neither_frames_nor_searches(store: Path, tmp_path: Path) -> None:
    session = Session(store, tmp_path / "cache")
    runs = {run.status: run.id for run in session.look(Wanted(), data=False).every}
    shown = (runs["done"], runs["interrupted"])
    session.look(Wanted(shown=shown))
    session.close()
    command = [sys.executable, "-c", GLANCE, *shown]
    done = run_to_end(command, cwd=tmp_path)
    assert done.stdout.splitlines() == ["21 21", ""]


def test_list_of_runs_has_a_column_for_each_figure_that_tables_of_results_show(store: Path, tmp_path: Path) -> None:
    shown = {one.name for one in RUN_FIGURES if one.shown}
    assert {column.sort.removeprefix("-") for column in QUEUE if column.right} == shown
    assert {sort for sort in SORTS if sort not in ("id", "-updated", "status")} == {f"-{name}" for name in shown}
    scene = Session(store, tmp_path / "cache").look(Wanted(), data=False)
    assert all(len(row.cells) == len(row.roles) == len(QUEUE) for row in queue_rows(scene.every, scene.names, {}))
