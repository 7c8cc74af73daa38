"""What is trained: commands say how many layers, how long the sequences and how large the batches are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evo_libra import load_problem
from evo_libra.errors import InputError
from evo_libra.problem.problem import Problem
from evo_libra.ui.commands.application import run
from evo_libra.ui.commands.init import STARTER
from evo_libra.workload.layers.generators import load_models
from evo_libra.workload.models.decoder import load_decoders

DESIGN = "RI(4)@chiplet:250_FC(8)@package:125_RI(4)@node:60_SW(32)@pod:20"
SIZE = {"layers": 2, "sequence": 1024, "batch_per_replica": 32, "micro_batch": 32, "global_batch": 32 * 4096 // 16}
WORDS = "2 layers, sequences of 1,024 tokens, 32 per replica, 8,192 in all"


def output(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert run(list(words)) == 0
    return capsys.readouterr().out


def test_an_evaluation_says_how_much_an_iteration_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert WORDS in output(capsys, "evaluate", "gpt3-4k", "--design", DESIGN)
    found: Any = json.loads(output(capsys, "evaluate", "gpt3-4k", "--design", DESIGN, "--json"))
    (workload,) = found["breakdown"]["workloads"]
    assert workload["name"] == "gpt-3-libra"
    assert {key: workload[key] for key in SIZE} == SIZE


@pytest.mark.slow
def test_a_search_says_how_much_an_iteration_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["search", "gpt3-4k", "--evaluations", "300", "--out", str(tmp_path), "--no-plot"]
    assert f"gpt-3-libra tp=16 dp=256: {WORDS}" in " ".join(output(capsys, *words).split())  # in folded lines
    found: Any = json.loads(output(capsys, *words, "--json"))
    assert found["workloads"] == [{"name": "gpt-3-libra", "parallelism": {"tp": 16, "dp": 256}, **SIZE}]


@pytest.mark.parametrize(
    ("problem", "layers", "sequence", "batch", "total"),
    [
        ("moe-4k", 2, 1024, 8, 8 * 512),
        ("dlrm-4k", None, None, 512, 512 * 4096),
        ("resnet50-4k", None, None, None, None),
    ],
)
def test_sizes_are_those_of_the_model(
    problem: str, layers: int | None, sequence: int | None, batch: int | None, total: int | None
) -> None:
    loaded = load_problem(problem)
    assert isinstance(loaded, Problem)
    (loop,) = loaded.time.loops
    figures = loop.workload.size.figures
    assert figures["layers"] == (layers or len(loop.workload.layers))  # type: ignore[union-attr]
    assert (figures["sequence"], figures["batch_per_replica"], figures["global_batch"]) == (sequence, batch, total)


@pytest.mark.parametrize("name", ["gpt-3", "msft-1t", "turing-nlg", "dlrm", "resnet-50"])
def test_the_tables_of_libra_are_called_so(name: str) -> None:
    assert f"{name}-libra" in load_models()
    assert name not in load_models()
    message = f"unknown model '{name}'.*did you mean '{name}-libra'"
    if name in load_decoders():
        needed = "the key 'training' or 'serving' is needed"
        message = f"this is a model as a whole: {needed}; its table of layers is {name}-libra"
    with pytest.raises(InputError, match=message):
        load_problem("gpt3-4k", [f"workloads[0].model={name}"])


def test_a_new_problem_file_says_what_its_model_is() -> None:
    assert "gpt-3-libra                 # 2 of the 96 layers of GPT-3" in STARTER
    assert "2 of GPT-3's 96 layers" in load_models()["gpt-3-libra"].source
