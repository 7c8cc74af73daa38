"""The first problem file: the question of a buyer, from options, from answers, or of a model's own file."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from evo_libra import Problem, load_problem
from evo_libra.exchange.first_question import Question, question_file
from evo_libra.ui.commands.application import run
from evo_libra.ui.commands.init import STARTER

CONFIG = {
    "model_type": "llama", "hidden_size": 2048, "num_hidden_layers": 16, "num_attention_heads": 32,
    "num_key_value_heads": 8, "intermediate_size": 8192, "vocab_size": 128256,
}  # fmt: skip


class Terminal(io.StringIO):
    """Answers of a user at a terminal."""

    def isatty(self) -> bool:
        return True


def built(path: Path) -> Problem:
    found = load_problem(str(path))
    assert isinstance(found, Problem)
    return found


@pytest.mark.slow
def test_options_make_a_question(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    words = ["--model", "kimi-k2", "--system", "gb300,hgx-b200", "--npus", "2048", "--budget", "0.2 GUSD"]
    assert run(["init", str(path), *words]) == 2, "GUSD is no unit of problem files"
    words[-1] = "200MUSD"
    assert run(["init", str(path), *words, "--tokens", "2e13"]) == 0
    text, problem = path.read_text(), built(path)
    assert "systems: [gb300-nvl72, hgx-b200]" in text
    assert 'constraints: ["order-cost <= 200 MUSD"]' in text
    assert "tokens: 2e+13" in text
    assert (problem.name, problem.question) == ("mine", "order")
    assert [one.name for one in problem.objectives] == ["time", "order-cost"]
    assert run(["init", str(path), *words]) == 2, "a file that exists is kept"
    assert path.read_text() == text


@pytest.mark.slow
def test_a_question_of_serving_limits_what_users_wait_for(tmp_path: Path) -> None:
    assert run(["init", str(tmp_path / "chat.yaml"), "--task", "serving"]) == 0
    problem = built(tmp_path / "chat.yaml")
    assert [one.name for one in problem.objectives] == ["tpot", "usd-per-Mtoken"]
    assert {one.quantity for one in problem.constraints} >= {"ttft", "tpot"}


@pytest.mark.slow
def test_a_config_is_the_model(tmp_path: Path) -> None:
    config = tmp_path / "config.json"
    config.write_text(json.dumps(CONFIG))
    assert run(["init", str(tmp_path / "own.yaml"), "--model", str(config), "--npus", "256"]) == 0
    text = (tmp_path / "own.yaml").read_text()
    assert "hidden: 2048" in text
    assert built(tmp_path / "own.yaml").question == "order"


@pytest.mark.slow
def test_a_user_at_a_terminal_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", Terminal("\nllama-3.1-70b\nhgx-h200\n512\n90 MUSD\n"))
    assert run(["init", str(tmp_path / "mine.yaml")]) == 0
    text = (tmp_path / "mine.yaml").read_text()
    for part in ("model: llama-3.1-70b", "systems: [hgx-h200]", "npus: {about: 512", "<= 90 MUSD"):
        assert part in text
    assert "model, or the path of its config.json [deepseek-v3]: " in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--model", "kimi-k9"], "unknown model 'kimi-k9'"),
        (["--system", "b201"], "did you mean 'b200'?"),
        (["--system", "tpu7x"], "tpu7x cannot be ordered: tpu7x-slice has order: rent"),
        (["--budget", "12s"], "--budget: '12s' is no cost"),
        (["--npus", "0"], "it must be at least 1"),
        (["--batch", "0"], "it must be at least 1"),
        (["--rate", "9token/s"], "--rate: training has no requests; add --task serving"),
        (["--task", "serving", "--rate", "9users"], "--rate: found '9users'; tokens or requests per second above 0"),
        (["--task", "serving", "--one-out"], "--one-out: what must be answered then is open; add --rate"),
        (["--example", "libra", "--one-out"], "--example has no other options; leave out --one-out"),
        (["--example", "libra", "--npus", "8"], "--example has no other options; leave out --npus"),
    ],
)
def test_a_mistake_is_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    assert run(["init", str(tmp_path / "mine.yaml"), *words]) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "mine.yaml").exists()


def test_what_is_assumed_and_decides_the_answer_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--model", "llama-3.1-8b", "--system", "hgx-h200", "--npus", "1024"]
    assert run(["init", str(tmp_path / "open.yaml"), *words]) == 0
    assert "Assumed: steps of 512 sequences of 4,096 tokens." in " ".join(capsys.readouterr().out.split())
    assert run(["init", str(tmp_path / "stated.yaml"), *words, "--batch", "2000"]) == 0
    assert "Assumed" not in capsys.readouterr().out
    assert (
        "global_batch: {about: 2000, within: 0.02}   # sequences: 8.19 million tokens"
        in (tmp_path / "stated.yaml").read_text()
    )
    words = ["--model", "kimi-k2", "--npus", "1024"]
    assert run(["init", str(tmp_path / "authors.yaml"), *words]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert (
        "Assumed: the systems hgx-b200, hgx-b300, gb200-nvl72, gb300-nvl72, mi355x-8 and steps of 16,384 sequences"
        in said
    )
    assert "which its authors trained it with." in said
    assert run(["init", str(tmp_path / "chat.yaml"), "--task", "serving"]) == 0
    assert "and a cluster that is always full, without `--rate`" in " ".join(capsys.readouterr().out.split())


def test_a_load_asks_for_the_fewest_accelerators_that_carry_it(tmp_path: Path) -> None:
    words = ["--task", "serving", "--model", "llama-3.1-8b", "--system", "hgx-h200", "--rate", "20request/s"]
    assert run(["init", str(tmp_path / "load.yaml"), *words]) == 0
    problem = built(tmp_path / "load.yaml")
    assert [one.name for one in problem.objectives] == ["tpot", "order-cost"]
    (load,) = (one for one in problem.constraints if one.quantity == "tokens-per-s")
    assert (load.at_least, abs(load.limit)) == (True, 20.0 * 500.0)
    assert "npus: [8, 16, 24, 32, 40, 48, 56, 64] " in (tmp_path / "load.yaml").read_text()
    assert run(["init", str(tmp_path / "spare.yaml"), *words, "--one-out"]) == 0
    (load,) = (one for one in built(tmp_path / "spare.yaml").constraints if one.quantity == "tokens-per-s-one-out")
    assert (load.at_least, abs(load.limit)) == (True, 20.0 * 500.0)


@pytest.mark.parametrize(
    ("model", "modules"),
    [
        ("llama-3.1-8b", "layernorm+mlp_act"),
        ("mixtral-8x7b", "layernorm+moe_act"),
        ("deepseek-v3", "layernorm+mlp_act+moe_act+mla_up_proj"),
    ],
)
def test_cheap_recomputation_is_a_choice(model: str, modules: str) -> None:
    question = Question(name="a", path="a.yaml", task="training", model=model, npus=256, systems=("hgx-b200",))
    assert f"recompute: [none, {modules}, full]" in question_file(question)


def test_the_example_of_libra_is_a_file(tmp_path: Path) -> None:
    assert run(["init", str(tmp_path / "mine.yaml"), "--example", "libra"]) == 0
    assert (tmp_path / "mine.yaml").read_text() == STARTER
