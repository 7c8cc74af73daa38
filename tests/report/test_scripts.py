"""The scripts of the page: their length, and their types."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from dataclasses import fields
from pathlib import Path

import pytest

from evo_libra.explain.sheet import Table
from evo_libra.report import page, records

STATIC = Path(page.__file__).parent / "static"
MAX_LINES = 600


def test_the_scripts_stay_short() -> None:
    lines = [line.strip() for name in page.SCRIPTS for line in (STATIC / name).read_text().splitlines()]
    assert sum(bool(line) and not line.startswith(("//", "/*", "*")) for line in lines) <= MAX_LINES


def test_types_of_the_scripts_are_the_records() -> None:
    text = (STATIC / "types.d.ts").read_text()
    for record in (records.Column, records.Result, records.Family, records.Reference, records.Step, records.Waterfall,
                   Table, records.Detail):  # fmt: skip
        body = re.search(rf"interface {record.__name__} {{(.*?)}}\n", text, re.DOTALL)
        assert body is not None
        assert set(re.findall(r"(\w+): ", body[1])) == {one.name for one in fields(record)}, record.__name__


def test_every_script_is_checked() -> None:
    settings = json.loads((STATIC / "tsconfig.json").read_text())
    assert set(settings["files"]) == {"types.d.ts", *page.SCRIPTS}
    assert {path.name for path in STATIC.glob("*.js")} == set(page.SCRIPTS)


@pytest.mark.slow
def test_the_scripts_pass_the_type_checker() -> None:
    checker = shutil.which("tsc")
    if checker is None:
        pytest.skip("no TypeScript is installed: npm install --global typescript")
    done = subprocess.run([checker, "-p", str(STATIC)], capture_output=True, text=True, check=False)
    assert done.stdout == ""
    assert done.returncode == 0
