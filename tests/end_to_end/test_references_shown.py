"""Reference designs beside the front of a run, wherever a front is shown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from command import run, run_json

from evo_libra.experiment.store.folder import REFERENCES, RunFolder
from evo_libra.ui.tables.references import comparison
from evo_libra.ui.terminal.breakdown import break_down
from evo_libra.ui.terminal.details import Design, detail_lines
from evo_libra.ui.terminal.session import Session, Wanted
from evo_libra.ui.terminal.view_model import State, picture

NAMES = ["dgx-h100-superpod", "rail-only-h100"]


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[dict[str, Any]]]:
    """A folder with the results of three searches of one problem, and what each said."""
    folder = tmp_path_factory.mktemp("references")
    more = [["--seed", "1"], ["--seed", "2"], ["--engine", "random"]]
    asked = ["search", "dense-1k", "--set", "time=libra", "--evaluations", "600"]
    return folder, [run_json(folder, *asked, *words) for words in more]


@pytest.mark.slow
def test_every_command_says_the_same_of_them(searched: tuple[Path, list[dict[str, Any]]]) -> None:
    folder, (found, *_) = searched
    rows = found["references"]
    assert [row["name"] for row in rows] == NAMES
    assert run_json(folder, "front", found["result"])["references"] == rows
    assert run_json(folder, "show", found["result"])["references"] == rows
    sentence = f"{NAMES[0]}: {comparison(rows[0])}"
    for words in (["front", found["result"]], ["show", found["result"]]):
        shown = " ".join(run(folder, *words).stdout.split())
        assert sentence.partition(": ")[2] in shown
        assert all(name in shown for name in NAMES)


@pytest.mark.slow
def test_fronts_beside_each_other_are_compared_with_them(searched: tuple[Path, list[dict[str, Any]]]) -> None:
    folder, found = searched
    (problem,) = run_json(folder, "compare", "problem:dense-1k")["problems"]
    assert [[row["name"] for row in group["references"]] for group in problem["groups"].values()] == [NAMES, NAMES]
    alone = [one["references"][0]["cheaper_at_equal_time_percent"] for one in found]
    both = [group["references"][0]["cheaper_at_equal_time_percent"] for group in problem["groups"].values()]
    # Two seeds together have the cheapest design of either.
    assert sorted(both) == pytest.approx(sorted([max(alone[:2]), alone[2]]))
    shown = " ".join(run(folder, "compare", "problem:dense-1k", "--figure", "fronts.svg").stdout.split())
    assert "A and dgx-h100-superpod: the front is" in shown
    assert "B and rail-only-h100: the front is" in shown
    assert (folder / "fronts.svg").stat().st_size > 0


def test_the_terminal_ui_draws_and_compares_them(searched: tuple[Path, list[dict[str, Any]]]) -> None:
    folder, (found, *_) = searched
    session = Session(folder / "results")
    chosen = str(Path(found["result"]).relative_to("results"))
    scene = session.look(Wanted(shown=(chosen,)), now=True)
    drawn = picture(State(run=chosen), scene)
    session.close()
    assert [one.label for one in drawn.fronts[1:]] == NAMES
    assert [one.y.tolist() for one in drawn.fronts[1:]] == [[row["time_ms"]] for row in found["references"]]
    assert len(set(drawn.styles)) == len(drawn.fronts)
    row = found["front"][0]
    design = Design(chosen, "some", {key: row[key] for key in ("time_ms", "cost_usd")}, row["design"])
    lines = detail_lines(design, break_down(RunFolder(folder / found["result"]), design), None, 80)
    text = " ".join(word for line in lines for part, _ in line for word in part.split())
    assert "reference designs dgx-h100-superpod: the front is" in text


def test_a_run_that_did_not_keep_them_shows_none(tmp_path: Path) -> None:
    found = run_json(tmp_path, "search", "dense-1k", "--set", "time=libra", "--evaluations", "300")
    (tmp_path / found["result"] / REFERENCES).unlink()
    assert "references" not in run_json(tmp_path, "front", found["result"])
    assert "references" not in run(tmp_path, "show", found["result"]).stdout
