"""What `evo-libra catalog` shows of accelerators and language models."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from evo_libra.errors import InputError
from evo_libra.network.catalog.accelerators import load_accelerators
from evo_libra.problem.file.training import trained_models
from evo_libra.ui.commands.catalog import catalog
from evo_libra.workload.models.decoder import load_decoders


def test_accelerator_shows_its_figures_and_their_sources(capsys: pytest.CaptureFixture[str]) -> None:
    assert catalog("h100-80gb") == 0
    lines = capsys.readouterr().out.splitlines()
    assert any("kernels.bf16.plateau" in line and "0.742" in line for line in lines)
    assert any("memory.bandwidth_GBps" in line and "3,350" in line for line in lines)
    assert any("price_usd" in line and "25,000 to 30,678" in line for line in lines)
    assert any(line.startswith("  power_W: NVIDIA H100 data sheet, 2022") for line in lines)


def test_language_model_shows_its_layers_and_weights(capsys: pytest.CaptureFixture[str]) -> None:
    assert catalog("deepseek-v3") == 0
    out = capsys.readouterr().out
    assert all(text in out for text in ("layers", "61", "671,026,404,352", "37,552,282,624", "latent.kv_rank"))


def test_recommendation_model_shows_its_tables_and_weights(capsys: pytest.CaptureFixture[str]) -> None:
    assert catalog("dlrm-mlperf") == 0
    lines = capsys.readouterr().out.splitlines()
    assert any("recommendation model dlrm-mlperf" in line for line in lines)
    assert any("rows" in line and "187,767,399" in line for line in lines)
    assert any("top_mlp" in line and "1,024, 1,024, 512, 256, 1" in line for line in lines)
    assert any("embedding_parameters" in line and "24,034,227,072" in line for line in lines)


@pytest.mark.parametrize(
    ("group", "name"),
    [("accelerators", "tpu-v4"), ("language_models", "llama-2-7b"), ("recommendation_models", "dlrm-mlperf")],
)
def test_each_is_one_object_of_json(group: str, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert catalog(name, as_json=True) == 0
    data = json.loads(capsys.readouterr().out)
    assert list(data) == [group]
    assert list(data[group]) == [name]


def test_the_list_has_all_of_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert catalog(as_json=True) == 0
    data = json.loads(capsys.readouterr().out)
    assert list(data["accelerators"]) == list(load_accelerators())
    assert list(data["language_models"]) == list(load_decoders())
    assert {**data["language_models"], **data["recommendation_models"]}.keys() == trained_models().keys()


def test_the_list_names_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert catalog() == 0
    out = capsys.readouterr().out
    assert "accelerators: a100-40gb, " in out
    assert "language models: deepseek-v3, " in out
    assert "recommendation models: dlrm-mlperf" in out


def test_unknown_name_suggests_an_accelerator() -> None:
    with pytest.raises(InputError, match=r"did you mean 'h100-80gb'\?"):
        catalog("h100")


def test_products_fit_a_screen_with_their_year_and_order_state(capsys: pytest.CaptureFixture[str]) -> None:
    assert catalog("products-2026") == 0
    lines = capsys.readouterr().out.splitlines()
    assert all(len(line) <= 80 for line in lines if "~ is an estimate" not in line)
    rows = {cells[0]: cells for line in lines if len(cells := line.split()) > 3}
    assert rows["gb300-nvl72"][:7] == ["gb300-nvl72", "buy", "2025", "72", "900", "132", "4,000"]
    assert rows["hgx-b300"][6:] == ["~450", "1x800", "1x400", "2x400", "8x100"]
    assert rows["mi355x-8"][6] == "-"
    assert rows["qm9700"] == ["qm9700", "buy", "2024", "747", "40", "64x400", "128x200"]
    assert rows["connectx-7"] == ["connectx-7", "buy", "2024", "24.6", "1,499", "1x400"]
    assert rows["dac-400"] == ["dac-400", "buy", "2024", "dac", "400", "2", "2", "~250"]
    assert rows["tpu7x-slice"][1:] == ["rent", "2026", "64-9,216", "600", "-", "-"]
    assert rows["tpu-v5p-slice"][1:] == ["rent", "2026", "64-6,144", "600", "-", "4.2/h"]


def test_products_show_their_sources(capsys: pytest.CaptureFixture[str]) -> None:
    assert catalog("products-2026", sources=True) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "sn5600 (2025): SN5000 user manual (docs.nvidia.com)" in out
    assert "price_usd: About 4 million USD (Morgan Stanley, May 2026)" in out
    assert "cooling-units (2026): No list price was found" in out
    assert "rack (2025): Racks of 600 mm" in out


def test_products_are_one_object_of_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert catalog("products-2026", as_json=True) == 0
    found = json.loads(capsys.readouterr().out)["product_catalogs"]["products-2026"]
    assert found["systems"]["gb300-nvl72"]["price_usd"] == {
        "low": 3_000_000, "value": 4_000_000, "high": 4_500_000, "basis": "public",
    }  # fmt: skip
    assert found["ocs"]["polatis-192"]["price_usd"]["high"] == 99840
    assert found["systems"]["mi355x-8"]["price_usd"] is None
    assert found["rules"]["cooling-units"]["usd"]["value"] == 130


def test_products_of_a_file_are_shown(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.yaml").write_text("kind: products\nname: own\nsource: ours\nextends: products-2026\n")
    assert catalog("own.yaml") == 0
    assert "catalogue own: systems" in capsys.readouterr().out
    assert catalog() == 0
    assert "catalogue products-2026, of products" in capsys.readouterr().out
