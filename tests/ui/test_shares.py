"""Every output that shows a time under LIBRA's shares says by how much the design exceeds its links."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from evo_libra.ui.commands.application import run

PROBLEM = """\
name: exchange
npus: 16
fabric: {catalog: libra, max_dimensions: 1, technologies: [node], blocks: [ring]}
workloads: [{file: w.txt}]
time: {shares: libra}
bandwidth: {mode: search, min_GBps: 1, max_GBps: 100}
"""
LAYERS = "DATA\n1\nl -1 1000 ALLTOALL 4000000 1000 NONE 0 1000 NONE 0 0\n"
SAID = "all-to-all on RI(16): 4.27 times faster than its links carry"
"""On shortest ways 2 B of every B pass the busiest link, at half of the bandwidth: 4 / (15 / 16)."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("shares")
    (found / "w.txt").write_text(LAYERS)
    (found / "p.yaml").write_text(PROBLEM)
    return found


@pytest.fixture(scope="module")
def result(folder: Path) -> str:
    words = ["search", str(folder / "p.yaml"), "--evaluations", "300", "--population", "50", "--out", str(folder)]
    assert run([*words, "--json"]) == 0
    (found,) = folder.rglob("front.parquet")
    return str(found.parent)


def said(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    capsys.readouterr()
    assert run(words) == 0
    return " ".join(capsys.readouterr().out.split())


def commands(folder: Path, result: str) -> dict[str, list[str]]:
    search = ["--evaluations", "300", "--population", "50", "--out", str(folder / "again")]
    return {
        "evaluate": ["evaluate", f"{result}#fastest"],
        "search": ["search", str(folder / "p.yaml"), *search],
        "recommend": ["recommend", result, "--seconds", "0"],
        "certify": ["certify", result],
    }


@pytest.mark.slow
@pytest.mark.parametrize("name", ["evaluate", "search", "recommend", "certify"])
def test_every_command_says_by_how_much(
    name: str, folder: Path, result: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = commands(folder, result)[name]
    assert SAID in said(words, capsys)
    found = json.loads(said([*words, "--json"], capsys))
    rows = {"evaluate": [found], "recommend": found.get("recommended"), "certify": found.get("designs")}.get(name)
    shares = found["shares"] if rows is None else [row["shares"] for row in rows]
    assert shares
    for one in shares:
        (traffic,) = one["traffic"]
        assert traffic["times_faster"] == pytest.approx(64 / 15, rel=1e-9)
        assert (traffic["traffic"], traffic["network"], traffic["dimension"]) == ("all-to-all", "RI(16)", 0)
        assert one["physical_time_ms"] - one["time_ms"] == pytest.approx(traffic["added_ms"], rel=1e-9)


@pytest.mark.slow
def test_the_report_says_so(result: str, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    assert run(["report", result, "--page", str(page)]) == 0
    assert SAID in page.read_text()


def test_nothing_is_said_where_links_carry_it(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ring, switch = "RI(16)@node:100", "SW(16)@node:100"
    for assignment, design in (("time={shares: physical}", ring), ("fabric.blocks=[switch]", switch)):
        words = ["evaluate", str(folder / "p.yaml"), "--set", assignment, "--design", design]
        assert "links carry" not in said(words, capsys)
        assert "shares" not in json.loads(said([*words, "--json"], capsys))


def test_the_file_to_begin_with_has_physical_shares(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "mine.yaml"
    assert run(["init", str(file), "--example", "libra"]) == 0
    design = "RI(4)@chiplet:100_RI(16)@node:100_SW(16)@pod:100"  # groups of 16 hold a part of the second dimension
    times = [
        json.loads(said(["evaluate", str(file), *set_, "--design", design, "--json"], capsys))["time_ms"]
        for set_ in ([], ["--set", "time={shares: physical}"], ["--set", "time={shares: libra}"])
    ]
    assert times[0] == times[1] > times[2]
