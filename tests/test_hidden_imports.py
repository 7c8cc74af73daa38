from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import grimp
import pytest

ROOT = Path(__file__).parents[1]
BY_ROOM = "Rooms import one way"


def rooms() -> dict[str, int]:
    """Return the rank of each room, 0 for the lowest, as the import contract has them."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers = next(contract for contract in contracts if contract["name"] == BY_ROOM)["layers"]
    return {
        room.strip(): rank for rank, layer in enumerate(reversed(layers)) for room in layer.split("|")
    }  # fmt: skip


def named(tree: ast.AST, modules: frozenset[str]) -> Iterator[str]:
    """Yield the modules that strings of a source name, docstrings aside."""
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and node.body and isinstance(node.body[0], ast.Expr)
    }  # fmt: skip
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            docstrings.add(id(node.value))  # the description of a constant
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            name = node.value.rstrip(".").partition(":")[0]
            if name in modules:
                yield name


@cache
def graph() -> grimp.ImportGraph:
    """Return which modules import which."""
    return grimp.build_graph("evo_libra", exclude_type_checking_imports=False)


@cache
def hidden() -> list[tuple[str, str]]:
    """Return (module, the module that it names in a string) of the package."""
    modules = frozenset(graph().modules) - {"evo_libra"}
    found = []
    for path in sorted((ROOT / "evo_libra").rglob("*.py")):
        own = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        found += [(own, other) for other in named(ast.parse(path.read_text()), modules) if other != own]
    return found


def test_what_a_string_names_is_found() -> None:
    tree = ast.parse(
        '"""evo_libra.ui"""\nload("evo_libra.ui.cli:main")\nname = f"evo_libra.front.{part}"\nx = "evo_libra"'
    )
    modules = frozenset({"evo_libra.ui", "evo_libra.ui.cli", "evo_libra.front"})
    assert list(named(tree, modules)) == ["evo_libra.ui.cli", "evo_libra.front"]


@pytest.mark.slow
def test_modules_named_in_strings_are_lower_ones() -> None:
    rank = rooms()

    def room(module: str) -> int:
        return next((rank[name] for name in rank if f"{module}.".startswith(f"{name}.")), len(rank))

    assert [f"{own} names {other}" for own, other in hidden() if room(other) > room(own)] == []


@pytest.mark.slow
def test_modules_named_in_strings_close_no_circle() -> None:
    assert [pair for pair in hidden() if closes_circle(*pair)] == []


def closes_circle(own: str, other: str) -> bool:
    """Return whether a module that names another one is imported by it, or by a part of it."""
    found = graph()
    inside = {own} if own in found.find_descendants(other) else {other} | found.find_descendants(other)
    return own not in ("evo_libra", *inside) and any(found.chain_exists(module, own) for module in inside)
