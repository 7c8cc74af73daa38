"""Sizes that refer to others, by hand."""

from __future__ import annotations

from typing import Any

import pytest

from evo_libra.exchange.nemo import interpolated
from evo_libra.files.source import parse_source


def value(text: str) -> Any:
    given = f"other: {{size: 7, deep: {{size: 5}}}}\nmodel:\n  hidden: 12\n  name: word\n  asked: {text}\n"
    return interpolated(parse_source(given, "f.yaml"), "model").data["model"]["asked"]


@pytest.mark.parametrize(("text", "expected"), [
    ('"${.hidden}"', 12),  # of the same mapping
    ('"${other.size}"', 7),  # of the whole file
    ('"${other.deep.size}"', 5),
    ('"${multiply:4, 12}"', 48),
    ('"${multiply:4, ${.hidden}}"', 48),
    ('"${divide_ceil:12, 5}"', 3),
    ('"${divide_floor:12, 5}"', 2),
    ('"${divide_ceil:10, 5}"', 2),
    ('"${multiply:${divide_ceil:${.hidden}, 5}, ${other.size}}"', 21),
    ('"${divide_floor:12, 0}"', "${divide_floor:12, 0}"),
    ('"${.name}"', "${.name}"),  # text stays as it is
    ('"${.missing}"', "${.missing}"),
    ("9", 9),
])  # fmt: skip
def test_references(text: str, expected: Any) -> None:
    assert value(text) == expected


def test_eight_references_in_a_row_are_followed() -> None:
    def last(count: int) -> Any:
        rows = "".join(f'  s{at}: "${{.s{at - 1}}}"\n' for at in range(1, count + 1))
        return interpolated(parse_source(f"model:\n  s0: 3\n{rows}", "f.yaml"), "model").data["model"][f"s{count}"]

    assert last(8) == 3
    assert last(9) == "${.s8}"
