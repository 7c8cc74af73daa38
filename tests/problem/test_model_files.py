"""What a file of a model says and is not computed, on the way to a problem: refused, or said with every result."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from designs import design_file

from evo_libra import load_problem
from evo_libra.errors import InputError
from evo_libra.problem.designs import warnings_of
from evo_libra.problem.problem import Problem
from evo_libra.ui.commands.application import run

DESIGN = "SW(8)@nvlink4:450_SW(8)@optics-400g:50"
GEMMA = {
    "model_type": "gemma3_text", "hidden_size": 1152, "intermediate_size": 6912, "num_attention_heads": 4,
    "num_hidden_layers": 26, "num_key_value_heads": 1, "head_dim": 256, "max_position_embeddings": 32768,
    "vocab_size": 262144, "sliding_window": 512, "sliding_window_pattern": 6,
}  # fmt: skip
UNREAD = {**GEMMA, "own_figure": "blue"}
TRAINING = {"sequence": 4096, "global_batch": 128}
SERVING = {"input": 2048, "output": 1024, "concurrency": 4}


def problem_of(folder: Path, config: dict[str, Any], **workload: Any) -> Problem:
    (folder / "config.json").write_text(json.dumps(config, indent=1))
    (folder / "p.yaml").write_text(json.dumps({
        "name": "own", "npus": 64, "npu": "h100-80gb", "bandwidth": "ports",
        "fabric": {"catalog": "parts-2024", "technologies": ["nvlink4", "optics-400g"]},
        "workloads": [{"file": "config.json", **workload}],
    }))  # fmt: skip
    found = load_problem(str(folder / "p.yaml"))
    assert isinstance(found, Problem)
    return found


def sentences(problem: Problem) -> list[str]:
    return [str(warned) for warned in warnings_of(problem, [DESIGN])]


@pytest.mark.parametrize("workload", [{"training": TRAINING}, {"serving": SERVING}], ids=str)
def test_a_window_is_computed_and_leaves_nothing_to_say(tmp_path: Path, workload: dict[str, Any]) -> None:
    assert sentences(problem_of(tmp_path, GEMMA, **workload)) == []


def test_windows_take_less_time_than_full_attention(tmp_path: Path) -> None:
    windows = problem_of(tmp_path, GEMMA, training=TRAINING).evaluate(DESIGN).objectives[0]
    full = problem_of(tmp_path, {**GEMMA, "sliding_window": None}, training=TRAINING).evaluate(DESIGN).objectives[0]
    assert windows < full


def test_a_key_that_is_not_read_is_said_with_its_file(tmp_path: Path) -> None:
    (found,) = sentences(problem_of(tmp_path, UNREAD, training=TRAINING))
    assert found.startswith(f"warning: {tmp_path}/config.json")
    assert found.endswith("keys that are not known and not read: own_figure [model-file]")


@pytest.mark.parametrize("workload", [{"training": TRAINING}, {"serving": SERVING}], ids=str)
@pytest.mark.parametrize("changes", [
    {"layer_types": ["linear_attention", "full_attention"] * 13}, {"attn_layer_period": 8}, {"own_attention": 1},
], ids=str)  # fmt: skip
def test_another_attention_is_refused_in_a_sentence(
    tmp_path: Path, changes: dict[str, Any], workload: dict[str, Any]
) -> None:
    with pytest.raises(InputError) as error:
        problem_of(tmp_path, {**GEMMA, **changes}, **workload)
    (mistake,) = error.value.mistakes
    assert (mistake.file, mistake.key) == (str(tmp_path / "config.json"), next(iter(changes)))
    assert mistake.line is not None
    assert mistake.line > 1


@pytest.mark.slow
def test_commands_say_it_once_and_refuse_without_a_traceback(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    problem_of(tmp_path, UNREAD, training=TRAINING)
    for command in (
        ["evaluate", f"{tmp_path}/p.yaml#{DESIGN}"], ["explain", f"{tmp_path}/p.yaml#{DESIGN}"],
        ["optimize", f"{tmp_path}/p.yaml", "--shape", "SW(8)@nvlink4_SW(8)@optics-400g"],
        ["optimize", f"{tmp_path}/p.yaml#{DESIGN}"],
        ["search", f"{tmp_path}/p.yaml", "--evaluations", "100", "--out", str(tmp_path / "results"), "--no-plot"],
    ):  # fmt: skip
        for words in (command, [*command, "--json"]):
            assert run(words) == 0
            said = capsys.readouterr().out
            assert said.count("model-file") == 1, words
            assert "own_figure" in said
    (tmp_path / "config.json").write_text(json.dumps({**GEMMA, "mamba_d_state": 16}))
    for words in (["evaluate", str(tmp_path / "p.yaml"), "--design", DESIGN],
                  ["import", str(tmp_path / "config.json"), "--npus", "64"]):  # fmt: skip
        assert run(words) == 2
        said = capsys.readouterr()
        assert said.out == ""
        assert "mamba_d_state: found 16; it describes layers that are not computed" in said.err
        assert "Traceback" not in said.err


def test_two_workloads_of_one_file_have_one_note(tmp_path: Path) -> None:
    problem = problem_of(tmp_path, UNREAD, training=TRAINING)
    data = json.loads((tmp_path / "p.yaml").read_text())
    data["workloads"] = [{**data["workloads"][0], "name": name} for name in ("first", "second")]
    (tmp_path / "p.yaml").write_text(json.dumps(data))
    twice = load_problem(str(tmp_path / "p.yaml"))
    assert isinstance(twice, Problem)
    assert twice.notes == problem.notes
    assert len(twice.notes) == 1


def test_models_of_the_catalogue_have_no_notes() -> None:
    problem = load_problem(design_file("mixtral-8x7b-256"))
    assert isinstance(problem, Problem)
    assert problem.notes == ()
