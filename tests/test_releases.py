"""A release: its version, its page of the changelog, the Pythons that CI runs, and its extras."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

from evo_libra import __version__

ROOT = Path(__file__).parents[1]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
PAGE_LINES = 60


def test_the_changelog_begins_with_what_is_not_released_and_this_version() -> None:
    text = (ROOT / "CHANGELOG.md").read_text()
    assert re.findall(r"^## (.*)$", text, flags=re.MULTILINE)[:2] == ["Unreleased", __version__]
    page = text.partition(f"## {__version__}\n")[2].partition("### Names that changed")[0]
    assert 10 < page.count("\n") <= PAGE_LINES


def test_classifiers_name_the_python_that_ci_runs() -> None:
    named = [one.rpartition(" ")[2] for one in PROJECT["classifiers"] if " Python :: " in one]
    assert named == ["3.11"]
    assert PROJECT["requires-python"] == ">=3.11"


def test_what_main_jobs_do_without_is_an_extra() -> None:
    needed = " ".join(PROJECT["dependencies"])
    assert all(one in needed for one in ("pymoo", "deap", "textual", "matplotlib"))
    extras = PROJECT["optional-dependencies"]
    optional = {"excel": ["xlsxwriter"], "cluster": ["distributed", "cryptography"], "fast": ["numba"]}
    for extra, packages in optional.items():
        assert all(package not in needed for package in packages)
        assert [re.split(r"[>=;\[]", one)[0] for one in extras[extra]] == packages
    assert all(";" not in one for packages in extras.values() for one in packages), "numba has no upper limit of Python"
