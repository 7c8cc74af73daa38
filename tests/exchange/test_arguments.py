"""Words of scripts as options, each rule on the shortest line."""

from __future__ import annotations

import contextlib
import time
from typing import Any

import pytest

from evo_libra.errors import InputError
from evo_libra.exchange.arguments import parse_arguments


@pytest.mark.parametrize(("text", "expected"), [
    ("--a-b 1", {"a-b": 1}),
    ("--a_b=1", {"a-b": 1}),
    ("--a 1.5e-5 --b 2.0 --c x", {"a": 1.5e-5, "b": 2.0, "c": "x"}),
    ("--a 1234567890123", {"a": "1234567890123"}),  # up to 12 digits are a number
    ("--a 123456789012", {"a": 123456789012}),
    ("--a --b", {"a": True, "b": True}),
    ("--a 1 2", {"a": 1}),  # one value
    ("--a=1 2", {"a": 1}),
    ("--a 1 --a 2", {"a": 2}),  # the last one counts
    ("--a\n1", {"a": True}),  # a value is on the same line
    ("--a \\\n1", {"a": 1}),  # or on the next one, behind a backslash
    ("--flag 1", {"flag": True}),
    ("# --x 1\n--a 1 # --b 2", {"a": 1}),
    ("--a x#1", {"a": "x#1"}),
    ("X=5\n--a $X --b ${X}", {"a": 5, "b": 5}),
    ("--a ${X:-7} --b ${Y-8} --c ${Z}", {"a": 7, "b": 8, "c": "${Z}"}),
    ("X=5\n--a ${X:-7}", {"a": 5}),
    ("--a '5' --b \"6\"", {"a": 5, "b": 6}),
    ("--a 4\"0\" --b '1'2", {"a": 40, "b": 12}),  # quotes inside a word
    ("ARGS=(--a 5)", {"a": 5}),
    ("run -x 1 --a 5; wait", {"a": 5}),
])  # fmt: skip
def test_options(text: str, expected: dict[str, Any]) -> None:
    assert parse_arguments(text, "run.sh", flags={"flag"}).data == expected


def test_an_option_has_its_place() -> None:
    source = parse_arguments("# a\n  --num-layers 4 --b", "run.sh")
    places = {key: (place.line, place.column) for key, place in source.places.items() if key}
    assert places == {("num-layers",): (2, 3), ("b",): (2, 18)}


def test_a_text_without_options_is_refused() -> None:
    with pytest.raises(InputError, match="has no options such as"):
        parse_arguments("a 1 -b", "run.sh")


@pytest.mark.parametrize("text", ["[" + "0," * 40_000, "$(" * 40_000, "${a:-" * 20_000, "'" * 80_000, "--a " * 20_000])
def test_long_texts_take_time_in_proportion(text: str) -> None:
    begun = time.process_time()
    with contextlib.suppress(InputError):
        parse_arguments(text, "f", lists=("a",))
    assert time.process_time() - begun < 1.0  # some took half a minute


def test_a_variable_does_not_grow_without_end() -> None:
    doubled = "a=xxxxxxxxxx\n" + "a=$a$a\n" * 40
    found = parse_arguments(f"{doubled}--b $a", "f").data["b"]
    assert len(found) <= 4096
