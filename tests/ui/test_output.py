"""What is printed cannot steer the terminal, fits it, and ends in a sentence where it cannot be printed."""

from __future__ import annotations

import asyncio
import importlib
import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from patience import run_to_end
from textual.pilot import Pilot

from evo_libra.control_characters import CONTROLS, escape_controls
from evo_libra.errors import InputError, Mistake
from evo_libra.experiment.store.folder import RunFolder
from evo_libra.ui.commands.application import complain, run
from evo_libra.ui.tables import output
from evo_libra.ui.tables.output import new_console, print_file, print_json
from evo_libra.ui.terminal.app import TerminalUI

COMMAND = str(Path(sys.executable).parent / "evo-libra")
EVIL = "\x1b]0;owned\x07\x1b[31m\x9b2Jname\x08\r\u202e"
UI = Path(__file__).parents[2] / "evo_libra" / "ui"


def evaluated(folder: Path, *words: str, **options: Any) -> subprocess.CompletedProcess[str]:
    return run_to_end([COMMAND, *words], cwd=folder, **options)


def shell(folder: Path, line: str) -> subprocess.CompletedProcess[str]:
    words = ["/bin/sh", "-c", line]
    return run_to_end(words, cwd=folder)


@pytest.fixture
def evil_store(tmp_path: Path) -> Path:
    """Return a folder of results whose run has escapes wherever a run has text."""
    folder = tmp_path / "results" / "one" / "nsga2-00000000-e10-s0"
    folder.mkdir(parents=True)
    manifest = {
        "name": EVIL, "engine": EVIL, "seed": 0, "population": 10, "budget": 10, "keep": "front", "hash": EVIL,
        "search": EVIL, "experiment": EVIL, "label": EVIL, "program": EVIL, "command": [EVIL],
        "source": {"problem": EVIL, "set": [EVIL], "data": None, "folder": EVIL}, "objectives": [],
        "machine": {"host": EVIL}, "versions": {EVIL: EVIL}, "git": {"commit": EVIL, "clean": False}, "started": EVIL,
        "problem": {}, "method": {}, "seconds": None, "workers": None,
    }  # fmt: skip
    RunFolder(folder).write_json("manifest.json", manifest)
    RunFolder(folder).write_json("failed.json", {"error": EVIL})
    (tmp_path / "results" / EVIL.replace("/", "") / "x").mkdir(parents=True)
    return tmp_path


