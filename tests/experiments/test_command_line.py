"""Each study says with --help what it does, before it does anything, and refuses words that it does not take."""

from __future__ import annotations

import ast
import runpy
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "experiments"
SCRIPTS = sorted(path for path in FOLDER.glob("*.py") if "__main__" in path.read_text())


def answer(script: Path, word: str, monkeypatch: pytest.MonkeyPatch) -> object:
    monkeypatch.setattr("sys.argv", [str(script), word])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(script), run_name="__main__")
    return ended.value.code


def test_scripts_are_found() -> None:
    assert {"comet", "buying", "fabric_seeds", "repurpose_uci"} < {path.stem for path in SCRIPTS}


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_help_is_the_docstring_and_another_word_is_refused(
    script: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert answer(script, "--help", monkeypatch) == 0
    described = ast.get_docstring(ast.parse(script.read_text()))
    assert described is not None
    assert described in capsys.readouterr().out
    assert answer(script, "--no-such-word", monkeypatch) == 2
