"""One figure of one design is one text: in commands, in the terminal UI, and on the page."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from command import call, call_json, run
from designs import design_file

from evo_libra.experiment.store.folder import RunFolder
from evo_libra.explain.labels import value_text
from evo_libra.explain.reason_sheet import bill_table, parts_table
from evo_libra.explain.record import DesignRecord
from evo_libra.report.details import detail_of
from evo_libra.ui.tables.addresses import Addressed, addressed
from evo_libra.ui.terminal import answers
from evo_libra.ui.terminal.breakdown import break_down
from evo_libra.ui.terminal.details import Design, detail_lines

PROBLEMS = {"gpt3-4k": "1500", "mixtral-8x7b-256": "600", "llama3-70b-serving": "600"}
WIDE = 400


@pytest.fixture(scope="module", params=PROBLEMS)
def knee(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Addressed]:
    """Return the knee of a front, in whose folder commands run."""
    folder = tmp_path_factory.mktemp(request.param)
    run(folder, "search", design_file(request.param), "--evaluations", PROBLEMS[request.param], "--population", "50")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("COLUMNS", str(WIDE))
        yield addressed("last#knee")


@pytest.fixture
def record(knee: Addressed) -> DesignRecord:
    return knee.record(alternatives=False)


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    capsys.readouterr()
    call(*words)
    return capsys.readouterr().out


def terminal_text(knee: Addressed, record: DesignRecord) -> str:
    """Return what the terminal UI shows of a design."""
    assert knee.result is not None
    design = Design("", knee.name, record.objectives, record.design)
    found = break_down(RunFolder(Path(knee.result.path)), design)
    return "\n".join("".join(text for text, _ in line) for line in detail_lines(design, found, None, WIDE))


@pytest.mark.slow
def test_objectives_have_one_text(knee: Addressed, record: DesignRecord, capsys: pytest.CaptureFixture[str]) -> None:
    texts = [value_text(column, value) for column, value in record.objectives.items()]
    page = dict(detail_of(record, knee.problem).figures).values()
    shown = {
        "evaluate": printed(capsys, "evaluate", "last#knee"),
        "recommend": printed(capsys, "recommend", "last", "--seconds", "0"),
        "terminal UI": terminal_text(knee, record),
        "which one": str(answers.which_one(knee.front) if knee.front is not None else ""),
        "page": " ".join(page),
    }
    assert {name for name, text in shown.items() if not all(one in text for one in texts)} == set()


@pytest.mark.slow
def test_json_of_commands_has_the_figures_of_the_record(record: DesignRecord) -> None:
    (recommended,) = [one for one in call_json("recommend", "last", "--seconds", "0")["recommended"]
                      if "knee" in one["kinds"]]  # fmt: skip
    for found in (call_json("evaluate", "last#knee"), call_json("explain", "last#knee"), recommended):
        assert {column: found[column] for column in record.objectives} == pytest.approx(record.objectives, rel=1e-12)


@pytest.mark.slow
def test_times_of_workloads_have_one_text(
    knee: Addressed, record: DesignRecord, capsys: pytest.CaptureFixture[str]
) -> None:
    page = detail_of(record, knee.problem)
    evaluated, terminal = printed(capsys, "evaluate", "last#knee"), terminal_text(knee, record)
    for waterfall in page.waterfalls:
        time = waterfall.title.rpartition(": ")[2]
        assert time in evaluated
        assert time in terminal
    training = [one.training for one in record.breakdown.workloads]
    for waterfall, step in zip(page.waterfalls, training, strict=True):
        for part in waterfall.steps if step is not None else ():
            assert f"{part.name} " in evaluated
            assert f" {part.text} " in evaluated
            assert f" {part.text} " in terminal


@pytest.mark.slow
def test_bills_and_costs_have_one_text(
    knee: Addressed, record: DesignRecord, capsys: pytest.CaptureFixture[str]
) -> None:
    found = record.breakdown
    table = bill_table(found) if found.bill else parts_table(found)
    assert detail_of(record, knee.problem).tables[0] == table
    evaluated = printed(capsys, "evaluate", "last#knee")
    assert all(cell.strip() in evaluated for row in table.rows if row is not None for cell in row)
    (costs,) = [part for _, text in answers.why("last#knee") for part in text.split("\n\n") if "one dimension" in part]
    explained, terminal = printed(capsys, "explain", "last#knee"), terminal_text(knee, record)
    for line in costs.splitlines()[3:]:
        cost = " ".join(line.split()[-2:])
        assert cost in explained
        assert cost in terminal


@pytest.mark.slow
@pytest.mark.usefixtures("knee")
def test_the_answers_of_the_terminal_ui_are_what_commands_print(capsys: pytest.CaptureFixture[str]) -> None:
    asked = {
        "explain last#knee": answers.why("last#knee"),
        "diff last#knee last#fastest": answers.against("last#knee", "last#fastest"),
    }
    for command, answer in asked.items():
        words = set(printed(capsys, *command.split()).split())
        told = {word for title, text in answer for word in f"{title} {text}".split()}
        assert told <= words, command
