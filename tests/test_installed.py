"""Packages of extras: the main jobs run without them, and each job that needs one says how to install it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from command import run

from evo_libra.errors import InputError
from evo_libra.installed import is_installed, require
from evo_libra.ui.terminal import new_run

ROOT = Path(__file__).parents[1]
EXTRAS = ("xlsxwriter", "distributed", "dask", "cryptography", "openpyxl", "numba", "pandas")
SHORT = ("--evaluations", "300", "--population", "50")
BATCH = "version: 1\nproblem: gpt3-4k\nevaluations: 100\npopulation: 20\nrepeats: 2\n"


@pytest.fixture
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide the packages of all extras."""
    for package in EXTRAS:
        monkeypatch.setitem(sys.modules, package, None)


def test_what_is_installed_is_found_without_loading_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "this", raising=False)
    assert is_installed("this")
    assert "this" not in sys.modules
    assert not is_installed("no_such_package")
    monkeypatch.setitem(sys.modules, "this", None)
    assert not is_installed("this")


def test_a_missing_package_is_one_sentence_with_its_remedy() -> None:
    require("sys", extra="fast", purpose="this")
    with pytest.raises(InputError, match=r"^this needs none_1 and none_2: pip install 'evo-libra\[fast\]'$"):
        require("none_1", "sys", "none_2", extra="fast", purpose="this")


@pytest.mark.slow
@pytest.mark.usefixtures("plain")
def test_main_jobs_run_without_extras(tmp_path: Path) -> None:
    run(tmp_path, "search", "gpt3-4k", *SHORT)
    assert "knee" in run(tmp_path, "recommend", "last").stdout
    run(tmp_path, "report", "last", "-o", "report.html")
    assert (tmp_path / "report.html").stat().st_size > 10_000
    run(tmp_path, "export", "last#knee", "--to", "bill-csv", "-o", "bill.csv", code=2)  # prices per GB/s have no bill


@pytest.mark.usefixtures("plain")
def test_a_batch_runs_in_one_process_without_extras(tmp_path: Path) -> None:
    (tmp_path / "two.yaml").write_text(BATCH)
    assert "2 done" in run(tmp_path, "run", "two.yaml", "--workers", "0").stdout


@pytest.mark.parametrize(
    ("hidden", "options", "asked"),
    [(True, "", ["--workers", "0"]), (True, "--workers=4", ["--workers=4"]), (False, "", [])],
)
def test_the_terminal_ui_starts_batches_of_one_process_without_extras(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, options: str, asked: list[str], *, hidden: bool
) -> None:
    started: list[str] = []

    def pretend(words: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        started.extend(words)
        return subprocess.CompletedProcess(words, 0, '{"experiment": "two", "pid": 7}', "")

    monkeypatch.setattr(new_run.subprocess, "run", pretend)
    if hidden:
        monkeypatch.setitem(sys.modules, "distributed", None)
    said = new_run.start(tmp_path / "two.yaml", tmp_path, options=options)
    assert started[started.index("--json") + 1 :] == asked
    assert ("pip install 'evo-libra[cluster]'" in said) == (asked == ["--workers", "0"])


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize("words", [(), ("--workers", "2"), ("--detach",), ("--scheduler", "tls://head:8786")])
def test_a_batch_of_several_processes_says_what_it_needs(tmp_path: Path, words: tuple[str, ...]) -> None:
    (tmp_path / "two.yaml").write_text(BATCH)
    said = run(tmp_path, "run", "two.yaml", *words, code=2).stderr
    assert said.count("\n") == 1
    assert "needs distributed and cryptography: pip install 'evo-libra[cluster]'" in said
    assert "--workers 0" in said


@pytest.mark.slow
@pytest.mark.usefixtures("plain")
def test_a_workbook_says_what_it_needs(tmp_path: Path) -> None:
    run(tmp_path, "search", "dense-1k", *SHORT)
    run(tmp_path, "export", "last#knee", "--to", "bill-csv", "-o", "bill.csv")
    said = run(tmp_path, "export", "last#knee", "--to", "bill-excel", "-o", "bill.xlsx", code=2).stderr
    assert "bill-excel needs xlsxwriter: pip install 'evo-libra[excel]'" in said
    assert not (tmp_path / "bill.xlsx").exists()


@pytest.mark.usefixtures("plain")
def test_engines_say_what_they_need(tmp_path: Path) -> None:
    said = run(tmp_path, "search", "gpt3-4k", *SHORT, "--engine", "pymoo:agemoea", code=2).stderr
    assert "pymoo:agemoea needs numba: pip install 'evo-libra[fast]'" in said


@pytest.mark.slow
def test_the_terminal_ui_loads_without_extras() -> None:
    code = f"import sys; sys.modules.update(dict.fromkeys({EXTRAS})); import evo_libra.ui.terminal.app"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.slow
def test_a_plain_install_searches_recommends_and_reports(tmp_path: Path) -> None:
    """It builds the package, and installs it with nothing but what it needs."""
    programs = tmp_path / "venv" / "bin"
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True)
    subprocess.run([programs / "pip", "install", "-q", "-c", ROOT / "requirements.lock", ROOT], check=True)
    found = f"from importlib.util import find_spec; print(*filter(find_spec, {EXTRAS}))"
    assert not subprocess.run([programs / "python", "-c", found], check=True, capture_output=True).stdout.strip()
    for words in (("search", "gpt3-4k", *SHORT), ("recommend", "last"), ("report", "last", "-o", "report.html")):
        subprocess.run([programs / "evo-libra", *words], check=True, cwd=tmp_path)
