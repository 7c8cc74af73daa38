"""Every output that shows times under a congestion control of RoCE says that they are an approximation."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from evo_libra.experiment.store.folder import RunFolder
from evo_libra.network.transport import APPROXIMATION, approximation
from evo_libra.ui.commands.application import run
from evo_libra.ui.tables.addresses import addressed
from evo_libra.ui.terminal import answers
from evo_libra.ui.terminal.breakdown import break_down
from evo_libra.ui.terminal.details import Design

SHOWN = ("front {run}", "evaluate {slow}", "explain {slow}", "diff {slow} {fast}", "certify {run}",
         "recommend {run} --seconds 0", "prices {run} --scenarios 20")  # fmt: skip


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> str:
    out = tmp_path_factory.mktemp("out")
    assert run(["search", "roce-128", "--evaluations", "1500", "--out", str(out), "--json"]) == 0
    (found,) = out.rglob("front.parquet")
    return str(found.parent)


def words(command: str, result: str) -> list[str]:
    return command.format(run=result, slow=f"{result}#cheapest", fast=f"{result}#fastest").split()


@pytest.mark.slow
@pytest.mark.parametrize("command", SHOWN)
def test_every_command_says_so(result: str, command: str, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert run(words(command, result)) == 0
    assert APPROXIMATION in " ".join(capsys.readouterr().out.replace("\n", " ").split())
    assert run([*words(command, result), "--json"]) == 0
    text = capsys.readouterr().out
    assert json.loads(text)
    assert APPROXIMATION in text


@pytest.mark.slow
def test_the_report_and_the_terminal_ui_say_so(result: str, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    assert run(["report", result, "--page", str(page)]) == 0
    assert APPROXIMATION in page.read_text()
    one, two = f"{result}#cheapest", f"{result}#fastest"
    found = break_down(RunFolder(Path(result)), Design("", "", {}, addressed(one).design))
    assert APPROXIMATION in found.note
    for shown in (answers.why(one), answers.against(one, two)):
        assert any(APPROXIMATION in str(text) for _, text in shown)


def test_designs_without_a_transport_have_no_label() -> None:
    assert approximation(["SW(8)@nvlink4:450_CL(16)@optics-400g:50", "RI(4)@node:50"]) == {}
