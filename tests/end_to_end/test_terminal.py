"""What a terminal shows: every command of the first pages, and lines that move, on an emulated screen."""

from __future__ import annotations

import doctest
import json
import re
import shutil
from pathlib import Path

import pytest
from order_files import order_data
from pseudo_terminal import Seen, look
from test_pages import ROOT, blocks_of

_AS_TEXT = re.compile(r"\\x[0-9a-f]{2}|\\[rb]\b|\\u[0-9a-f]{4}|\[\??\d+(?:;\d+)*[hlmABGJK]|[\x00-\x1f\x7f-\x9f]")
_MOVING = re.compile(r"[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏] |[━╸╺ ]{40} \d+/\d+ ")
_COLOURS = re.compile(rb"\x1b\[[\d;]*[34]\d")
_COMMAND = re.compile(r"`(evo-libra [^`]+)`")
_FIRST = "evo-libra search problems/buy-deepseek-v3-8k.yaml"
_DESIGN = "evo-libra search moe-4k"
_QUICK = {
    "buy-deepseek-v3-8k": "small-order",
    "search repurpose": "search repurpose --evaluations 60 --no-plot",
    "last#knee": "last#cheapest",
}  # fmt: skip
"""Smaller problems in the place of those of the README, whose commands take a minute, and no knee of few designs."""

SETTINGS = [
    pytest.param(
        columns, options, id="-".join((str(columns), options["TERM"], *sorted(options.keys() - {"TERM"}))), marks=marks
    )
    for columns, options, marks in (
        (80, {"TERM": "xterm-256color"}, []),
        (120, {"TERM": "xterm-256color"}, [pytest.mark.slow]),
        (80, {"TERM": "xterm-256color", "NO_COLOR": "1"}, [pytest.mark.slow]),
        (120, {"TERM": "xterm-256color", "NO_COLOR": "1"}, [pytest.mark.slow]),
        (80, {"TERM": "dumb"}, [pytest.mark.slow]),
        (120, {"TERM": "dumb"}, [pytest.mark.slow]),
    )
]
WHOLE_PAGES = [
    pytest.param(*setting.values, id=setting.id, marks=[pytest.mark.slow] if at else [])
    for at, setting in enumerate(SETTINGS)
    if setting.values[0] == 80 or setting.id == "120-xterm-256color"
]
"""Settings for pages, where a width changes no colour: only the first one is not slow."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with what the pages name."""
    monkeypatch.setenv("EVO_LIBRA_CACHE", str(tmp_path / "cache"))
    for name in ("problems", "experiments"):
        shutil.copytree(ROOT / name, tmp_path / name)
    (tmp_path / "problems" / "small-order.yaml").write_text(json.dumps(order_data()))
    return tmp_path


def check(seen: Seen, options: dict[str, str]) -> None:
    """Check that a command has worked, and that no escape and at most one line that moves was ever on the screen."""
    assert seen.code == 0, seen.last
    for screen in seen.screens:
        assert [line for line in screen if _AS_TEXT.search(line)] == []
        assert sum(bool(_MOVING.match(line)) for line in screen) <= 1
    assert not any(map(_MOVING.match, seen.last))
    assert seen.last[-1] == "", "the cursor is at the start of a line"
    assert seen.last[0] != "" or seen.last == [""], "nothing has left an empty line"
    assert "NO_COLOR" not in options or not _COLOURS.search(seen.written)
    assert options["TERM"] != "dumb" or b"\x1b" not in seen.written


@pytest.mark.slow
@pytest.mark.parametrize(("columns", "options"), WHOLE_PAGES)
def test_commands_of_the_tutorial_show_what_it_says(folder: Path, columns: int, options: dict[str, str]) -> None:
    for block in blocks_of(ROOT / "docs" / "tutorial.md"):
        seen = look(folder, block.text, columns=columns, **options)
        check(seen, options)
        shown = "\n".join(seen.last)
        wanted = block.output if columns == 80 else "...\n"
        assert doctest.OutputChecker().check_output(wanted, shown, doctest.ELLIPSIS), f"{block.text}\n{shown}"


def commands_of_readme() -> dict[str, list[str]]:
    """Return the commands that the README shows, by what they need; the terminal UI takes the whole screen."""
    page = ROOT / "README.md"
    text = page.read_text()
    assert _FIRST in text
    assert _DESIGN in text
    named = [command for command in dict.fromkeys(_COMMAND.findall(text)) if command != "evo-libra ui"]
    of_result = [command for command in named if re.search(r"\blast\b|\bresults/", command)]
    return {
        "result": [_DESIGN, _FIRST, *of_result],
        "nothing": [command for command in named if command not in of_result],
        "batch": [block.text for block in blocks_of(page)],
    }


README = commands_of_readme()


def test_the_readme_has_commands_of_each_kind() -> None:
    assert [len(commands) > least for commands, least in zip(README.values(), (10, 4, 0), strict=True)] == [True] * 3


@pytest.mark.slow
@pytest.mark.parametrize("kind", README)
@pytest.mark.parametrize(("columns", "options"), WHOLE_PAGES)
def test_commands_of_the_readme_leave_a_whole_screen(
    folder: Path, columns: int, options: dict[str, str], kind: str
) -> None:
    for command in README[kind]:
        for word, instead in _QUICK.items():
            command = command.replace(word, instead)  # noqa: PLW2901 - the same one
        check(look(folder, command, columns=columns, **options), options)


@pytest.mark.slow
@pytest.mark.parametrize("kind", README)
def test_commands_of_the_readme_as_they_are(folder: Path, kind: str) -> None:
    for command in README[kind]:
        check(look(folder, command, columns=80), {"TERM": "xterm-256color"})


BATCH = "problem: gpt3-4k\nengines: nsga2\nevaluations: 200000\nseeds: [0, 1]\n"
LONG = {
    "evo-libra search gpt3-4k --engine nsga2 --evaluations 300000 --no-plot": r"iteration time .*say more",
    "evo-libra certify gpt3-4k --seconds 1": r"gpt3-4k: a front of .*(Proven|It is) of .*times\s+as\s+long",
    "evo-libra run batch.yaml --workers 0": r"(\d\d:.*)?batch: 2 done, .*results experiment:batch",
}
"""Commands that last, and what their whole last screens are."""


@pytest.mark.slow
@pytest.mark.parametrize(("columns", "options"), SETTINGS)
def test_progress_is_one_line_that_moves_and_goes(folder: Path, columns: int, options: dict[str, str]) -> None:
    (folder / "batch.yaml").write_text(BATCH)
    for command, whole in LONG.items():
        seen = look(folder, command, columns=columns, **options)
        check(seen, options)
        assert re.fullmatch(whole, "\n".join(seen.last).strip(), re.DOTALL), seen.last
        moving = {line for screen in seen.screens for line in screen if _MOVING.match(line)}
        assert (len(moving) > 1) == (options["TERM"] != "dumb"), moving


def test_the_window_is_as_wide_as_the_terminal_says(tmp_path: Path) -> None:
    # A shell that exports COLUMNS leaves the width that its window had.
    shown = look(tmp_path, "evo-libra --help", columns=50, COLUMNS="200", LINES="9").last
    assert max(map(len, shown)) <= 50
    wide = look(tmp_path, "evo-libra --help | cat", columns=50, COLUMNS="70").written.decode()
    assert 50 < max(map(len, wide.splitlines())) <= 70
