"""Fabrics of switches as designs that commands evaluate and write."""

from __future__ import annotations

from pathlib import Path

import pytest
from command import call, call_json

from evo_libra.errors import InputError


@pytest.mark.slow
def test_a_fabric_of_a_result_and_by_its_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    front = call_json("search", "fabric-256", "--evaluations", "300", "--population", "60", "--out", tmp_path)["front"]
    cables = tmp_path / "cables.csv"
    found = call_json("evaluate", f"{tmp_path}/last#0")
    assert call("export", f"{tmp_path}/last#0", "--to", "cables-csv", "--file", cables) == 0
    graph = call_json("export", f"{tmp_path}/last", "--id", 0, "--to", "graphviz")
    assert graph["design"] == front[0]["fabric"]
    assert graph["content"].startswith("graph ")
    assert found["fabric"] == front[0]["fabric"]
    assert found["diameter"] == front[0]["diameter"]
    assert call_json("evaluate", f"{tmp_path}/last")["fabric"] in [row["fabric"] for row in front]
    assert sum(int(line.split(",")[4]) for line in cables.read_text().splitlines()[1:]) == (
        front[0]["copper_cables"] + front[0]["fibre_cables"]
    )
    named = call_json("evaluate", "fabric-256", "zcube(16, 2)")
    assert named == call_json("evaluate", "fabric-256#zcube(16, 2)")
    assert [row["GBps"] for row in named["traffic"]] == pytest.approx([50.0, 50.0])
    capsys.readouterr()
    assert call("evaluate", "zcube(16, 3)") == 0
    assert "3.78561 links on average, 4 at most" in capsys.readouterr().out


@pytest.mark.parametrize(("words", "said"), [
    (("evaluate", "zcubes(4, 2)"), "unknown fabric 'zcubes'"),
    (("evaluate", "gpt3-4k", "zcube(16, 2)"), "asks for no fabric of switches"),
    (("export", "zcube(4, 2)", "--to", "cables-csv", "--file", "/nowhere/cables.csv"), "cannot be written"),
    (("export", "zcube(4, 2)", "--to", "netbox"), "unknown format of a fabric 'netbox'; allowed: graphviz, cables-csv"),
    (("draw", "fabric-256", "zcube(16, 2)"), "a fabric of switches has no picture; `evo-libra export ..."),
])  # fmt: skip
def test_mistakes(words: tuple[str, ...], said: str) -> None:
    with pytest.raises(InputError, match=said):
        call(*words)


@pytest.mark.slow
def test_hours_of_the_npus_of_a_fabric_may_have_a_price(tmp_path: Path) -> None:
    """256 NPUs for four years at 1,000 USD an hour: an hour costs more than any network saves."""
    call_json("search", "fabric-256", "--evaluations", "300", "--population", "60", "--out", tmp_path)
    said = call_json("recommend", f"{tmp_path}/last", "--value", "1000USD/NPU-hour")["verdict"]
    front = call_json("front", f"{tmp_path}/last")["front"]
    assert said["rule"] == "given price of time"
    assert said["id"] == min(front, key=lambda row: row["time_ms"])["id"]


@pytest.mark.slow
def test_other_commands_say_why_they_read_no_fabrics(tmp_path: Path) -> None:
    call_json("search", "fabric-256", "--evaluations", "100", "--population", "50", "--out", tmp_path)
    run = f"{tmp_path}/last"
    for words, said in (
        (("explain", f"{run}#0"), "asks for a fabric of switches; `evo-libra evaluate` shows one"),
        (("prices", run), "asks for a fabric of switches, whose fronts have no scenarios and no other time models"),
        (("optimize", "fabric-256"), "question: this file asks for a fabric of switches"),
        (("search", "fabric-256", "--engine", "exhaustive"), "asks for a fabric of switches; exhaustive enumerates"),
    ):
        with pytest.raises(InputError, match=said):
            call(*words)
