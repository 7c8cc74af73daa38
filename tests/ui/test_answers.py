"""The schemas of answers: what commands print with ``--json`` is what the schema of the command says, and no more."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NotRequired, TypedDict

import pytest
from order_files import order_data
from ruamel.yaml import YAML

from evo_libra.explain.as_json import INLINE, as_json
from evo_libra.explain.record_schema import Schemas, merged
from evo_libra.ui.commands.application import run
from evo_libra.ui.tables.answers import answer_schemas

jsonschema = pytest.importorskip("jsonschema", reason="it comes with the extra of agents")
Ask = Callable[..., dict[str, Any]]


@pytest.fixture
def ask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Ask:
    """Return a function that runs a command in a folder and checks its answer against the schema of the command."""
    monkeypatch.chdir(tmp_path)
    with (tmp_path / "buy.yaml").open("w") as file:
        YAML(typ="safe").dump(order_data(), file)
    schemas = answer_schemas()

    def checked(command: str, *words: str) -> dict[str, Any]:
        run([command, *words, "--json"])
        printed = capsys.readouterr()
        assert printed.out, printed.err
        found: dict[str, Any] = json.loads(printed.out)
        jsonschema.Draft202012Validator(schemas[command]).validate(found)
        return found

    return checked


@pytest.mark.slow
@pytest.mark.parametrize(
    "problem", ["gpt3-4k", "moe-4k", "buy.yaml", "llama3-70b-serving", "opt-175b-offload", "fabric-256"]
)
def test_answers_of_a_search_fit_their_schemas(ask: Ask, problem: str) -> None:
    found = ask("search", problem, "--evaluations", "300", "--seed", "1")
    ask("front", "last")
    ask("front", "last", "--families")
    ask("recommend", "last", "--seconds", "1")
    if problem.startswith("fabric"):
        assert ask("evaluate", "last#0")["fabric"] == found["front"][0]["fabric"]
        return
    first, last = found["front"][0]["id"], found["front"][-1]["id"]
    for number in {first, last}:
        ask("evaluate", f"last#{number}")
    ask("explain", f"last#{first}")
    ask("diff", f"last#{first}", f"last#{last}")
    if found["question"] == "order":
        assert ask("front", "last", "--systems")["systems"]


@pytest.mark.slow
def test_answers_about_changes_and_failures_fit_their_schemas(ask: Ask) -> None:
    ask("search", "buy.yaml", "--evaluations", "300", "--seed", "1")
    found = ask("recommend", "last", "--seconds", "0", "--price", "cables=+30%", "--fail", "leaf")
    assert found["what_if"]
    assert "swings" in found["assumptions"]
    faults = "{checkpoint_s: 30, restart_s: 300, per_year: {npu: 0.1}, repair_h: {npu: 24}}"
    ask("search", "moe-4k", "--evaluations", "300", "--set", f"faults={faults}")
    assert ask("evaluate", "last#0")["breakdown"]["faults"]["parts"]
    assert ask("search", "gpt3-4k", "--evaluations", "50", "--set", "constraints=[time <= 1 ms]")["front"] == []


@pytest.mark.slow
def test_answers_about_files_fit_their_schemas(ask: Ask, tmp_path: Path) -> None:
    assert ask("init", "mine.yaml")["problem"] == "mine.yaml"
    keys = {"model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32}
    more = {"intermediate_size": 11008, "vocab_size": 32000, "architectures": ["LlamaForCausalLM"]}
    (tmp_path / "config.json").write_text(json.dumps(keys | more))
    assert ask("import", "config.json", "--npus", "64", "--npu", "h100-80gb")["problem"]
    assert ask("catalog", "accelerators")["accelerators"]


@dataclass(frozen=True)
class Inner:
    pass_: str
    seconds: float | None = None


@dataclass(frozen=True)
class Outer:
    name: str
    pair: tuple[int, int]
    inner: Inner
    several: tuple[Inner, ...] = ()
    figures: dict[str, float] = field(default_factory=dict, metadata=INLINE)


class Answer(TypedDict):
    outer: Outer
    note: NotRequired[str]


def test_the_schema_of_a_record_is_that_of_what_is_written() -> None:
    schemas = Schemas()
    schema = {**schemas.keys(Answer), "$defs": schemas.records}
    check = jsonschema.Draft202012Validator(schema)
    outer = Outer("a", (1, 2), Inner("b"), (Inner("c", 1.5),), {"cost_usd": 2.0})
    written = as_json({"outer": outer})
    assert written["outer"]["several"] == [{"pass": "c", "seconds": 1.5}]
    check.validate(written)
    for wrong in (
        {"name": 1},
        {"pair": [1]},
        {"inner": {}},
        {"cost_usd": "2"},
        {"several": [{"pass": "c", "more": 1}]},
    ):
        assert not check.is_valid({"outer": {**written["outer"], **wrong}})
    assert not check.is_valid({"note": "without the record"})
    assert not check.is_valid({**written, "more": 1})


def test_a_kind_that_records_cannot_have_is_named() -> None:
    with pytest.raises(TypeError, match="records have no"):
        Schemas().of(type[int])


def test_merged_objects_have_the_keys_of_all() -> None:
    schemas = Schemas()
    both = merged(schemas.fields(Inner), schemas.fields(Outer, ["name", "figures"]))
    assert list(both["properties"]) == ["pass", "seconds", "name"]
    assert both["required"] == ["pass", "name"]
    assert both["additionalProperties"] == {"type": "number"}