@pytest.fixture
def printed(monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Return what runs a command line in this process as on a terminal, and gives what it prints."""

    def command(*words: str) -> str:
        streams = [io.TextIOWrapper(io.BytesIO(), "utf-8") for _ in range(2)]
        for stream, name in zip(streams, ("stdout", "stderr"), strict=True):
            monkeypatch.setattr(sys, name, stream)
        run([*words])
        for stream in streams:
            stream.flush()
        return "".join(stream.buffer.getvalue().decode() for stream in streams)  # type: ignore[attr-defined]

    return command


@pytest.mark.slow
def test_commands_print_no_escape_of_any_file(
    evil_store: Path, printed: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(evil_store)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    written = evil_store / f"{EVIL.replace('/', '')}.yaml"
    written.write_text(f"{json.dumps(EVIL)}: 1\nname: {json.dumps(EVIL)}\n")
    commands = (
        ["results"], ["show", "nsga2-00000000"], ["show", EVIL], ["front", EVIL], ["search", written.name],
        ["search", EVIL], ["plan", f"{EVIL}.yaml"], [EVIL], ["results", f"name:{EVIL}"], ["compare", EVIL, "one"],
        ["search", "gpt3-4k", "--set", f"{EVIL}=3"], ["workload", "show", written.name], ["catalog", EVIL],
        ["evaluate", "gpt3-4k", "--design", EVIL],
    )  # fmt: skip
    said = [printed(*words) for words in commands]
    done = evaluated(evil_store, "show", "nsga2-00000000")
    text = "".join(said) + done.stdout
    assert text.count("owned") > 20
    assert "owned" in done.stdout
    for escape in ("\x1b]", "\x1b[31m", "\x9b", "\x07", "\x08", "\u202e"):
        assert escape not in text


@pytest.mark.slow
def test_the_terminal_ui_draws_no_escape_of_any_file(evil_store: Path, tmp_path: Path) -> None:
    async def look() -> str:
        app = TerminalUI(evil_store / "results", cache=tmp_path / "cache")
        async with app.run_test(size=(160, 45)) as pilot:
            return await _drawn(app, pilot)

    drawn = asyncio.run(look())
    assert "owned" in drawn
    assert not CONTROLS.search(drawn)


async def _drawn(app: TerminalUI, pilot: Pilot[None]) -> str:
    for _ in range(5000):
        await pilot.pause(0.02)
        strips = app.screen._compositor.render_strips()  # noqa: SLF001 - what is drawn is kept nowhere else
        text = "\n".join("".join(segment.text for segment in strip) for strip in strips)
        if "owned" in text:
            break
    return text


def test_everything_is_printed_through_one_module() -> None:
    direct = re.compile(r"\bConsole\(|__stdout__|sys\.stdout\.write|sys\.stderr\.write")
    found = {path.name for path in UI.rglob("*.py") if direct.search(path.read_text())}
    assert found == {"help_layout.py"}  # help is laid out in memory
    printing = [path for path in UI.rglob("*.py") if re.search(r"^ +print\(", path.read_text(), re.MULTILINE)]
    modules = [".".join(path.relative_to(UI.parents[1]).with_suffix("").parts) for path in printing]
    assert len(modules) > 20
    assert {importlib.import_module(module).print for module in modules} == {output.print}


def test_streams_stay_those_of_python(tmp_path: Path) -> None:
    source = (
        "import sys; from evo_libra.ui.tables.output import open_streams; a, b = sys.stdout, sys.stderr; open_streams()"
    )
    done = run_to_end([sys.executable, "-c", f"{source}; print(a is sys.stdout and b is sys.stderr)"], cwd=tmp_path)
    assert done.stdout == "True\n"


def test_an_internal_error_prints_no_escape_of_any_name(tmp_path: Path) -> None:
    source = f"def run(words): raise ValueError({EVIL!r})\nfrom evo_libra.ui import cli; cli._run = run; cli.main()"
    done = run_to_end([sys.executable, "-c", source], cwd=tmp_path)
    assert done.returncode == 1
    assert "ValueError: \\x1b]0;owned\\x07" in done.stderr
    assert not CONTROLS.search(done.stderr)


def test_a_file_steers_no_terminal_and_a_pipe_gets_its_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    printed = {}
    for is_terminal in (False, True):
        stream = io.TextIOWrapper(io.BytesIO(), "utf-8", newline="")
        monkeypatch.setattr(stream, "isatty", lambda is_terminal=is_terminal: is_terminal)
        monkeypatch.setattr(sys, "stdout", stream)
        print_file(f"{EVIL},1\r\n")
        stream.flush()
        printed[is_terminal] = stream.buffer.getvalue().decode()  # type: ignore[attr-defined]
    assert printed[False] == f"{EVIL},1\r\n"
    assert printed[True] == f"{escape_controls(EVIL)},1\n"


@pytest.mark.parametrize("table", [False, True])
def test_json_has_names_as_they_are_and_steers_no_terminal(capsys: pytest.CaptureFixture[str], *, table: bool) -> None:
    name = f"{EVIL}\x7f\u2066"
    print_json({"rows": pl.DataFrame({"name": [name]})} if table else {"rows": [{"name": name}]})
    text = capsys.readouterr().out
    assert not CONTROLS.search(text)
    assert json.loads(text) == {"rows": [{"name": name}]}


def test_a_console_keeps_its_own_styles(capsys: pytest.CaptureFixture[str]) -> None:
    console = new_console(force_terminal=True, color_system="standard", width=30)
    console.print(f"[red]{EVIL}[/red] plain", highlight=False)
    shown = capsys.readouterr().out
    assert shown.startswith("\x1b[31m]0;owned[31m2Jname\x1b[0m")
    assert "\x9b" not in shown


def test_messages_are_short_and_keep_their_ends(capsys: pytest.CaptureFixture[str]) -> None:
    allowed = ", ".join(f"name{n}" for n in range(1000))
    complain(
        str(InputError([Mistake(f"unknown key 'x'; allowed: {allowed}; did you mean 'name7'?", "f" * 4000, 1, 1)]))
    )
    complain("e" * 10_000)
    first, second = capsys.readouterr().err.splitlines()
    assert len(first) < 520
    assert first.endswith("did you mean 'name7'?")
    assert len(second) < 520


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device")
@pytest.mark.parametrize("words", [["catalog"], ["catalog", "--json"], ["--help"]])
def test_a_full_output_is_one_sentence(tmp_path: Path, words: list[str]) -> None:
    with Path("/dev/full").open("w") as full:
        done = evaluated(tmp_path, *words, stdout=full)
    assert done.stderr == "evo-libra: standard output cannot be written: no space left on device\n"
    assert done.returncode == 1


@pytest.mark.slow
@pytest.mark.parametrize("words", ["results", "--help"])
def test_a_closed_output_is_one_sentence(tmp_path: Path, words: str) -> None:
    done = shell(tmp_path, f"{COMMAND} {words} >&-")
    assert done.stderr == "evo-libra: standard output is closed; the rest of the output is lost\n"
    assert done.returncode == 1
    assert shell(tmp_path, f"{COMMAND} {words} 2>&-").returncode == 0


def test_what_a_terminal_that_is_gone_did_not_take_is_no_failure(tmp_path: Path) -> None:
    # A screen that is drawn while its terminal goes leaves something in the buffer, which Python writes at its end.
    drawn = "cli._run = lambda words: (sys.__stderr__.buffer.write(b'a screen'), 0)[1]"
    source = f"import sys; from evo_libra.ui import cli; {drawn}; cli.main()"
    ours, theirs = os.pipe()
    os.close(ours)
    with os.fdopen(theirs, "w") as gone:
        buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
        done = subprocess.run([sys.executable, "-c", source], cwd=tmp_path, stderr=gone, env=buffered, check=False)
    assert done.returncode == 0


@pytest.mark.slow
def test_names_that_are_no_text_are_printed(tmp_path: Path) -> None:
    name = os.fsdecode(b"\xff\xfe.yaml")
    assert evaluated(tmp_path, "search", name).stderr.startswith("evo-libra: \\udcff\\udcfe.yaml: cannot be read")
