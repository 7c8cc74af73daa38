"""The command that says which design to take, beside the commands that it draws on."""

from __future__ import annotations

from pathlib import Path

import pytest
from command import call, call_json, run, run_json

PROBLEM = "moe-4k"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("recommend")
    run(path, "search", PROBLEM, "--evaluations", "1500", "--population", "100", "--set", "npus=512")
    return path


@pytest.fixture(autouse=True)
def there(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)


@pytest.mark.slow
def test_its_figures_are_those_of_the_other_commands() -> None:
    found = call_json("recommend", "last")
    proof = {one["id"]: one["factor"] for one in call_json("certify", "last")["designs"]}
    for one in found["recommended"]:
        evaluated = call_json("evaluate", f"last#{one['id']}")
        assert one["design"] == evaluated["design"]
        assert one["time_ms"] == pytest.approx(evaluated["time_ms"], rel=1e-12)
        assert sum(part["cost_usd"] for part in one["parts"]) == pytest.approx(evaluated["cost_usd"], rel=1e-12)
        pieces = {part["part"]: part["pieces"] for part in one["parts"]}
        for name, count in pieces.items():
            rows = [row for row in evaluated["breakdown"]["bill"] if (row["part"] or row["item"]) == name]
            assert count == sum(row["pieces"] for row in rows)
        assert one["factor"] == pytest.approx(proof[one["id"]], rel=1e-12)
        assert 0 <= one["kept_share"] <= 1


@pytest.mark.slow
def test_limits_have_units_and_power_is_computed() -> None:
    every = call_json("recommend", "last", "--seconds", "0")
    assert every["recommended"][0]["factor"] is None
    found = call_json("recommend", "last", "--max-power", "60kW", "--seconds", "0")
    assert found["limits"] == {"power_kW": 60.0}
    for one in found["recommended"]:
        power = sum(row["power_W"] for row in call_json("evaluate", f"last#{one['id']}")["breakdown"]["bill"])
        assert one["power_kW"] == pytest.approx(power / 1e3)
        assert one["power_kW"] <= 60


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("--max-cost", "1USD"), 1, "nothing on the front keeps cost <= 1 USD; the lowest cost is"),
        (("--max-time", "5W"), 2, "--max-time: '5W' is no time; its units are s, ms, us"),
        (("--seconds", "-1"), 2, "--seconds: found -1; a number of at least 0 is needed"),
    ],
)
def test_what_cannot_be_is_said(words: tuple[str, ...], code: int, said: str) -> None:
    assert said in run(Path(), "recommend", "last", *words, code=code).stderr


@pytest.mark.slow
def test_the_text_says_what_json_says(capsys: pytest.CaptureFixture[str]) -> None:
    found = call_json("recommend", "last", "--seconds", "0")
    call("recommend", "last", "--seconds", "0")
    shown = " ".join(capsys.readouterr().out.split())
    for one in found["recommended"]:
        assert one["reason"] in shown
        assert one["runner_up_is"] in shown
        assert f"#{one['id']} " in shown


@pytest.mark.slow
def test_a_search_ends_with_it(folder: Path) -> None:
    words = ("search", PROBLEM, "--evaluations", "300", "--population", "50", "--out", "other", "--set", "npus=512")
    found = run_json(folder, *words)
    shown = " ".join(run(folder, *words).stdout.split())
    assert all(one["reason"] in shown for one in found["recommended"])
    assert "evo-libra recommend other/last" in shown
    again = call_json("recommend", "other/last", "--seconds", "0")
    assert [one["reason"] for one in again["recommended"]] == [one["reason"] for one in found["recommended"]]


def test_a_problem_in_python_has_recommendations_and_no_proof(tmp_path: Path) -> None:
    source = Path(__file__).parents[2] / "problems" / "two_tier.py"
    (tmp_path / "two_tier.py").write_text(source.read_text())
    run(tmp_path, "search", "two_tier:problem", "--evaluations", "500", "--population", "50")
    found = run_json(tmp_path, "recommend", "last")
    assert found["recommended"]
    assert found["no_proof"] == "a problem written in Python has no prices and no proof"
    assert "a problem written in Python" in run(tmp_path, "recommend", "last").stdout.replace("\n", " ")
