from __future__ import annotations

import json
import sys
import time
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import pytest
from effort import costly
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field, RootModel, model_validator

import evo_libra
from evo_libra.errors import InputError
from evo_libra.files.source import parse_source, read_source, set_value, validate
from evo_libra.files.yaml_reader import MAX_DEPTH, Position, read_packaged_yaml, read_yaml

if TYPE_CHECKING:
    from collections.abc import Callable


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


class Goal(Enum):
    TIME = "time"
    COST = "cost"


class Ring(Strict):
    kind: Literal["ring"]
    npus: int = 4


class Switch(Strict):
    kind: Literal["switch"]
    radix: int = Field(8, multiple_of=8)

    @model_validator(mode="after")
    def check_radix(self) -> Switch:
        if self.radix > 64:
            raise ValueError("a switch has at most 64 ports")
        return self


Block = Annotated[Ring | Switch, Field(discriminator="kind")]


class Parallelism(Strict):
    tp: int = Field(ge=1)
    dp: int = Field(ge=1)


class Workload(Strict):
    model: str = Field(min_length=2, pattern="^[a-z]")
    weight: float = Field(1.0, gt=0, le=10)
    parallelism: Parallelism | Literal["best"] = "best"


class Problem(Strict):
    npus: int
    workloads: tuple[Workload, ...] = Field(min_length=1, max_length=3)
    blocks: dict[str, Block] = {}
    goal: Goal = Goal.TIME
    budget: float | None = None
    pair: tuple[int, str] | None = None
    exact: bool = True
    sizes: tuple[int, ...] | int | Literal["all"] = "all"
    mixed: Block | float = 1.0
    spare: Block | None = None
    limits: dict[Literal["time", "cost"], float] = {}
    parent: Problem | None = None
    lambda_: int = Field(1, alias="lambda")


class Blocks(RootModel[dict[str, Block]]):
    pass


GOOD = """\
npus: 64
workloads:
  - model: gpt
    weight: 2
    parallelism: {tp: 8, dp: 8}
  - model: dlrm
blocks:
  inner: {kind: ring, npus: 8}
  outer:
    kind: switch
goal: cost
sizes: [1, 2]
limits: {time: 1.5}
"""
SMALL = "npus: 64\nworkloads: [{model: gpt}]\n"


def refusals(act: Callable[[], object]) -> list[str]:
    with pytest.raises(InputError) as caught:
        act()
    sentences = str(caught.value).split("\n")
    assert len(sentences) == len(caught.value.mistakes)
    return sentences


def refusal(text: str) -> str:
    (sentence,) = refusals(lambda: parse_source(text, "f"))
    return sentence


def mistakes(text: str, model: type[BaseModel] = Problem) -> list[str]:
    return refusals(lambda: validate(model, parse_source(text, "f")))


