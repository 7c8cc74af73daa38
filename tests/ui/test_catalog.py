"""What `evo-libra catalog` shows of accelerators and language models."""

from __future__ import annotations

import json

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
    assert "language models: gpt-3-175b, " in out
    assert "recommendation models: dlrm-mlperf" in out


def test_unknown_name_suggests_an_accelerator() -> None:
    with pytest.raises(InputError, match=r"did you mean 'h100-80gb'\?"):
        catalog("h100")
