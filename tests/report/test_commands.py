"""The commands `report` and `draw`."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from command import call, call_json, run

PROBLEM = "turing-nlg-4k"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report")
    for seed in (0, 1):
        run(path, "search", PROBLEM, "--evaluations", "800", "--population", "100", "--seed", seed)
    return path


@pytest.fixture(autouse=True)
def there(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)


def data_of(path: str) -> Any:
    text = Path(path).read_text(encoding="utf-8")
    return json.loads(text.split('id="data">', 1)[1].split("</script>", 1)[0])


@pytest.mark.slow
def test_one_result_is_proven_and_has_all_details(capsys: pytest.CaptureFixture[str]) -> None:
    assert call("report", "s0", "-o", "one.html", "--seconds", "1") == 0
    assert capsys.readouterr().out.startswith("one.html: ")
    data, front = data_of("one.html"), call_json("front", "s0")["front"]
    assert data["rows"]["design"] == [row["design"] for row in front]
    proof = data["results"][0]["proof"]
    assert proof.startswith(("Proven: at no cost is a design ", "Not proven: the bound is loose ("))
    assert re.search(r"The (proof|bound) is of 60 topologies with bandwidths of ", proof)
    assert len(data["details"]) == len(front)
    assert data["title"] == PROBLEM


@pytest.mark.slow
def test_the_same_result_gives_the_same_page() -> None:
    for name in ("a.html", "b.html"):
        assert call("report", "last", "-o", name, "--seconds", "0") == 0
    assert Path("a.html").read_bytes() == Path("b.html").read_bytes()


@pytest.mark.slow
def test_several_results_overlay_with_what_they_attain() -> None:
    assert call("report", f"problem:{PROBLEM}", "-o", "two.html", "--title", "two seeds") == 0
    data = data_of("two.html")
    assert [one["name"] for one in data["results"]] == ["smsemoa, seed 0", "smsemoa, seed 1"]
    assert [one["title"] for one in data["charts"]] == ["Attainment", "Convergence"]
    assert "2 runs" in data["charts"][0]["drawing"]
    assert all(one["proof"] == "" for one in data["results"])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("nowhere",), "there is no run 'nowhere'"),
        ((), "one run or more are needed; found 0"),
        (("last", "--seconds", "-1"), "--seconds: found -1; a number of at least 0 is needed"),
        (("last", "--seconds", "0", "-o", "no/such/r.html"), "no/such/r.html cannot be written: no such file"),
    ],
)
def test_what_cannot_be_reported_is_said_in_a_sentence(words: tuple[str, ...], said: str, folder: Path) -> None:
    assert said in run(folder, "report", *words, code=2).stderr


def test_draw_writes_a_picture_or_prints_characters(capsys: pytest.CaptureFixture[str]) -> None:
    assert call("draw", "last#knee", "-o", "net.svg") == 0
    capsys.readouterr()
    assert ET.parse("net.svg").getroot().get("aria-label", "").startswith("4,096 NPUs")  # noqa: S314 - our own file
    assert call("draw", "last#0") == 0
    printed = capsys.readouterr().out
    assert printed.startswith("4,096 NPUs")
    assert call("draw", "RI(4)_SW(8)", "--ascii") == 0
    assert capsys.readouterr().out.isascii()


@pytest.mark.slow
def test_both_answer_programs() -> None:
    found = call_json("report", "last", "-o", "json.html", "--seconds", "0")
    designs = len(data_of("json.html")["rows"]["id"])
    assert found == {"page": "json.html", "question": "design", "results": 1, "designs": designs, "notes": []}
    assert call_json("draw", "RI(4)_SW(8)")["npus"] == 32
    assert call_json("draw", "RI(4)_SW(8)", "-o", "j.svg")["figure"] == "j.svg"


def test_draw_refuses_other_formats(folder: Path) -> None:
    assert "ends in .svg" in run(folder, "draw", "last#0", "-o", "net.png", code=2).stderr
    assert "is no dimension" in run(folder, "draw", "SW8(", code=2).stderr
