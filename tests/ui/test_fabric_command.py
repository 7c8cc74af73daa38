"""The command `fabric`."""

from __future__ import annotations

from pathlib import Path

import pytest
from command import call, call_json

from evo_libra.errors import InputError


@pytest.mark.slow
def test_a_fabric_of_a_result_and_by_its_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    front = call_json("search", "fabric-256", "--evaluations", "300", "--population", "60", "--out", tmp_path)["front"]
    cables = tmp_path / "cables.csv"
    found = call_json("fabric", f"{tmp_path}/last#0", "--cables", cables, "--graph", tmp_path / "layers.dot")
    assert found["fabric"] == front[0]["fabric"]
    assert found["diameter"] == front[0]["diameter"]
    assert sum(int(line.split(",")[4]) for line in cables.read_text().splitlines()[1:]) == (
        front[0]["copper_cables"] + front[0]["fibre_cables"]
    )
    named = call_json("fabric", "zcube(16, 2)", "--problem", "fabric-256")
    assert [row["GBps"] for row in named["traffic"]] == pytest.approx([50.0, 50.0])
    capsys.readouterr()
    assert call("fabric", "zcube(16, 3)") == 0
    assert "3.78561 links on average, 4 at most" in capsys.readouterr().out


@pytest.mark.parametrize(("words", "said"), [
    (("zcubes(4, 2)",), "unknown fabric 'zcubes'"),
    (("zcube(16, 2)", "--problem", "gpt3-4k"), "asks for no fabric of switches"),
    (("zcube(4, 2)", "--cables", "/nowhere/cables.csv"), "cannot be written"),
])  # fmt: skip
def test_mistakes(words: tuple[str, ...], said: str) -> None:
    with pytest.raises(InputError, match=said):
        call("fabric", *words)


@pytest.mark.slow
def test_other_commands_say_why_they_read_no_fabrics(tmp_path: Path) -> None:
    call_json("search", "fabric-256", "--evaluations", "100", "--population", "50", "--out", tmp_path)
    run = f"{tmp_path}/last"
    for words, said in (
        (("explain", f"{run}#0"), "asks for a fabric of switches; `evo-libra fabric` shows one"),
        (("prices", run), "asks for a fabric of switches, whose fronts have no scenarios and no other time models"),
        (("optimize", "fabric-256"), "question: this file asks for a fabric of switches"),
        (("search", "fabric-256", "--engine", "exhaustive"), "asks for a fabric of switches; exhaustive enumerates"),
    ):
        with pytest.raises(InputError, match=said):
            call(*words)