def set_refusals(key: str, value: str) -> list[str]:
    return refusals(lambda: validate(Problem, set_value(parse_source(GOOD, "f"), f"{key}={value}")))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e9", 1e9),
        ("5e11", 5e11),
        (".5", 0.5),
        ("1.", 1.0),
        ("-2.5e-3", -0.0025),
        ("010", 10),
        ("0x10", 16),
        ("0o10", 8),
        ("+3", 3),
        ("no", "no"),
        ("on", "on"),
        ("true", True),
        ("~", None),
        ("null", None),
        ("2024-01-01", "2024-01-01"),
        ("12:30", "12:30"),
        ("1_000", "1_000"),
        ("'1'", "1"),
        ('""', ""),
        ("!!str 1", "1"),
        ("! 1", "1"),
        ('!!int "5"', 5),
        ("!!float 1", 1),
        ("!!seq [!!bool true]", [True]),
        ("%YAML 1.1\n---\nno", "no"),
        ("|\n a\n b\n", "a\nb\n"),
        ('"<<": 1', {"<<": 1}),
        ("a: &x {b: [1]}\nc: *x", {"a": {"b": [1]}, "c": {"b": [1]}}),
        ("[&x 1, *x, &x 2, *x]", [1, 1, 2, 2]),
        ("&k a: 1\nb: *k", {"a": 1, "b": "a"}),
        ('"\x7f"', "\x7f"),
        ('{\n\t"a":1,"b":\t[]\n}', {"a": 1, "b": []}),
    ],
)
def test_values(text: str, value: object) -> None:
    data = parse_source(text, "f").data
    assert data == value
    assert type(data) is type(value)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "f:1:1: is empty"),
        ("# nothing\n", "f:2:1: is empty"),
        ("---\n", "f:2:1: is empty"),
        ("a: 1\n---\nb: 1\n", "f:2:1: a second document begins here, one is allowed"),
        ("a: 1\nb:\n  c: 1\n  c: 2\n", "f:4:3: b.c: duplicate key, first given at line 3, column 3"),
        ("a: &x [*x]", "f:1:8: the alias *x stands inside what it repeats"),
        ("[&x 1, &x [*x]]", "f:1:12: the alias *x stands inside what it repeats"),
        ("a: *x", "f:1:4: the alias *x has no anchor before it"),
        ("a:\n  <<: {b: 1}", "f:2:3: a: merge keys ('<<') are not supported"),
        ("a: !shell ls", "f:1:4: a: the tag !shell is not supported here"),
        ("!!python/name:os.system x", "f:1:1: the tag tag:yaml.org,2002:python/name:os.system is not supported here"),
        ("!!set {a: 1}", "f:1:1: the tag tag:yaml.org,2002:set is not supported here"),
        ("!!map [1]", "f:1:1: the tag tag:yaml.org,2002:map is not supported here"),
        ("!!int abc", "f:1:1: found 'abc' (text), which is not what its tag !!int says"),
        ("1: a", "f:1:1: found the key 1 (number), keys are text; put it in quotes"),
        ("a: {true: 1}", "f:1:5: a: found the key true (boolean), keys are text; put it in quotes"),
        ("? [a]\n: 1", "f:1:3: a list or mapping cannot be a key, keys are text"),
        ("a: .nan", "f:1:4: a: found .nan, a finite number is needed"),
        ("a: [1, -.inf]", "f:1:8: a[1]: found -.inf, a finite number is needed"),
        ("a: 1e999", "f:1:4: a: found 1e999, a finite number is needed"),
        ("1" * 5000, "f:1:1: a number of more than 1000 digits is not supported"),
        ('"\\ud83d"', "f:1:1: the text has half of a surrogate pair"),
        ('"\\UFFFFFFFF"', "f: is not YAML: a number in an escape or a directive is out of range"),
        ('"\\U00110000"', "f: is not YAML: a number in an escape or a directive is out of range"),
        ("%YAML 1.9\n---\na", "f: is not YAML: a number in an escape or a directive is out of range"),
        (
            "ok: 1\na: \x00",
            "f:2:4: the character U+0000 is not allowed; write it as an escape in double quotes",
        ),
        (
            'a: "x\u2028 y"',
            "f:1:6: the character U+2028 is not allowed; write it as an escape in double quotes",
        ),
        ("a: 1\n b: 2", "f:2:3: is not YAML: mapping values are not allowed here"),
        (
            "a:\n- [1,\n- 2",
            "f:3:1: is not YAML: expected the node content, but found '-', while parsing a flow node that begins at",
        ),
        ("a: @b", "f:1:4: is not YAML: found character '@' that cannot start any token"),
        ("[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1), "f:1:65: is nested more than 64 deep"),
    ],
)
def test_refused_texts(text: str, sentence: str) -> None:
    assert refusal(text).startswith(sentence)


@pytest.mark.slow
@pytest.mark.parametrize("text", ["[" * 10_000, "- " * 10_000, "{a: " * 10_000, "? " * 10_000])
def test_deep_nesting_is_refused(text: str) -> None:
    assert "is nested more than 64 deep" in refusal(text) or "cannot be a key" in refusal(text)


def test_nesting_up_to_the_limit_is_read() -> None:
    data = parse_source("[" * MAX_DEPTH + "]" * MAX_DEPTH, "f").data
    assert json.dumps(data) == "[" * MAX_DEPTH + "]" * MAX_DEPTH


def test_deep_nesting_through_aliases_is_refused() -> None:
    lines = ["a0: &a0 [1]", *(f"a{i}: &a{i} [*a{i - 1}]" for i in range(1, 100))]
    assert "is nested more than 64 deep" in refusal("\n".join(lines))


