"""The scripts of the page: their length, and their types."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from dataclasses import asdict, fields
from pathlib import Path

import polars as pl
import pytest

from evo_libra.explain.sheet import Table
from evo_libra.front.front import Front
from evo_libra.problem.constraint_parser import UNIT_SIZES
from evo_libra.report import page, records
from evo_libra.report.searched import searched_columns

STATIC = Path(page.__file__).parent / "static"
MAX_LINES = 800


def test_the_scripts_stay_short() -> None:
    lines = [line.strip() for name in page.SCRIPTS for line in (STATIC / name).read_text().splitlines()]
    assert sum(bool(line) and not line.startswith(("//", "/*", "*")) for line in lines) <= MAX_LINES


def test_types_of_the_scripts_are_the_records() -> None:
    text = (STATIC / "types.d.ts").read_text()
    for record in (records.Column, records.Searched, records.Result, records.Family, records.Reference, records.Step,
                   records.Waterfall, Table, records.Detail):  # fmt: skip
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


CASES = Path(__file__).parents[1] / "front" / "query_cases.json"
_RUN_CASES = """
const {cases, searched, units, script} = JSON.parse(require("fs").readFileSync(0, "utf8"));
const {queryTest} = new Function(`${script}; return {queryTest};`)();
process.stdout.write(JSON.stringify(cases.map(([query]) => {
  try { const test = queryTest(query, searched, units); return searched[0].names.filter((_, row) => test(row)); }
  catch (error) { return error.message; }
})));
"""


@pytest.mark.slow
def test_the_filter_answers_as_python_does() -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("no Node.js is installed: apt-get install nodejs")
    table = json.loads(CASES.read_text())
    front = Front(pl.DataFrame(table["columns"]), tuple(table["objectives"]))
    searched = [asdict(column) for column in searched_columns(front)]
    given = {"cases": table["cases"], "searched": searched, "units": UNIT_SIZES,
             "script": (STATIC / "query.js").read_text()}  # fmt: skip
    done = subprocess.run([node, "-e", _RUN_CASES], input=json.dumps(given), capture_output=True, text=True, check=True)
    for (query, expected, *place), found in zip(table["cases"], json.loads(done.stdout), strict=True):
        if place:
            assert str(found).startswith(f"character {place[0]} of '{query}': {expected}"), (query, found)
        else:
            assert found == expected, query
