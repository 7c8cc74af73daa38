"""What `evo-libra validate` prints."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from evo_libra.pictures.plots.scatter import line_of
from evo_libra.pictures.plots.series import Series
from evo_libra.ui.commands.application import run
from evo_libra.validation.classes import band_of
from evo_libra.validation.sources import NOT_MODELLED, SOURCES
from evo_libra.workload.plans.step_class import StepClass


def output(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert run(["validate", *words]) == 0
    return capsys.readouterr().out


def unfolded(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.slow
def test_a_line_for_each_source_and_what_is_not_modelled(capsys: pytest.CaptureFixture[str]) -> None:
    out = output(capsys)
    assert [source.name for source in SOURCES if f"│   {source.name} " not in out] == []
    assert [source.name for source in SOURCES if source.title not in unfolded(out)] == []
    assert [text for text in NOT_MODELLED if text not in unfolded(out)] == []
    assert "GEMM_OF_ISOLATED 0.876, MEMORY_OF_PEAK 0.515." in unfolded(out)
    assert "megatron-2022 compute 0.952, llama-3 compute 1.007" in unfolded(out)


def test_what_is_bought_comes_first_and_what_is_equal_by_construction_last(capsys: pytest.CaptureFixture[str]) -> None:
    out = output(capsys, "--group", "llama-3", "--group", "libra-cost")
    places = [
        out.index(text) for text in ("what is bought", "h100-80gb, bf16,", "llama-3 ", "by construction", "libra-cost ")
    ]
    assert places == sorted(places)


def test_json_has_the_errors_of_each_class(capsys: pytest.CaptureFixture[str]) -> None:
    found: Any = json.loads(output(capsys, "--json", "--group", "llama-3", "--group", "zero-3"))["classes"]
    keys = ("npu", "precision", "model", "schedule", "years", "count")
    assert [[one[key] for key in keys] for one in found] == [
        ["h100-80gb", "bf16", "dense", "pipeline", [2024, 2024], 3],
        ["a100-80gb", "bf16", "dense", "FSDP", [2021, 2021], 6],
    ]
    # The band is that of designs of this class: of all rows of the table, whatever is asked for.
    shown = band_of(StepClass("h100-80gb", "bf16", "dense", "pipeline"), "time")
    assert shown is not None
    assert tuple(found[0]["measured_over_computed"]) == shown


@pytest.mark.slow
def test_a_plot_has_a_mark_for_each_group_and_no_colour(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    plot = output(capsys).partition("error of what is computed")[0]
    assert all(f" {group}" in plot for group in ("equal", "training", "kernels"))
    assert max(map(len, plot.splitlines())) <= 60
    assert "\x1b" not in plot


def test_rows_of_a_source(capsys: pytest.CaptureFixture[str]) -> None:
    out = output(capsys, "--group", "llama-3", "--rows")
    assert "llama3.8192.s8192" in out
    assert "korthikanti" not in out
    assert "llama3.8192.s8192" not in output(capsys, "--group", "llama-3")


def test_json_has_every_row(capsys: pytest.CaptureFixture[str]) -> None:
    found: Any = json.loads(output(capsys, "--json", "--group", "memory", "--group", "zero-3"))
    assert [source["name"] for source in found["sources"]] == ["zero-3", "memory"]
    assert all(source["count"] == len(source["rows"]) for source in found["sources"])
    assert found["sources"][0]["mean_percent"] <= 5
    assert [source["basis"] for source in found["sources"]] == ["fitted", "by construction"]
    assert set(found["sources"][0]["rows"][0]) == {"id", "published", "ours", "unit", "error_percent"}
    assert found["constants"] == {"GEMM_OF_ISOLATED": 0.876, "MEMORY_OF_PEAK": 0.515}
    assert found["not_modelled"] == list(NOT_MODELLED)
    assert "refit" not in found


@pytest.mark.slow
def test_a_fit_says_how_far_constants_move(capsys: pytest.CaptureFixture[str]) -> None:
    found: Any = json.loads(output(capsys, "--json", "--group", "llama-3", "--refit"))["refit"]
    assert [one["name"] for one in found["constants"]] == ["GEMM_OF_ISOLATED", "MEMORY_OF_PEAK"]
    assert all(abs(one["moved_percent"]) < 2 for one in (*found["constants"], *found["software"]))
    assert [half["tested"] for half in found["halves"]] == ["odd", "even"]


@pytest.mark.slow
def test_a_fit_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    out = output(capsys, "--group", "llama-3", "--refit")
    assert "fitted again on the public rows" in out
    assert "deepspeed-2021 ring_efficiency" in out
    assert "even rows" in out


def test_an_unknown_group_is_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["validate", "--group", "trainig"]) == 2
    error = capsys.readouterr().err
    assert "--group: unknown group or source 'trainig'; allowed: training, ratios, scaling slopes, serving" in error
    assert error.endswith("did you mean 'training'?\n")
    assert len(error.splitlines()) == 1


SOME = ("--group", "llama-3", "--group", "libra-cost")


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["png", "pdf", "svg"])
def test_a_plot_is_drawn_to_a_file(tmp_path: Path, ending: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / f"parity.{ending}"
    assert f"plot   {path}" in output(capsys, *SOME, "--plot", str(path)).replace("\n", " ")
    first = path.read_bytes()
    assert output(capsys, *SOME, "--plot", str(path), "--json")
    assert path.read_bytes() == first
    if ending == "png":
        with Image.open(path) as image:
            assert image.size == (1145, 640)


@pytest.mark.slow
def test_a_plot_that_cannot_be_drawn_is_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["validate", "--plot", "parity.gif"]) == 2
    assert "--plot: found parity.gif; allowed endings: .png, .pdf, .svg" in capsys.readouterr().err
    assert run(["validate", *SOME, "--plot", str(tmp_path / "none" / "parity.png")]) == 2
    assert "cannot be written: no such file or directory" in capsys.readouterr().err


def test_the_line_reaches_as_far_as_the_points() -> None:
    points = Series(np.array([2.0, 50.0]), np.array([1.0, 40.0]), "points")
    line = line_of([points])
    assert (line.x[0], line.x[-1]) == (pytest.approx(1.0), pytest.approx(50.0))
    assert np.array_equal(line.x, line.y)
    assert not line_of([Series(np.empty(0), np.empty(0), "none")]).x.size
