"""What the commands say of wrong input: the same place and the same words, whichever command reads a file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from evo_libra.ui.command_line.application import run
from evo_libra.ui.starter import STARTER

Say = Callable[..., str]


@pytest.fixture
def say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Say:
    """Return what runs a command line in a temporary folder, and gives what it says of wrong input."""
    monkeypatch.chdir(tmp_path)

    def command(*words: str, code: int = 2) -> str:
        assert run([*words]) == code
        return capsys.readouterr().err.replace("evo-libra: ", "").strip()

    return command


def problem(text: str = STARTER, name: str = "mine.yaml", **values: str) -> None:
    """Write the starter problem, or another one, with values of its own lines."""
    lines = [
        next((f"{key}: {value}" for key, value in values.items() if line.startswith(f"{key}:")), line)
        for line in text.splitlines()
    ]
    Path(name).write_text("\n".join(lines))


@pytest.mark.parametrize("words", [
    ["search"], ["evaluate", "--design", "RI(4)"], ["optimize"], ["bench", "--engines", "nsga2"],
])  # fmt: skip
def test_every_command_gives_the_line_of_a_late_mistake(say: Say, words: list[str]) -> None:
    problem(npus="4099")
    said = say(words[0], "mine.yaml", *words[1:])
    assert said == "mine.yaml:20:5: workloads[0].parallelism: tp 16 does not divide the 4099 NPUs left for it"


@pytest.mark.parametrize("command", ["plan", "run"])
def test_a_batch_gives_the_line_in_the_problem_too(say: Say, command: str) -> None:
    problem(npus="4099")
    Path("batches").mkdir()
    Path("batches/exp.yaml").write_text("problem: ../mine.yaml\n")
    said = say(command, "batches/exp.yaml")
    assert said.startswith("batches/exp.yaml:1:1: problem: batches/../mine.yaml:20:5: workloads[0].parallelism: ")


def test_files_that_a_problem_names_are_shown_as_the_user_gave_them(say: Say) -> None:
    Path("prices.yaml").write_text("name: 3\n")
    problem(STARTER.replace("catalog: libra-cosearch", "catalog: prices.yaml"))
    Path("exp.yaml").write_text("problem: mine.yaml\n")
    direct = say("search", "mine.yaml").splitlines()
    assert [line[:16] for line in direct] == ["prices.yaml:1:1:"] * 3
    assert say("plan", "exp.yaml").splitlines() == [f"exp.yaml:1:1: problem: {line}" for line in direct]


def test_a_front_to_start_from_is_shown_as_the_user_gave_it(say: Say) -> None:
    needed = "there is no nowhere; the folder of a run or the file of a front is needed"
    assert say("search", "gpt3-4k", "--start-from", "nowhere") == f"start_from: {needed}"
    Path("exp.yaml").write_text("problem: gpt3-4k\nstart_from: nowhere\n")
    assert say("plan", "exp.yaml") == f"exp.yaml:2:1: start_from: {needed}"
