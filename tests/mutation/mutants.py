"""Mutants: copies of a module's text, each with one constant, operator or condition changed.

Left alone is what no test of figures could see: annotations, decorators, f-strings, what is raised, docstrings,
`strict=`, imports for types, arrays without elements, and floats up to 1e-6 and from 1e30 on, which are tolerances and
stand-ins for infinity.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

OPERATORS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Div,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.USub: ast.UAdd,
}
NAMES = {
    "min": "max",
    "max": "min",
    "minimum": "maximum",
    "maximum": "minimum",
    "argmin": "argmax",
    "argmax": "argmin",
    "any": "all",
    "all": "any",
    "floor": "ceil",
    "ceil": "floor",
}
SMALLEST, LARGEST = 1e-6, 1e30
_ANNOTATIONS = {"annotation", "returns", "decorator_list", "type_params"}


@dataclass(frozen=True)
class Site:
    """A place to mutate: the field of a node of the tree, and its other value."""

    function: str
    node: ast.AST
    field: str
    value: Any

    @property
    def line(self) -> int:
        """Return the number of the line in the file."""
        return int(getattr(self.node, "lineno", 0))


@dataclass(frozen=True)
class Mutant:
    """The text of a mutated module, and the one line in which it differs, as `ast.unparse` writes lines."""

    path: str
    function: str
    line: int
    before: str
    after: str
    text: str


def sites(tree: ast.AST, function: str = "") -> Iterator[Site]:
    """Yield every place of a module to mutate."""
    if _is_left_alone(tree):
        return
    for field, value in _changes(tree):
        yield Site(function, tree, field, value)
    for field, values in ast.iter_fields(tree):
        if field in _ANNOTATIONS:
            continue
        for value in values if isinstance(values, list) else [values]:
            if isinstance(value, ast.FunctionDef | ast.ClassDef):
                yield from sites(value, f"{function}.{value.name}".lstrip("."))
            elif isinstance(value, ast.AST):
                yield from sites(value, function)


def _is_left_alone(node: ast.AST) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(attr="empty")):  # an array that has nothing, or is filled later
            return any(isinstance(part, ast.Constant) and part.value == 0 for part in ast.walk(node))
        case ast.JoinedStr() | ast.Raise() | ast.keyword(arg="strict") | ast.If(test=ast.Name(id="TYPE_CHECKING")):
            return True
    return False


def mutate(path: str, tree: ast.Module, site: Site) -> Mutant:
    """Return the mutant of a module at one of its sites; the tree is as before."""
    old, whole = getattr(site.node, site.field), ast.unparse(tree)
    setattr(site.node, site.field, site.value)
    text = ast.unparse(tree)
    setattr(site.node, site.field, old)
    before, after = next(
        lines for lines in zip(whole.splitlines(), text.splitlines(), strict=False) if lines[0] != lines[1]
    )
    return Mutant(path, site.function, site.line, before.strip(), after.strip(), text)


def _changes(node: ast.AST) -> Iterator[tuple[str, Any]]:
    """Yield fields of a node and their other values."""
    if isinstance(node, ast.BinOp | ast.AugAssign | ast.BoolOp | ast.UnaryOp) and type(node.op) in OPERATORS:
        yield "op", OPERATORS[type(node.op)]()
    elif isinstance(node, ast.Compare):
        for index, operator in enumerate(node.ops):
            yield "ops", [*node.ops[:index], OPERATORS[type(operator)](), *node.ops[index + 1 :]]
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.Invert):
        yield "operand", ast.UnaryOp(type(node.op)(), node.operand)
    elif isinstance(node, ast.Constant):
        yield from (("value", value) for value in _other_constants(node.value))
    elif isinstance(node, ast.Name) and node.id in NAMES:
        yield "id", NAMES[node.id]
    elif isinstance(node, ast.Attribute) and node.attr in NAMES:
        yield "attr", NAMES[node.attr]
    elif isinstance(node, ast.If | ast.IfExp | ast.While) and isinstance(
        node.test, ast.Name | ast.Attribute | ast.Call
    ):
        yield "test", ast.UnaryOp(ast.Not(), node.test)


def _other_constants(value: object) -> Iterator[bool | int | float]:
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int):
        yield value + 1
    elif isinstance(value, float) and (value == 0.0 or SMALLEST < value < LARGEST):
        yield 2.0 * value if value else 1.0
