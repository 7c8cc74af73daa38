"""Calls by keyword: none has more than five positional arguments."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import evo_libra

PACKAGE = Path(evo_libra.__file__).parent
MOST = 5
POSITIONAL_ONLY = {
    "clarabel.DefaultSolver": "its extension module takes positions only",
    "run": "numba looks up the compiled version of a call by its positions, and slower by keywords",
}
"""Functions that are called by position, with the reason."""


def positional_calls(source: str) -> Iterator[str]:
    """Yield the line and the function of the calls in a source that have more than five positional arguments."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and len(node.args) > MOST and ast.unparse(node.func) not in POSITIONAL_ONLY:
            yield f"{node.lineno}: {ast.unparse(node.func)} has {len(node.args)}"


@pytest.mark.slow
def test_no_call_has_more_than_five_positional_arguments() -> None:
    places = [
        f"{path.relative_to(PACKAGE.parent)}:{place}"
        for path in sorted(PACKAGE.rglob("*.py"))
        for place in positional_calls(path.read_text())
    ]
    assert not places, "\n".join(places)


def test_a_call_with_six_positional_arguments_is_named() -> None:
    source = "area(1, 2, 3, 4, 5)\nvolume(1, 2, 3, 4, 5, 6)\nmass(1, 2, 3, 4, 5, density=6)\nrun(1, 2, 3, 4, 5, 6)"
    assert list(positional_calls(source)) == ["2: volume has 6"]