@pytest.mark.slow
def test_alias_bomb_is_refused() -> None:
    lines = ["a0: &a0 [1,1,1,1,1,1,1,1,1,1]"]
    lines += [f"a{i}: &a{i} [{','.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 12)]
    assert "has more than 50000 values, those that aliases repeat included" in refusal("\n".join(lines))


@pytest.mark.slow
def test_values_up_to_the_limit_are_read() -> None:
    text = (
        f"a: &a [{','.join(['1'] * 1000)}]\nb: [{','.join(['*a'] * 48)}]\nc: 1"  # 1 + 1001 + 1 + 48 * 1001 + 1 values
    )
    rest = "".join(f"\nd{i}: 1" for i in range(948))
    assert len(parse_source(text + rest, "f").places) == 50_000
    assert "has more than 50000 values" in refusal(text + rest + "\ne: 1")


def test_size_limit() -> None:
    assert refusal("#" * 2_000_001) == "f: is larger than 2 MB"


def test_positions() -> None:
    source = parse_source("# first\na: &x\n  b: [1, 2]\nc:\n  - *x\n", "f")
    assert source.places == {
        (): Position("f", 2, 1),
        ("a",): Position("f", 2, 1),
        ("a", "b"): Position("f", 3, 3),
        ("a", "b", 0): Position("f", 3, 7),
        ("a", "b", 1): Position("f", 3, 10),
        ("c",): Position("f", 4, 1),
        ("c", 0): Position("f", 5, 5),
        ("c", 0, "b"): Position("f", 3, 3),
        ("c", 0, "b", 0): Position("f", 3, 7),
        ("c", 0, "b", 1): Position("f", 3, 10),
    }


def test_mistake_is_placed_at_the_nearest_known_part() -> None:
    source = parse_source(GOOD, "f")
    assert str(source.mistake(("workloads", 0, "parallelism", "tp", "x"), "no")) == (
        "f:5:19: workloads[0].parallelism.tp.x: no"
    )
    assert str(source.mistake(("else",), "no")) == "f:1:1: else: no"


def test_reading_files(tmp_path: Path) -> None:
    path = tmp_path / "problem.yaml"
    path.write_bytes(b"\xef\xbb\xbfname: caf\xc3\xa9\r\nn: 1\r\n")
    source = read_source(path)
    assert source.data == {"name": "café", "n": 1}
    assert source.places["n",] == Position(str(path), 2, 1)


def test_unreadable_files(tmp_path: Path) -> None:
    latin, large = tmp_path / "latin.yaml", tmp_path / "large.yaml"
    latin.write_bytes(b"name: caf\xe9\n")
    large.write_bytes(b"\xe9" * 10_000_001)
    missing = tmp_path / "none.yaml"
    assert refusals(lambda: read_source(latin)) == [f"{latin}: is not UTF-8 text (byte 10)"]
    assert refusals(lambda: read_source(large)) == [f"{large}: is larger than 2 MB"]
    assert refusals(lambda: read_source(missing)) == [f"{missing}: cannot be read: no such file or directory"]
    assert refusals(lambda: read_source(Path("a\0b"))) == ["a\\x00b: cannot be read: embedded null byte"]
    (sentence,) = refusals(lambda: read_source(tmp_path))
    assert sentence == f"{tmp_path}: this is a folder; a file is needed"


def test_set_replaces_and_adds() -> None:
    source = parse_source(GOOD, "f")
    for key, value in [
        ("npus", "128"),
        ("workloads[1].weight", "3"),
        ("blocks.inner", "{kind: switch, radix: 16}"),
        ("parent.npus", "1"),
        ("parent.workloads", "[{model: gpt}]"),
    ]:
        source = set_value(source, f"{key}={value}")
    problem = validate(Problem, source)
    assert (problem.npus, problem.workloads[1].weight, problem.workloads[0].weight) == (128, 3, 2)
    assert problem.blocks["inner"] == Switch(kind="switch", radix=16)
    assert problem.parent == Problem(npus=1, workloads=(Workload(model="gpt"),))


def test_set_leaves_the_old_source_and_what_aliases_share() -> None:
    source = parse_source("a: &x {b: 1}\nc: *x\n", "f")
    assert set_value(source, "c.b=2").data == {"a": {"b": 1}, "c": {"b": 2}}
    assert source.data == {"a": {"b": 1}, "c": {"b": 1}}


def test_set_fills_an_empty_value() -> None:
    assert set_value(parse_source("a:\n", "f"), "a.b=x").data == {"a": {"b": "x"}}


def test_set_marks_places() -> None:
    source = set_value(parse_source("a: {b: [1, 2]}\n", "f"), "a.b=[{x: 3}]")
    label = Position("--set a.b=[{x: 3}]")
    assert source.places == {
        (): Position("f", 1, 1),
        ("a",): Position("f", 1, 1),
        ("a", "b"): label,
        ("a", "b", 0): label,
        ("a", "b", 0, "x"): label,
    }
    assert set_value(source, "d.e=1").places["d",] == Position("--set d.e=1")


@pytest.mark.parametrize(
    ("key", "value", "sentence"),
    [
        ("npus", "abc", "--set npus=abc: npus: found 'abc' (text), a whole number is needed"),
        ("npus", "", "--set npus=: npus: found null (empty), a whole number is needed"),
        (
            "npus",
            "[1",
            "--set npus=[1: npus: is not YAML: expected ',' or ']', but got '<stream end>', while parsing a flow",
        ),
        ("workloads[2].weight", "1", "--set workloads[2].weight=1: workloads: there is no item [2], the list has 2"),
        ("npus.x", "1", "--set npus.x=1: npus: found 64 (number), a mapping is needed for 'x'"),
        ("goal[0]", "1", "--set goal[0]=1: goal: found 'cost' (text), a list is needed for [0]"),
        ("workloads.x", "1", "--set workloads.x=1: workloads: found [{"),
        ("parent.npu", "1", "--set parent.npu=1: parent.npu: unknown key 'npu'; did you mean 'npus'?"),
        *(
            (key, "1", f"--set {key}=1: KEY=VALUE is needed, such as search.evaluations=2000 or workloads[0].weight=2")
            for key in ("", "a..b", ".a", "a.", "a[x]", "a[-1]", "a[0]b", "a[99999999999]")
        ),
        (
            ".".join("a" * 100),
            "1",
            "--set a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a...: KEY=VALUE is needed",
        ),
    ],
)
def test_set_refusals(key: str, value: str, sentence: str) -> None:
    assert set_refusals(key, value)[0].startswith(sentence)


def test_an_item_of_a_list_that_is_set_like_a_key_says_how_items_are_written() -> None:
    assert set_refusals("workloads.0", "1")[0].endswith("a mapping is needed for '0'; write workloads[0]")


def test_valid_document() -> None:
    problem = validate(Problem, parse_source(GOOD, "f"))
    assert problem.workloads[0] == Workload(model="gpt", weight=2.0, parallelism=Parallelism(tp=8, dp=8))
    assert isinstance(problem.workloads[0].weight, float)
    assert (problem.goal, problem.sizes, problem.limits) == (Goal.COST, (1, 2), {"time": 1.5})


@pytest.mark.parametrize(
    ("added", "sentence"),
    [
        ("npu: 1", "f:3:1: npu: unknown key 'npu'; allowed: npus, workloads, blocks, "),
        ("goal: tim", "f:3:1: goal: found 'tim' (text); allowed: time, cost; did you mean 'time'?"),
        ("budget: abc", "f:3:1: budget: found 'abc' (text), a number is needed"),
        ("budget: [1]", "f:3:1: budget: found [1] (list), a number is needed"),
        ("budget: 1" + "0" * 400, "f:3:1: budget: found 1" + "0" * 56 + "... (number), a finite number is needed"),
        ("exact: 1", "f:3:1: exact: found 1 (number), true or false is needed"),
        ("blocks: 1", "f:3:1: blocks: found 1 (number), a mapping is needed"),
        ("pair: [1]", "f:3:1: pair[1]: a required item is missing"),
        ("pair: [1, 2]", "f:3:11: pair[1]: found 2 (number), text is needed"),
        ('pair: [1, "2", 3]', 'f:3:1: pair: found [1, "2", 3] (list), a length of at most 2 is needed'),
        ("lambda: x", "f:3:1: lambda: found 'x' (text), a whole number is needed"),
        (
            "lambda_: 1",
            "f:3:1: lambda_: unknown key 'lambda_'; allowed: npus, workloads, blocks, goal, budget, pair, exact, sizes",
        ),
        ('"a\\nb": 1', r"f:3:1: a\nb: unknown key 'a\nb'; allowed: npus"),
        ("pair: [1, {}]", "f:3:11: pair[1]: found {} (mapping), text is needed"),
        ("spare: {kind: ring, n: 1}", "f:3:21: spare.n: unknown key 'n'; allowed: kind, npus"),
        ("limits: {tim: 1}", "f:3:10: limits.tim: found 'tim' (text); allowed: time, cost; did you mean 'time'?"),
        ("limits: {time: x}", "f:3:10: limits.time: found 'x' (text), a number is needed"),
        ("blocks: {a: 1}", "f:3:10: blocks.a: found 1 (number), a mapping is needed"),
        (
            "blocks: {a: {kind: rong}}",
            "f:3:14: blocks.a.kind: found 'rong' (text); allowed: ring, switch; did you mean 'ring'?",
        ),
        ("blocks: {a: {kind: [1]}}", "f:3:14: blocks.a.kind: found [1] (list); allowed: ring, switch"),
        ("blocks: {a: {}}", "f:3:10: blocks.a.kind: a required key is missing; found: no keys"),
        ("blocks: {a: {knd: ring}}", "f:3:14: blocks.a.knd: unknown key 'knd'; did you mean 'kind'?"),
        (
            "blocks: {a: {kind: ring, npu: 1}}",
            "f:3:26: blocks.a.npu: unknown key 'npu'; allowed: kind, npus; did you mean 'npus'?",
        ),
        ("blocks: {ring: {kind: ring, ring: 1}}", "f:3:29: blocks.ring.ring: unknown key 'ring'; allowed: kind, npus"),
        (
            "blocks: {a: {kind: switch, radix: 9}}",
            "f:3:28: blocks.a.radix: found 9 (number), a multiple of 8 is needed",
        ),
        ("blocks: {a: {kind: switch, radix: 72}}", "f:3:10: blocks.a: a switch has at most 64 ports"),
        ("sizes: alll", "f:3:1: sizes: found 'alll' (text); allowed: all; did you mean 'all'?"),
        ("sizes: 1.5", "f:3:1: sizes: found 1.5 (number), a whole number is needed"),
        ("sizes: [1, a]", "f:3:12: sizes[1]: found 'a' (text), a whole number is needed"),
        ("sizes: {}", "f:3:1: sizes: found {} (mapping), a list or a whole number or 'all' is needed"),
        ("mixed: true", "f:3:1: mixed: found true (boolean), a mapping or a number is needed"),
        ("mixed: {kind: ring, n: 1}", "f:3:21: mixed.n: unknown key 'n'; allowed: kind, npus"),
        ("mixed: {kind: star}", "f:3:9: mixed.kind: found 'star' (text); allowed: ring, switch"),
        ("parent: {npus: 1, workloads: [{model: g1, weigt: 1}]}", "f:3:43: parent.workloads[0].weigt: unknown key"),
    ],
)
def test_one_mistake(added: str, sentence: str) -> None:
    (found,) = mistakes(SMALL + added)
    assert found.startswith(sentence)


@pytest.mark.parametrize(
    ("workload", "sentence"),
    [
        ("{model: x}", "f:2:14: workloads[0].model: found 'x' (text), a length of at least 2 is needed"),
        ("{model: Xy}", "f:2:14: workloads[0].model: found 'Xy' (text), text of another form is needed"),
        ("{model: gpt, weight: 0}", "f:2:26: workloads[0].weight: found 0 (number), a number above 0 is needed"),
        (
            "{model: gpt, weight: 11}",
            "f:2:26: workloads[0].weight: found 11 (number), a number of at most 10 is needed",
        ),
        (
            "{model: gpt, parallelism: {tp: 0, dp: 1}}",
            "f:2:40: workloads[0].parallelism.tp: found 0 (number), a number of at least 1 is needed",
        ),
        (
            "{model: gpt, parallelism: {tp: 1, dq: 1}}",
            "f:2:26: workloads[0].parallelism.dp: a required key is missing; found: tp, dq",
        ),
        ("{}", "f:2:13: workloads[0].model: a required key is missing; found: no keys"),
        ("{modle: gpt}", "f:2:14: workloads[0].modle: unknown key 'modle'; did you mean 'model'?"),
        ("{model: gpt, modle: gpt}", "f:2:26: workloads[0].modle: unknown key 'modle'; allowed: model, weight, paral"),
        (f"{{model: '{'X' * 99}'}}", f"f:2:14: workloads[0].model: found '{'X' * 57}...' (text), text of another form"),
        ("5", "f:2:13: workloads[0]: found 5 (number), a mapping is needed"),
    ],
)
def test_one_mistake_in_a_workload(workload: str, sentence: str) -> None:
    found = mistakes(f"npus: 64\nworkloads: [{workload}]\n")
    assert found[0].startswith(sentence)
    assert all(other.startswith("f:2:47: workloads[0].parallelism.dq: unknown key 'dq'") for other in found[1:])


@pytest.mark.parametrize(
    ("npus", "found"),
    [
        ("abc", "'abc' (text)"),
        ("4096.0", "4096.0 (number)"),
        ("1e3", "1000.0 (number)"),
        ("true", "true (boolean)"),
        ("", "null (empty)"),
        ("'a\\nb'", r"'a\\nb' (text)"),
        ('"a\\nb\\u009b"', r"'a\nb\x9b' (text)"),
    ],
)
def test_whole_numbers(npus: str, found: str) -> None:
    assert mistakes(f"npus: {npus}\nworkloads: [{{model: gpt}}]\n") == [
        f"f:1:1: npus: found {found}, a whole number is needed"
    ]


def test_lengths() -> None:
    assert mistakes("npus: 1\nworkloads: []\n") == [
        "f:2:1: workloads: found [] (list), a length of at least 1 is needed"
    ]
    assert mistakes("npus: 1\nworkloads: [5]\n") == ["f:2:13: workloads[0]: found 5 (number), a mapping is needed"]
    assert "a length of at most 3 is needed" in mistakes(f"npus: 1\nworkloads: [{','.join(['{model: gpt}'] * 4)}]")[0]


@pytest.mark.parametrize(("text", "found"), [("[1]", "[1] (list)"), ("3", "3 (number)"), ("null", "null (empty)")])
def test_whole_document_of_another_kind(text: str, found: str) -> None:
    assert mistakes(text) == [f"f:1:1: found {found}, a mapping is needed"]


def test_all_mistakes_in_the_order_of_the_file() -> None:
    text = "limits: {x: 1}\ngaol: time\nworkload:\n- {model: gpt}\nnpus: [\n]\n"
    assert [sentence.split(" ")[0] for sentence in mistakes(text)] == ["f:1:10:", "f:2:1:", "f:3:1:", "f:5:1:"]
    source = set_value(parse_source(text, "f"), "limits=3")
    assert refusals(lambda: validate(Problem, source))[-1].startswith("--set limits=3: limits: found 3 (number)")


def test_a_misspelt_key_stands_for_one_missing_key_only() -> None:
    class Two(Strict):
        first_size: int
        first_side: int

    assert mistakes("first_siz: 1\n", Two) == [
        "f:1:1: first_siz: unknown key 'first_siz'; did you mean 'first_size'?",
        "f:1:1: first_side: a required key is missing; found: first_siz",
    ]


def test_root_models() -> None:
    assert validate(Blocks, parse_source("a: {kind: ring}", "f")).root == {"a": Ring(kind="ring")}
    assert mistakes("a: {kind: ring, npu: 1}\nb: {kind: x}\n", Blocks) == [
        "f:1:17: a.npu: unknown key 'npu'; allowed: kind, npus; did you mean 'npus'?",
        "f:2:5: b.kind: found 'x' (text); allowed: ring, switch",
    ]


def test_the_model_of_each_part_is_found() -> None:
    class Cable(Strict):
        kind: Literal["cable"]
        end: Literal["ring", "switch"]

    class Pair(Strict):
        parts: tuple[Parallelism, Annotated[Cable | Ring | Switch, Field(discriminator="kind")]]

    assert mistakes("parts: [{tp: 1, dp: 1, pp: 1}, {kind: ring, end: 1}]", Pair) == [
        "f:1:24: parts[0].pp: unknown key 'pp'; allowed: tp, dp",
        "f:1:45: parts[1].end: unknown key 'end'; allowed: kind, npus",
    ]


def test_a_plain_union_of_models_reports_the_member_with_the_fewest_errors() -> None:
    class Either(Strict):
        block: Ring | Switch

    assert mistakes("block: {kind: switch, radix: x}", Either) == [
        "f:1:23: block.radix: found 'x' (text), a whole number is needed"
    ]
    assert mistakes("block: {kind: switch, radix: 72}", Either) == ["f:1:1: block: a switch has at most 64 ports"]


def test_reading_is_fast() -> None:
    text = GOOD + "".join(f"key{i}: {{first: {i}, second: [1, 2.5, three]}}\n" for i in range(45))
    assert 2000 < len(text) < 2500
    durations = []
    for _ in range(5):
        start = time.thread_time()
        parse_source(text, "f")
        durations.append(time.thread_time() - start)
    assert min(durations) < 0.1  # 8 to 20 ms on an idle machine, most of it in ruamel


KEYS = st.text(max_size=80)  # YAML's keys have at most 1024 characters, JSON's escapes have up to 12 per character
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(KEYS, inner),
    max_leaves=20,
)
YAML_PARTS = [*" \n\t:-?,[]{}#&*!|>'\"%@<=.\\0ax", "\n  ", ": ", "- ", "&a ", "*a ", "!!int ", "\n---\n", "\n...\n"]
YAML_PARTS += ["%YAML 1.9\n", "%TAG !e! t:\n", "!e!x ", "\\U00110000", "\\ud83d", "\ufeff", "\r", "1e5", ".inf", "<<: "]


