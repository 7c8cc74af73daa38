"""What commands print has no sentence that must be read twice: results, lists, answers for programs, and refusals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from command import run
from command_lines import EXPORT, LINES, SEARCHES, UNKEPT, WRONG, Line, prepare
from sentences import PRINTED, found

from evo_libra.ui.commands.names import COMMANDS

OF_TERMINALS = {"mcp", "ui"}
"""Commands that wait for a client or a key; here they are refused a folder."""


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, list[str]]]:
    """Return a folder with results, and what the searches printed; tables are wide, so sentences are whole."""
    folder = tmp_path_factory.mktemp("sentences")
    prepare(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", "400")
        yield folder, offences(folder, [*SEARCHES, EXPORT])


def offences(folder: Path, lines: Sequence[Line], code: int = 0) -> list[str]:
    """Return the sentences of what command lines print that have a pattern."""
    said = []
    for words in lines:
        done = run(folder, *words, code=code)
        assert (done.stdout + done.stderr).strip(), words
        said += [f"{words}: {text}" for printed in done[:2] for text in found(printed, PRINTED)]
    return said


def test_every_command_has_a_command_line() -> None:
    assert set(LINES) == set(COMMANDS)
    assert {name for name, lines in LINES.items() if not lines} == OF_TERMINALS
    assert {words[0] for words in WRONG} >= OF_TERMINALS


@pytest.mark.slow
@pytest.mark.parametrize("command", [name for name in LINES if name not in {"search", *OF_TERMINALS}])
def test_no_command_prints_a_sentence_that_is_read_twice(prepared: tuple[Path, list[str]], command: str) -> None:
    assert not offences(prepared[0], [(command, *words) for words in LINES[command]])


@pytest.mark.slow
def test_no_search_prints_a_sentence_that_is_read_twice(prepared: tuple[Path, list[str]]) -> None:
    assert not prepared[1]


@pytest.mark.slow
def test_no_refusal_is_read_twice(prepared: tuple[Path, list[str]]) -> None:
    assert not offences(prepared[0], WRONG, code=2)
    assert not offences(prepared[0], UNKEPT, code=1)


@pytest.mark.slow
@pytest.mark.parametrize("words", LINES["report"], ids=str)
def test_no_report_has_a_sentence_that_is_read_twice(prepared: tuple[Path, list[str]], words: Line) -> None:
    folder = prepared[0]
    run(folder, "report", *words)
    start, _, rest = (folder / str(words[words.index("-o") + 1])).read_text().partition("<style>")
    # Without the style and the scripts, whose comments are not shown.
    seen = start + rest.partition("</style>")[2].partition("<script>")[0]
    assert not list(found(seen, PRINTED))
