"""The command that compares two designs."""

from __future__ import annotations

from pathlib import Path

import pytest
from command import call, call_json, run
from designs import design_file

from evo_libra.errors import InputError

TRAINED = "mixtral-8x7b-256"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("diff")
    run(path, "search", "gpt3-4k", "--evaluations", "1500", "--population", "100")
    run(path, "search", design_file(TRAINED), "--evaluations", "600", "--population", "100")
    return path


@pytest.fixture(autouse=True)
def there(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["gpt3-4k", TRAINED])
def test_its_figures_are_those_of_evaluate(name: str) -> None:
    found = call_json("diff", f"{name}/last#fastest", "0" if name == TRAINED else "3")
    second = call_json("diff", f"{name}/last#cheapest", f"{name}/last#fastest")
    for each in (found, second):
        for side in ("first", "second"):
            one = call_json("evaluate", f"{name}/last#{each[side]['design']}")
            assert each[side]["time_ms"] == pytest.approx(one["time_ms"], rel=1e-12)
            assert each[side]["cost_usd"] == pytest.approx(one["cost_usd"], rel=1e-12)
    assert second["first"]["cost_usd"] < second["second"]["cost_usd"]
    assert second["second_is"].split(", ")[1].endswith("expensive")
    assert second["of_two_problems"] is False
    assert second["question"] == "design"


@pytest.mark.slow
def test_a_design_does_not_differ_from_itself() -> None:
    found = call_json("diff", "last#0", "0")
    assert found["second_is"] == "as fast, as cheap"
    assert not any(row["differs"] for row in found["network"])
    assert found["plan"] == found["prices"] == found["bandwidths"] == []


@pytest.mark.slow
def test_batches_are_times_of_the_changed_problem() -> None:
    found = call_json("diff", "last#fastest", "last#cheapest")
    assert [one["factor"] for one in found["batches"]] == [0.5, 2.0]
    for one in found["batches"]:
        (change,) = one["set"]
        if one["first_ms"] is None:
            assert one["why_not"]
            continue
        written = call_json("evaluate", f"{design_file(TRAINED)}#{found['first']['design']}", "--set", change)
        assert written["time_ms"] == pytest.approx(one["first_ms"], rel=1e-12)


@pytest.mark.slow
def test_results_are_compared_by_their_knees(capsys: pytest.CaptureFixture[str]) -> None:
    found = call_json("diff", "gpt3-4k/last", f"{TRAINED}/last")
    assert found["of_two_problems"] is True
    assert call_json("diff", "gpt3-4k/last#knee", "gpt3-4k/last")["second_is"] == "as fast, as cheap"
    call("diff", "last#fastest", "last#cheapest")
    shown = capsys.readouterr().out
    assert max(map(len, shown.splitlines())) <= 80
    assert "where the money goes [MUSD]" in shown


@pytest.mark.slow
def test_an_id_alone_needs_a_front() -> None:
    design = "RI(4)@chiplet:250_FC(8)@package:125_RI(4)@node:60_SW(32)@pod:20"
    with pytest.raises(InputError, match="'3' is the id of a design of a front, and the other design is in none"):
        call("diff", f"gpt3-4k#{design}", "3")
