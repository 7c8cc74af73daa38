"""Every command of every page does what the page says: literally, in order, in a temporary folder.

A block ``text`` that follows a block of commands is what they print; ``...`` in it stands for anything. A page may say,
in a comment before a block of commands, how it is run here: ``quick: OLD -> NEW; ...`` replaces parts of the commands,
``not run: WHY`` leaves the block out. ``file: NAME + TEXT``, anywhere, makes a module of the page's first example in
Python. Blocks that begin with ``#!`` are files. The pages of studies are run by `tests/experiments`.

Commands run in this process, but for those that leave it and blocks with other programs, which run in a shell.
"""

from __future__ import annotations

import doctest
import io
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import NamedTuple

import pytest
from command import own_modules
from patience import code_of

from evo_libra.ui.commands.application import run

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "docs" / "tutorial.md", *sorted((ROOT / "docs").glob("[hrw]*/*.md"))]
_BLOCK = re.compile(
    r"(?:<!-- (?P<how>quick|not run): (?P<what>.*?) -->\n+)?```sh\n(?P<text>.*?)```"
    r"(?:(?:(?!```).)*?```text\n(?P<output>.*?)```)?",
    re.DOTALL,
)
_FILE = re.compile(r"<!-- file: (?P<name>\S+) \+ (?P<text>.*?) -->")
_EXAMPLE = re.compile(r"```python\n(.*?)```", re.DOTALL)
_COMMENT = re.compile(r"(^|\s)#\s.*")  # as shells have it: the # of last#12 begins none
_LEAVING = {"--detach", "--scheduler", "ui"}
_OF_SHELLS = {"|", "&", "&&", "||", ">", "<", ";", "$tls"}


class Block(NamedTuple):
    """Commands of a page, as they are run here."""

    page: Path
    text: str
    output: str = "...\n"


def blocks_of(page: Path) -> list[Block]:
    """Return the blocks of commands of a page that are run."""
    found = []
    for match in _BLOCK.finditer(page.read_text()):
        text = match["text"]
        if match["how"] == "not run" or text.startswith("#!"):
            continue
        for change in (match["what"] or "").split("; ") if match["how"] else []:
            old, _, new = change.partition(" -> ")
            assert old in text, f"{page.name}: no '{old}' to be quick about"
            text = text.replace(old, new)
        found.append(Block(page, text, match["output"] or "...\n"))
    return found


def write_files(page: Path, folder: Path) -> None:
    """Write the modules that a page describes."""
    text = page.read_text()
    for match in _FILE.finditer(text):
        first = _EXAMPLE.search(text)
        assert first is not None
        examples = doctest.DocTestParser().get_examples(first[1])
        source = "".join(example.source for example in examples if not example.want)
        (folder / match["name"]).write_text(f"{source}\n{match['text']}\n")


def run_block(block: Block, folder: Path) -> None:
    """Run commands until the first that fails, and compare what they print with the page."""
    code, said = 0, ""
    for part in parts_of(block.text):
        code, more = in_shell(part, folder) if isinstance(part, str) else in_this_process(part, folder)
        said += more
        if code:
            break
    assert code == 0, f"{block.page.name}:\n{block.text}\n{said}"
    assert "Traceback" not in said
    printed = "".join(f"{line.rstrip()}\n" for line in said.splitlines())
    assert doctest.OutputChecker().check_output(block.output, printed, doctest.ELLIPSIS), (
        f"{block.page.name}:\n{printed}"
    )


def parts_of(text: str) -> Iterator[list[str] | str]:
    """Yield the commands of a block one after the other: the words of those of this program, text for a shell."""
    lines = text.replace("\\\n", " ").splitlines()
    commands = [words for line in lines if (words := shlex.split(_COMMENT.sub("", line)))]
    if any(words[0] != "evo-libra" or _OF_SHELLS & set(words) for words in commands):
        yield text
        return
    for words in commands:
        yield shlex.join(words) if _LEAVING & set(words) else words


def in_this_process(words: list[str], folder: Path) -> tuple[int, str]:
    """Return the exit code of a command, and what it prints."""
    said = io.StringIO()
    with chdir(folder), own_modules(folder), redirect_stdout(said), redirect_stderr(said):
        return run(words[1:]), said.getvalue()


def in_shell(text: str, folder: Path) -> tuple[int, str]:
    """Return exit code and output of a shell that stops at the first failure; end what it has left at work."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    log = folder / "said.txt"  # a pipe would be held by what runs on in the background
    with log.open("w") as file, subprocess.Popen(
        ["bash", "-euo", "pipefail", "-c", text], cwd=folder, start_new_session=True,
        env={**os.environ, "PATH": path, "HOME": str(folder)}, stdin=subprocess.DEVNULL, stdout=file, stderr=file,
    ) as shell:  # fmt: skip
        try:
            code = code_of(shell)
        finally:
            if _is_there(shell.pid):
                os.killpg(shell.pid, signal.SIGKILL)
    return code, log.read_text()


def _is_there(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


FIRST_PAGES = ("README", "tutorial", "own-engine")
"""Pages whose commands run in every run of the tests; those of the others run under `.ci/run`."""


@pytest.mark.slow
@pytest.mark.parametrize("page", [
    pytest.param(page, marks=[] if page.stem in FIRST_PAGES else [pytest.mark.slow])
    for page in PAGES if blocks_of(page)
], ids=lambda page: page.stem)  # fmt: skip
def test_every_command_of_a_page_does_its_work(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    shutil.copytree(ROOT / "problems", tmp_path / "problems")
    shutil.copytree(ROOT / "experiments", tmp_path / "experiments")
    write_files(page, tmp_path)
    for block in blocks_of(page):
        run_block(block, tmp_path)


def test_no_page_and_no_help_names_a_run_that_is_nowhere() -> None:
    sources = [*PAGES, *(ROOT / "evo_libra" / "ui").rglob("*.py")]
    named = {
        (path.name, found) for path in sources for found in re.findall(r"results/[\w-]+/[\w:]+-\w+", path.read_text())
    }
    assert named == set()
