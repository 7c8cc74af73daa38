"""One command opens each catalogue once, builds its problem once, and passes through few files of the package."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from designs import design_file

import evo_libra

PACKAGE = Path(evo_libra.__file__).parent
MAX_FILES = 122
"""Files of the package whose functions a search enters; it falls but for verdicts and trust, and 80 is the aim."""
OWN = """\
name: own
source: none
kind: parts
extends: parts-2024
technologies: {}
"""
WATCH = """
import inspect, json, os, sys
from collections import Counter

folder, words = sys.argv[1], sys.argv[2:]
opened, entered, built = Counter(), set(), Counter()


def hear(event, values):
    if event == "open" and isinstance(values[0], (str, bytes, os.PathLike)):
        opened[os.path.realpath(os.fsdecode(values[0]))] += 1


def enter(frame, event, _):
    code = frame.f_code
    # A function with a name: not the body of a class, nor a comprehension, which newer versions of Python inline.
    named = code.co_flags & inspect.CO_OPTIMIZED and not code.co_name.startswith("<")
    if event == "call" and named and code.co_filename.startswith(folder):
        entered.add(code.co_filename[len(folder) + 1 :])


from evo_libra.problem.file import load
from evo_libra.ui.cli import main

build = load._Loader.load


def count(self):
    built["problem"] += 1
    return build(self)


load._Loader.load = count

sys.addaudithook(hear)
sys.argv = ["evo-libra", *words]
if folder:
    sys.setprofile(enter)
try:
    main()
except SystemExit as end:
    sys.setprofile(None)
    if end.code:
        raise
found = {"opened": opened, "entered": sorted(entered), "built": sum(built.values())}
print("\\n" + json.dumps(found), file=sys.__stdout__, flush=True)
"""


@cache
def watched(words: Sequence[str], package: str = "") -> Any:
    """Return what a command opens and builds in a process of its own, and which files of a package it enters."""
    command = [sys.executable, "-c", WATCH, package, *words]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def search(name: str, out: Path, package: str = "") -> Any:
    return watched(("search", name, "--evaluations", "200", "--out", str(out), "--no-plot"), package)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("results")


def catalogues(opened: dict[str, int]) -> dict[str, int]:
    """Return the files of data that come with the package or are a user's own, with how often each was opened."""
    return {path: count for path, count in opened.items() if path.endswith(".yaml")}


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    ["gpt3-4k", *(pytest.param(name, marks=pytest.mark.slow) for name in ("llama3-405b-16k", "llama3-70b-serving"))],
)
def test_a_search_opens_each_catalogue_once_and_builds_its_problem_once(name: str, results: Path) -> None:
    found = search(design_file(name), results)
    assert set(catalogues(found["opened"]).values()) == {1}
    assert found["built"] == 1


@pytest.mark.slow
def test_a_users_own_catalogue_is_opened_once(tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text(OWN)
    text = Path(design_file("dlrm-1k-parts")).read_text().replace("catalog: parts-2024", "catalog: own.yaml")
    (tmp_path / "mine.yaml").write_text(text)
    opened = catalogues(search(str(tmp_path / "mine.yaml"), tmp_path / "results")["opened"])
    assert opened[str(tmp_path.resolve() / "own.yaml")] == 1
    assert set(opened.values()) == {1}


@pytest.mark.slow
def test_a_search_enters_few_files(results: Path) -> None:
    entered = search("gpt3-4k", results, str(PACKAGE))["entered"]
    assert len(entered) <= MAX_FILES, "\n".join(entered)


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [
        ("recommend", "--seconds", "0"),
        ("evaluate",),
        *(
            pytest.param(words, marks=pytest.mark.slow)
            for words in (("certify",), ("explain",), ("report",), ("rescore", "--time", "libra"))
        ),
    ],
)
def test_a_question_about_a_result_opens_each_catalogue_once(command: Sequence[str], results: Path) -> None:
    search("gpt3-4k", results)
    folder = next((results / "gpt3-4k").iterdir())
    address = f"{folder}#0" if command[0] in ("evaluate", "explain") else str(folder)
    more = ("-o", str(results / "report.html")) if command[0] == "report" else ()
    found = watched((command[0], address, *command[1:], *more))
    assert set(catalogues(found["opened"]).values()) == {1}
    assert found["built"] == (2 if command[0] == "rescore" else 1)  # as it was, and under the other time
