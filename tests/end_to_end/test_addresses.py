"""One way to name a design, and parts of a front as tables and files."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path

import polars as pl
import pytest
from command import call, call_json, run, run_json

from evo_libra.errors import InputError
from evo_libra.experiment.store.folder import RunFolder
from evo_libra.explain.labels import short_design
from evo_libra.front.front import Front
from evo_libra.quantities import number
from evo_libra.ui.tables.addresses import addressed, is_address
from evo_libra.ui.tables.named_runs import run_folder

BUDGETS = (("gpt3-4k", 600), ("gpt3-4k", 1500), ("moe-4k", 400))
DESIGN = "RI(4)@chiplet:250_FC(8)@package:125_RI(4)@node:60_SW(32)@pod:20"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("addresses")
    for name, budget in BUDGETS:
        run(path, "search", name, "--evaluations", budget, "--population", "100")
    run(path, "search", "gpt3-4k", "--evaluations", "300", "--population", "50", "--out", "mine")
    return path


@pytest.fixture(autouse=True)
def there(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)


def front_of(name: str) -> Front:
    return RunFolder(run_folder(name)).read_front()


@pytest.mark.slow
def test_the_last_run_has_a_name_of_its_own_in_each_folder() -> None:
    assert run_folder("last").parent.name == "moe-4k"
    assert run_folder("gpt3-4k/last") == run_folder("results/gpt3-4k/last") == run_folder("e1500")
    assert run_folder("mine/last") == run_folder("mine/e300") == run_folder("mine/gpt3-4k")
    with pytest.raises(InputError, match=r"results/gpt3-4k has 2 runs.*; name one, or results/gpt3-4k/last"):
        run_folder("results/gpt3-4k")


@pytest.mark.slow
def test_a_design_has_one_name_in_every_command() -> None:
    front = front_of("last")
    row = front.frame.row(3, named=True)
    for words in (["evaluate", "last#3"], ["evaluate", "moe-4k#3"], ["evaluate", "results/moe-4k", "--id", "3"],
                  ["evaluate", f"last#{row['design']}"], ["evaluate", f"moe-4k#{row['design']}"]):  # fmt: skip
        found = call_json(*words)
        assert found["design"] == row["design"]
        assert found["time_ms"] == pytest.approx(row["time_ms"], rel=1e-12)


@pytest.mark.slow
def test_the_best_bandwidths_of_a_design_are_no_slower_at_its_cost() -> None:
    row = front_of("last").frame.row(3, named=True)
    found = call_json("optimize", "last#3")
    assert found == call_json("optimize", f"moe-4k#{row['design']}")
    assert found["time_ms"] <= row["time_ms"] * (1 + 1e-9)
    assert found["cost_usd"] <= row["cost_usd"] * (1 + 1e-9)
    assert re.sub(":[0-9.]+", "", found["design"]) == re.sub(":[0-9.]+", "", row["design"])
    assert call_json("optimize", "last#3", "--cost", f"{row['cost_usd'] * 2}")["time_ms"] <= found["time_ms"]
    with pytest.raises(InputError, match="--shape and 'last#3' both name a network"):
        call_json("optimize", "last#3", "--shape", "SW(8)_SW(8)")


@pytest.mark.slow
def test_words_stand_for_the_ends_and_the_knee() -> None:
    front = front_of("last")
    assert addressed("last#fastest").row == front.frame["time_ms"].arg_min()
    assert addressed("last#cheapest").row == front.frame["cost_usd"].arg_min()
    assert addressed("last").design == addressed("last#knee").design
    assert addressed("2", beside=addressed("last#0")).row == 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("last#99999", "has no design 99999; its ids are 0 to"),
        ("last#kne", "unknown design 'kne'; allowed: knee, fastest, cheapest; did you mean 'knee'"),
        ("last#", "'last#' names no design; write it like last#12"),
        (DESIGN, "is a design of some problem; write it like gpt3-4k#"),
        ("nowhere#3", "there is no run 'nowhere'"),
    ],
)
def test_what_names_no_design_is_said(address: str, said: str) -> None:
    with pytest.raises(InputError, match=said.replace("(", r"\(")):
        addressed(address)


def test_a_design_of_another_size_is_said() -> None:
    with pytest.raises(InputError, match="has 4 NPUs; the problem has 4096"):
        call("evaluate", "gpt3-4k#RI(4)@chiplet:250")


def test_runs_and_problems_are_no_addresses() -> None:
    Path("a#b").mkdir()
    assert not any(map(is_address, ("last", "gpt3-4k", "results/moe-4k", "a#b")))
    assert all(map(is_address, ("last#3", "results/moe-4k#knee", DESIGN)))


def test_printed_bandwidths_evaluate_to_the_same_figures() -> None:
    for name, run_name in (("gpt3-4k", "e1500"), ("moe-4k", "last")):
        front = front_of(run_name)
        problem = addressed(f"{run_name}#0").problem
        designs = [short_design(design) for design in front.frame["design"]]
        found = problem.evaluate(designs)
        assert (found.violation == 0).all(), name
        for objective, values in zip(problem.objectives, found.objectives, strict=True):
            stored = front.frame[objective.column].to_numpy()
            assert values / objective.scale == pytest.approx(stored, rel=2e-9, abs=0)
            assert list(map(number, values / objective.scale)) == list(map(number, stored))


def test_tables_have_whole_names_and_evaluate(capsys: pytest.CaptureFixture[str]) -> None:
    call("front", "last", "--rows", "3")
    shown = capsys.readouterr().out
    assert max(map(len, shown.splitlines())) <= 80
    assert "…" not in shown
    call("front", "last", "--wide", "--rows", "3")
    wide = capsys.readouterr().out
    chosen = front_of("last").spread(3)
    assert all(short_design(design) in wide for design in chosen["design"])


def test_families_cover_the_front() -> None:
    rows = call_json("front", "gpt3-4k/last", "--families")["families"]
    assert sum(row["designs"] for row in rows) == len(front_of("gpt3-4k/last"))
    assert len({row["family"] for row in rows}) == len(rows) > 1


@pytest.mark.slow
def test_a_part_of_a_front_goes_to_files(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("front", "e1500", "--where", "time<2s", "--sort=-cost", "--columns", "id,time,cost,family")
    call(*words, "--csv", "-")
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    front = front_of("e1500").frame.filter(pl.col("time_ms") < 2000).sort("cost_usd", descending=True)
    assert [int(row["id"]) for row in rows] == front["id"].to_list()
    assert [float(row["time_ms"]) for row in rows] == front["time_ms"].to_list()
    call(*words, "--parquet", "part.parquet", "--markdown", "part.md")
    assert pl.read_parquet("part.parquet")["cost_usd"].to_list() == front["cost_usd"].to_list()
    lines = Path("part.md").read_text().splitlines()
    assert lines[0] == "| id | time_ms | cost_usd | family |"
    assert len(lines) == 2 + front.height
    assert run_json(Path(), *words)["front"][0].keys() == {"id", "time_ms", "cost_usd", "family"}
    with pytest.raises(InputError, match="a Parquet file is no text"):
        call(*words, "--parquet", "-")


def test_a_filter_that_nothing_fits_is_said() -> None:
    assert "none of" in run(Path(), "front", "last", "--where", "time<1us", code=1).stderr