@costly(500)
@given(st.text(st.characters(exclude_categories=())) | st.lists(st.sampled_from(YAML_PARTS)).map("".join))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        source = parse_source(text, "f")
    except InputError as error:
        assert len(str(error).split("\n")) == len(error.mistakes) == 1
    else:
        json.dumps(source.data, allow_nan=False).encode()


@given(JSON, st.sampled_from([None, 2, "\t"]))
@costly(100)
def test_json_is_read_as_it_was_written(document: object, indent: int | str | None) -> None:
    assert parse_source(json.dumps(document, indent=indent), "f").data == document


def paths(data: object, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    return [path, *(inner for key, value in items for inner in paths(value, (*path, key)))]


def mutated(data: Any, path: tuple[str | int, ...], value: object, key: str | None) -> Any:
    if not path:
        return {**data, key: value} if key is not None and isinstance(data, dict) else value
    changed = data.copy()
    changed[path[0]] = mutated(data[path[0]], path[1:], value, key)
    return changed


NAMES = [
    "npus",
    "npu",
    "spare",
    "kind",
    "ring",
    "switch",
    "tp",
    "model",
    "best",
    "all",
    "time",
    "[key]",
    "Ring",
    "int",
    "root",
]
VALUES = st.recursive(
    JSON | st.sampled_from(NAMES),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=4),
    max_leaves=8,
)


