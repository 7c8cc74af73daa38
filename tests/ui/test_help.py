"""Help: of the whole program without Cyclopts, of a command by Cyclopts, and both look the same."""

from __future__ import annotations

import importlib
import inspect
import subprocess
import sys
from pathlib import Path

import pytest
from cyclopts import App

from evo_libra import __version__
from evo_libra.ui.commands.application import load, plain_ui
from evo_libra.ui.commands.names import COMMANDS, FLAGS, answer, overview
from evo_libra.ui.commands.shared import app

QUICK = """
import sys
from evo_libra.ui.cli import main
try:
    main()
except SystemExit as end:
    slow = sorted({"cyclopts", "rich", "numpy", "pydantic", "inspect", "pathlib"} & sys.modules.keys())
    print(end.code, slow)
"""


@pytest.fixture
def whole(monkeypatch: pytest.MonkeyPatch) -> App:
    monkeypatch.setenv("NO_COLOR", "1")
    load("")
    return app


def printed(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    app(words, exit_on_error=False, print_error=False, result_action="return_value")
    return capsys.readouterr().out


@pytest.mark.parametrize("width", [40, 80, 200])
def test_help_of_the_program_is_as_wide_as_the_terminal(monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    assert answer(["--help"]) == answer(["-h"]) == answer([]) == answer(["--help", "search"]) == overview(width)
    assert max(map(len, overview(width).splitlines())) <= width
    assert answer(["--version"]) == __version__
    assert answer(["search", "--help"]) is None


def test_help_begins_with_an_example_and_follows_a_users_way() -> None:
    lines = overview(200).splitlines()
    assert lines[4:7] == [
        "  evo-libra init mine.yaml     write a question: model, systems, NPUs, budget",
        "  evo-libra search mine.yaml   find the front of time and cost",
        "  evo-libra recommend last     say which design to buy, and why",
    ]
    titles = [line for line in lines[7:] if line.endswith(":") and not line.startswith(" ")]
    assert titles == ["Ask:", "Search:", "Answer:", "Prove:", "Hand over:", "Options:"]
    named = [line.strip().split(":")[0] for line in lines[7:] if line.startswith("  ")]
    assert sorted(named) == sorted([*COMMANDS, *FLAGS])


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_the_program_has_the_first_line_of_each_command(whole: App, command: str) -> None:
    assert whole[command].help.split("\n")[0] == COMMANDS[command][1]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_is_in_the_module_that_it_is_looked_for_in(whole: App, command: str) -> None:
    module = importlib.import_module(f"evo_libra.ui.commands.{COMMANDS[command][0]}")
    function = whole[command].default_command or whole[command]["show"].default_command
    assert function is not None
    assert inspect.getmodule(function) is module


@pytest.mark.parametrize("command", [[name] for name in COMMANDS] + [["workload", "show"]])
def test_help_of_a_command_is_folded_once(
    whole: App, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], command: list[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert whole.name == ("evo-libra",)
    lines = printed([*command, "--help"], capsys).splitlines()
    assert max(map(len, lines)) <= 80
    # What belongs to an option is indented further than its name.
    names = [line for line in lines if line.startswith("  ") and not line.startswith("   ")]
    assert all(": " in name or name.endswith(":") for name in names)
    monkeypatch.setenv("COLUMNS", "1000")
    assert [line.split(":")[0] for line in printed([*command, "--help"], capsys).splitlines() if line[:1] == " "] == [
        name.split(":")[0] for name in names
    ]


@pytest.mark.parametrize("words", [["--help"], ["--version"]])
def test_nothing_that_is_slow_is_imported_for_help(tmp_path: Path, words: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-S", "-c", QUICK, *words], cwd=tmp_path, capture_output=True, text=True, check=False,
        env={"PYTHONPATH": str(Path(__file__).parents[2])},
    )  # fmt: skip
    assert done.stdout.splitlines()[-1] == "0 []", done.stderr


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["ui"], ("results", frozenset())),
        (["ui", "--ascii", "there"], ("there", frozenset({"--ascii"}))),
        (["ui", "there", "--light", "--ascii"], ("there", frozenset({"--light", "--ascii"}))),
        (["ui", "--help"], None),
        (["ui", "--results", "there"], None),
        (["ui", "--results=there"], None),
        (["ui", "one", "two"], None),
        (["ui", ""], None),
        (["show", "one"], None),
        ([], None),
    ],
)
def test_a_plain_call_of_the_ui_is_taken_as_cyclopts_takes_it(
    whole: App, words: list[str], found: tuple[str, frozenset[str]] | None
) -> None:
    assert plain_ui(words) == found
    if found is not None:
        _, bound, _ = whole.parse_args(words)
        given = {"results": Path("results"), **bound.arguments}
        assert given["results"] == Path(found[0])
        assert {f"--{name.rstrip('_')}" for name in given if name != "results"} == found[1]
