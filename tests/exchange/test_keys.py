"""Limits of the values of keys, and what is listed as left out."""

from __future__ import annotations

import json
from typing import Any

import pytest

from evo_libra.errors import InputError
from evo_libra.exchange.keys import Keys
from evo_libra.files.source import parse_source


def keys(data: Any) -> Keys:
    return Keys(parse_source(json.dumps(data), "f"))


@pytest.mark.parametrize(("name", "value", "expected"), [
    ("size", 1, 1), ("size", 0, None), ("size", 10**9, 10**9), ("size", 10**9 + 1, None), ("size", True, None),
    ("size", 1.0, None), ("number", 1, 1.0), ("number", 0.5, 0.5), ("number", 0, None), ("number", 1e9, 1e9),
    ("number", 1.1e9, None), ("number", True, None), ("share", 0, 0.0), ("share", 1, 1.0), ("share", 1.01, None),
    ("share", -0.01, None), ("share", True, None), ("flag", True, True), ("flag", False, False), ("flag", 1, None),
])  # fmt: skip
def test_limits(name: str, value: Any, expected: Any) -> None:
    of = keys({"a": value})
    assert getattr(of, name)("a") == expected
    assert bool(of.mistakes) == (expected is None)
    assert getattr(of, name)("b") is None
    assert len(of.mistakes) == (expected is None)


def test_a_size_may_have_another_least() -> None:
    assert keys({"a": 0}).size("a", least=0) == 0


def test_values_are_found_in_lists_and_mappings() -> None:
    of = keys({"a": [{"b": 3}]})
    assert of.raw("a", 0, "b") == 3
    assert of.raw("a", 1, "b") is None
    assert of.raw("a", "b") is None
    assert of.raw("a", 0, "b", "c") is None


def test_what_was_not_taken_is_left() -> None:
    of = keys({"a": 1, "b": {"c": 2, "d": 3}, "e": [4, 5], "f": {}})
    of.size("a")
    of.unsupported(("b", "c"), "is not carried over")
    of.raw("e", 1)
    assert of.left() == [
        "f: b.c: is not carried over", "f: b.d: is not known, and is not read",
        "f: e[0]: is not known, and is not read",
        "f: f: is not known, and is not read",
    ]  # fmt: skip
    of.raw("b")
    assert of.left()[0] == "f: e[0]: is not known, and is not read"


def test_a_reason_holds_for_all_inside() -> None:
    of = keys({"b": {"c": 2}})
    of.unsupported(("b",), "is hardware")
    assert of.left() == ["f: b.c: is hardware"]


def test_usual_values_are_taken_and_others_listed() -> None:
    of = keys({"a": 1, "b": True, "c": 2})
    of.expect({("a",): (1, 3), ("b",): (1,), ("c",): (2.0,), ("d",): (1,)})
    assert of.left() == ["f: b: found True; 1 is assumed", "f: c: found 2; 2.0 is assumed"]


def test_words_and_keys_that_are_needed() -> None:
    of = keys({"a": "x"})
    assert of.choice({"x": 7}, "a") == 7
    assert of.choice({"y": 7}, "a") is None
    assert of.needed("z") is None
    with pytest.raises(InputError) as found:
        of.check()
    assert [mistake.message for mistake in found.value.mistakes] == [
        "found 'x'; allowed: y", "this key is required, a whole number",
    ]  # fmt: skip
