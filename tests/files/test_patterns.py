"""No pattern of the package backtracks in more than linear time, whatever text it is given."""

from __future__ import annotations

import ast
import importlib
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from ambiguity import ambiguous

ROOT = Path(__file__).parents[2]
SEARCHES = {"search", "sub", "subn", "findall", "finditer", "split"}
MATCHES = {"match", "fullmatch"}
METHODS = SEARCHES | MATCHES


@dataclass(frozen=True)
class Pattern:
    """A pattern of the package: its place, and the methods of `re` that it is used with."""

    place: str
    text: str
    flags: int
    uses: frozenset[str]


def literal(node: ast.AST) -> str | None:
    """Return the text of a pattern; a value in it stands for itself as one letter."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(literal(one) or "x" for one in node.values)
    if (
        isinstance(node, ast.Call)
        and ast.unparse(node.func) == "'|'.join"
        and isinstance(node.args[0], ast.GeneratorExp)
    ):
        return literal(node.args[0].elt)
    return None


def flags_of(nodes: list[ast.expr]) -> int:
    return sum(int(getattr(re, one.attr)) for node in nodes for one in ast.walk(node) if isinstance(one, ast.Attribute))


@cache
def methods(path: Path) -> dict[str, set[str]]:
    """Return the methods that a module calls on each name."""
    found = defaultdict(set)
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Attribute) and node.attr in METHODS and isinstance(node.value, ast.Name):
            found[node.value.id].add(node.attr)
    return found


def uses_of(path: Path, name: str) -> set[str]:
    """Return the methods that are called on a name of a module; on one that is handed on, any of the module may be."""
    where = [path] if name.startswith("_") else list((ROOT / "evo_libra").rglob("*.py"))
    found = set().union(*(methods(one).get(name, set()) for one in where))
    return found or set().union(*methods(path).values()) - {"split"} or METHODS  # texts have a `split`, too


def value_of(module: str, name: str) -> Any:
    """Return what a module has under a name: a pattern, a method of one, or several in a table."""
    return getattr(importlib.import_module(module), name)


def patterns_of(path: Path) -> Iterator[Pattern]:
    place = path.relative_to(ROOT).as_posix()
    module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
    tree = ast.parse(path.read_text())
    names = {
        id(one): target.id
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(target := node.targets[0], ast.Name)
        for one in ast.walk(node.value)
    }
    for node in ast.walk(tree):
        if not (
            isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and ast.unparse(node.func.value) == "re"
        ):
            continue
        where, name, method = f"{place}:{node.lineno}", names.get(id(node)), node.func.attr
        if method in METHODS:
            text = literal(node.args[0])
            assert text is not None, where
            yield Pattern(where, text, 0, frozenset({method}))
        elif method == "compile" and name is not None and not isinstance(value_of(module, name), tuple):
            value = value_of(module, name)
            value, uses = (value.__self__, {value.__name__}) if callable(value) else (value, uses_of(path, name))
            yield Pattern(where, value.pattern, value.flags, frozenset(uses))
        elif method == "compile":
            text = literal(node.args[0])
            assert text is not None, where
            yield Pattern(where, text, flags_of(node.args[1:]), frozenset(METHODS))


@cache
def patterns() -> tuple[Pattern, ...]:
    return tuple(one for path in sorted((ROOT / "evo_libra").rglob("*.py")) for one in patterns_of(path))


def word_of(one: Pattern) -> str:
    flags = one.flags & ~re.UNICODE
    return ambiguous(one.text, flags, searched=bool(one.uses & SEARCHES), whole="fullmatch" in one.uses)


BACKTRACK = [
    (r"(a+)+b", False, False), (r"a*a*b", False, False), (r"\d+\.?\d*", False, True), (r"\S*[\"']\S*", True, False),
    (r"\$\{[^}]*\}", True, False), (r"\s+$", True, False), (r"(a|ab)*(ba)*c", False, False),
    (r".*=.*;", False, False), (r"(?:aa|a)*b", False, False), (r"[a-z]+@", True, False), (r"\s+\n", True, False),
    (r"(?<![b])\d+(?!\w)", True, False), (r"(?m)^\s+a", True, False),
]  # fmt: skip
LINEAR = [
    (r"\d+(?:\.\d*)?", False, True), (r"[a-z]+", True, False), (r"#[^\n]*", True, False), (r"[a-z]+@", False, True),
    (r"\x1b\[[0-9;]*[A-Za-z]", True, False), (r"a{1,12}b", True, False), (r"[^.]+(\.[^.]+)*", False, True),
    (r"(-?)([a-z_]+)=(.+)", False, True), (r"0x[0-9]+", True, False), (r"^\s+a|^\s*b", True, False),
    (r"(?<![\w.])\d+(?!\w)", True, False), (r"(?<![0-9])[0-9]+a", True, False),
]  # fmt: skip


@pytest.mark.parametrize(("pattern", "searched", "whole"), BACKTRACK)
def test_what_backtracks_is_found(pattern: str, searched: bool, whole: bool) -> None:  # noqa: FBT001 - of a table
    assert ambiguous(pattern, searched=searched, whole=whole)


@pytest.mark.parametrize(("pattern", "searched", "whole"), LINEAR)
def test_what_does_not_is_not(pattern: str, searched: bool, whole: bool) -> None:  # noqa: FBT001 - of a table
    assert ambiguous(pattern, searched=searched, whole=whole) == ""


def test_patterns_of_the_package_are_linear() -> None:
    assert len(patterns()) > 80
    assert [(one.place, one.text, word) for one in patterns() if (word := word_of(one))] == []
