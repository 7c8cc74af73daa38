"""Texts of a user's files in what is exported: no spreadsheet, browser, shell or parser takes them for a command."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import re
import shutil
import subprocess
import tempfile
import xml.etree.ElementTree as ET
import zipfile
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from command import call
from ruamel.yaml import YAML
from texts_in_problems import KINDS, chosen, with_each_text, write

from evo_libra.errors import InputError
from evo_libra.exchange.problem_text import problem_text
from evo_libra.exchange.registry import write_as, writers
from evo_libra.explain.bill_table import frame_csv, table_csv
from evo_libra.problem.file.registry import load_problem

PAYLOADS = [
    "=cmd|' /C calc'!A0", "=1+1", "+1+1", "-1+1", "@SUM(1)", "\t=1+1", "\r=1+1", "\n=1+1", " =1+1", '"', "'", "''=1",
    "\u00a0=1+1", "\ufeff=1+1", "\uff1d1+1",
    "</script><script>alert(1)</script>", "<img src=x onerror=alert(1)>", "<svg onload=alert(1)>", "]]>", "-->", "<!--",
    "&amp;&lt;", "${HOME}", "$(id)", "`id`", "; id", "| cat", "&& id", "a\nb: 1", "a # c", "{{7*7}}", "\\", '\\"',
    '"]; evil [label="', "a|b|c", "\u202e", "\x1b[31m",
]  # fmt: skip
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\u00a0", "\u2028", "\ufeff", "\uff1d", "\uff0b", "\uff0d", "\uff20")


def is_number(text: str) -> bool:
    return re.fullmatch(r"[-+]?[0-9.]+(e[-+]?[0-9]+)?", text) is not None


def check_csv(content: str) -> None:
    for row in csv.reader(io.StringIO(content, newline="")):
        assert [cell for cell in row if cell.startswith(FORMULA) and not is_number(cell)] == []


def check_workbook(content: bytes) -> None:
    """Only sums of columns are formulas; every text is a shared one."""
    with zipfile.ZipFile(io.BytesIO(content)) as book:
        sheet = book.read("xl/worksheets/sheet1.xml").decode()
        names = book.namelist()
    assert all(one.startswith("SUBTOTAL(109") for one in re.findall("<f>(.*?)</f>", sheet))
    assert not any("externalLink" in name or "vba" in name for name in names)


def check_dot(content: str) -> None:
    """Outside of quotes there are words of the language, names of levels and figures alone."""
    bare = re.sub(r'"(?:[^"\\]|\\.)*"', "Q", content, flags=re.DOTALL)
    assert '"' not in bare
    assert re.fullmatch(r"[\w\s{}\[\];=,-]*", bare)


def check_shell(content: str) -> None:
    """A shell that reads it gets an array of arguments, runs nothing and prints nothing else."""
    shell = shutil.which("bash")
    if shell is not None:
        words = [shell, "--noprofile", "--norc", "-c", 'eval "$0"; printf "%s\\n" "${MEGATRON_ARGS[@]}"', content]
        done = subprocess.run(words, env={"PATH": ""}, capture_output=True, text=True, check=True)
        assert done.stderr == ""
        assert all(re.fullmatch(r"[A-Za-z0-9().*+\[\]_-]+", word) for word in done.stdout.splitlines())
    lines = content.splitlines()
    inside = lines[lines.index("MEGATRON_ARGS=(") + 1 : -1]
    assert all(line.startswith("# ") for line in lines[: -len(inside) - 2])
    assert all(re.fullmatch(r'    --[a-z0-9-]+( [A-Za-z0-9._]+| "[(\]\[0-9*+)]+")*', line) for line in inside)


def check_json(content: str) -> None:
    """It has no text of a user at all."""
    assert re.fullmatch(r"[\w\s{}\[\]:,.\"-]*", content)
    json.loads(content)


def check_as_plain(content: str, plain: str) -> None:
    """A table has the rows and columns that it has with a plain text, and other cells where that one is alone."""
    tables = [list(csv.reader(io.StringIO(one, newline=""))) for one in (content, plain)]
    assert [len(row) for row in tables[0]] == [len(row) for row in tables[1]]
    assert all(
        cell == other or PLAIN in other
        for row, others in zip(*tables, strict=True) for cell, other in zip(row, others, strict=True)
    )  # fmt: skip


CHECKS: dict[str, Any] = {
    "bill-csv": check_csv, "bill-excel": check_workbook, "graphviz": check_dot, "megatron-arguments": check_shell,
    "deepspeed": check_json, **dict.fromkeys((name for name in writers() if name.startswith("netbox-")), check_csv),
}  # fmt: skip
"""Formats -> their checks; a new one needs a check."""
PLAIN = "a plain text"
FEW = {"design": ("=cmd|' /C calc'!A0", "\n=1+1", '"]; evil [label="'), "order": ("\n=1+1",)}


def written(folder: Path, kind: str, text: str) -> dict[str, Any]:
    """Return what every writer writes that has something to write."""
    found, design = {}, chosen(folder, kind, text)
    for name in writers():
        with contextlib.suppress(InputError):
            found[name] = write_as(name, design).content
    return found


@cache
def plain(kind: str) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        return written(Path(folder), kind, PLAIN)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "text"), [
    pytest.param(kind, text, marks=[] if text in FEW[kind] else pytest.mark.slow)
    for kind in KINDS for text in PAYLOADS
])  # fmt: skip
def test_no_writer_writes_a_text_as_a_command(kind: str, text: str, tmp_path: Path) -> None:
    found = written(tmp_path, kind, text)
    assert found.keys() == plain(kind).keys()
    for name, content in found.items():
        CHECKS[name](content)
        if CHECKS[name] is check_csv:
            check_as_plain(content, plain(kind)[name])


@pytest.mark.slow
def test_every_format_is_written_with_texts() -> None:
    assert plain("order").keys() == CHECKS.keys()


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_every_key_that_takes_any_text_has_one(kind: str, tmp_path: Path) -> None:
    taken = []
    for value, mine, own in with_each_text(kind, PLAIN):
        (tmp_path / "mine.yaml").write_text(mine)
        (tmp_path / "own.yaml").write_text(own)
        with contextlib.suppress(InputError):
            load_problem(str(tmp_path / "mine.yaml"))
            taken.append(value)
    # The bus of a slot, and keys of `sources`, which name keys of the product, are in no output.
    assert [value for value in taken if "." not in value and value != "pcie4-x16"] == []


@pytest.mark.parametrize("text", PAYLOADS)
def test_a_cell_is_text_and_can_be_read_again(text: str) -> None:
    for content in (
        table_csv(("a", "b"), [{"a": text, "b": -1.5}]),
        frame_csv(pl.DataFrame({"a": [text], "b": [-1.5]})),
    ):
        check_csv(content)
        _, (cell, number) = csv.reader(io.StringIO(content, newline=""))
        assert cell.removeprefix("'") == text.removeprefix("'")
        assert float(number) == -1.5


@pytest.mark.parametrize("text", PAYLOADS)
def test_a_comment_and_a_value_of_a_problem_file_are_one(text: str) -> None:
    data = {"name": text, "list": [text, {"a": text}]}
    assert YAML(typ="safe", pure=True).load(problem_text(data, [f"From {text}, a format."])) == data


class Tags(HTMLParser):
    """Elements of a page that can run something, and attributes that can."""

    def __init__(self) -> None:
        super().__init__()
        self.active: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ("script", "img", "iframe", "object", "embed", "link", "base", "form"):
            self.active.append(tag)
        self.active += [
            f"{tag} {name}" for name, value in attrs if name.startswith("on") or "javascript:" in (value or "")
        ]


def tags(page: str) -> list[str]:
    parser = Tags()
    parser.feed(page)
    return sorted(parser.active)


def shown(folder: Path, text: str) -> list[str]:
    """Return the active elements of the page of a front with a text, and the elements of its picture."""
    write(folder, "design", text)
    call("search", "mine.yaml", "--evaluations", 60, "--population", 20, "--seed", 1, "--out", "r")
    call("report", "--out", "r", "r/last", "--page", "page.html", f"--title={text}", "--seconds", 0)
    call("draw", "r/last#0", "--figure", "net.svg")
    call("front", "r/last", "--csv", "front.csv", "--markdown", "front.md")
    check_csv((folder / "front.csv").read_text())
    assert "<" not in (folder / "front.md").read_text()
    drawn = ET.parse(folder / "net.svg")  # noqa: S314 - our own
    return tags((folder / "page.html").read_text()) + sorted({element.tag for element in drawn.iter()})


@cache
def shown_plain() -> list[str]:
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        return shown(Path(folder), PLAIN)


@pytest.mark.slow
@pytest.mark.parametrize(
    "text", [" ".join(PAYLOADS), *(pytest.param(text, marks=pytest.mark.slow) for text in PAYLOADS)]
)
def test_a_page_and_a_picture_have_the_elements_that_they_have_without_texts(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert shown(tmp_path, text) == shown_plain()
    assert shown_plain().count("script") >= 1