@pytest.mark.slow
@costly(200)
@given(st.data())
def test_any_mutation_is_valid_or_refused_where_it_was_made(data: st.DataObject) -> None:
    document = parse_source(GOOD, "f").data
    for _ in range(data.draw(st.integers(1, 3))):
        path = data.draw(st.sampled_from(paths(document)))
        key = data.draw(st.none() | st.sampled_from(NAMES) | KEYS)
        document = mutated(document, path, data.draw(VALUES), key)
    source = parse_source(json.dumps(document), "f")
    try:
        validate(Problem, source)
    except InputError as error:
        sentences = str(error).split("\n")
        assert len(sentences) == len(error.mistakes) > 0
        assert all(mistake.line == 1 and mistake.column for mistake in error.mistakes)
        assert [mistake.column for mistake in error.mistakes] == sorted(mistake.column for mistake in error.mistakes)


@pytest.mark.slow
def test_recursion_is_far_from_its_limit() -> None:
    frames = sys.getrecursionlimit()
    sys.setrecursionlimit(min(frames, 700))
    try:
        assert "deep" in refusal("[" * 10_000)
    finally:
        sys.setrecursionlimit(frames)


def test_aliases_of_fields_are_the_keys() -> None:
    (sentence,) = mistakes(SMALL + "lambda_: 1")
    assert sentence.endswith("limits, parent, lambda; did you mean 'lambda'?")


def test_what_is_read_twice_is_read_anew(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text("a: {b: [1, 2]}")
    first: Any = read_source(path).data
    first["a"]["b"].append(3)
    assert read_source(path).data == {"a": {"b": [1, 2]}}
    path.write_text("a: 1")
    assert read_source(path).data == {"a": 1}


@pytest.mark.parametrize("path", sorted(Path(evo_libra.__file__).parent.rglob("*.yaml")), ids=lambda path: path.name)
def test_both_readers_read_the_same_of_each_file_of_the_package(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert read_packaged_yaml(text, path.name) == read_yaml(text, path.name)
