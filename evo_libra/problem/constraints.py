"""Linear constraints, such as ``bw[0] >= bw[1]``, ``bw[2] + bw[pod] == 200 GB/s``, ``cost <= 20 MUSD``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from evo_libra.errors import InputError, unknown
from evo_libra.model.arrays import FloatArray, IntArray
from evo_libra.problem.quantity import UNITS

TOLERANCE = 1e-9
"""Relative violation that counts as none: rounding, not a relaxation."""

_TOKEN = re.compile(
    r"\s*(?:(?P<number>\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)|(?P<name>[A-Za-z][A-Za-z/]*)"
    r"|(?P<symbol><=|>=|==|[-+*()\[\]]))"
)
_STRICT = {"<": "<=", ">": ">=", "=": "=="}
_INDEX = re.compile(r"\s*(?P<index>[A-Za-z0-9][A-Za-z0-9.-]*)\s*\]")


@dataclass(frozen=True)
class Constraint:
    """``sum of terms <= limit`` or ``== limit``; a dimension that a design lacks has bandwidth 0.

    Attributes
    ----------
    text : as the user wrote it.
    quantity : ``bandwidth``, ``cost`` or ``time``.
    equality : whether the terms must equal the limit.
    dimension : (d,) coefficients of the dimensions' bandwidths.
    technology : (t,) coefficients of the bandwidths of all dimensions of a technology.
    objective : coefficient of cost or time.
    limit : in SI.
    at_least : whether it was written with ``>=``; the terms are then those of the other direction.
    lanes : whether it says that dimensions of one technology share its lanes, which a catalogue does and no user.
    """

    text: str
    quantity: str
    equality: bool
    dimension: tuple[float, ...]
    technology: tuple[float, ...]
    objective: float
    limit: float
    at_least: bool = False
    lanes: bool = False

    def coefficients(self, technology: IntArray, unit_cost: FloatArray) -> FloatArray:
        """Return the coefficient of every bandwidth: (d, n) from (d, n) technologies and USD per B/s of a network."""
        if self.quantity == "cost":
            return self.objective * unit_cost
        dimension = np.asarray(self.dimension)[: len(technology), None]
        return np.asarray(dimension + np.asarray(self.technology)[technology])


@dataclass
class _Terms:
    dimension: FloatArray
    technology: FloatArray
    cost: float = 0.0
    time: float = 0.0
    constant: float = 0.0
    constants: tuple[str, ...] = ()


class _Parser:
    """Recursive descent over one constraint."""

    def __init__(self, text: str, dimensions: int, technologies: Sequence[str]) -> None:
        self.text, self.position = text, 0
        self.dimensions, self.technologies = dimensions, technologies

    def error(self, message: str) -> InputError:
        return InputError(f"'{self.text[:80]}' is no constraint: {message}")

    def peek(self) -> str:
        match = _TOKEN.match(self.text, self.position)
        rest = self.text[self.position :].strip()
        if rest[:1] in _STRICT and not rest.startswith(("<=", ">=", "==")):
            raise self.error(f"'{rest[0]}' is no relation; '{_STRICT[rest[0]]}' is")
        if match is None and rest:
            raise self.error(f"'{self.text[self.position :].strip()[:20]}' is not understood")
        return match.group().strip() if match else ""

    def take(self) -> str:
        token = self.peek()
        match = _TOKEN.match(self.text, self.position)
        self.position = match.end() if match else self.position
        return token

    def chain(self) -> tuple[list[_Terms], list[str], list[str]]:
        sides, relations, starts, ends = [self.side()], [], [0], [self.position]
        while self.peek():
            relation = self.take()
            if relation not in ("<=", ">=", "=="):
                raise self.error(f"<=, >= or == is needed before '{relation}'")
            relations.append(relation)
            starts.append(self.position)
            sides.append(self.side())
            ends.append(self.position)
        if not relations:
            raise self.error("<=, >= or == is needed")
        return sides, relations, [self.text[start:end].strip() for start, end in zip(starts, ends, strict=True)]

    def side(self) -> _Terms:
        terms = _Terms(np.zeros(self.dimensions), np.zeros(len(self.technologies)))
        sign = 1.0
        if self.peek() in ("+", "-"):
            sign = -1.0 if self.take() == "-" else 1.0
        self.term(terms, sign)
        while self.peek() in ("+", "-"):
            self.term(terms, -1.0 if self.take() == "-" else 1.0)
        return terms

    def term(self, terms: _Terms, factor: float) -> None:
        token = self.take()
        if re.match(r"[\d.]", token):
            factor *= float(token)
            if self.peek() == "*":
                self.take()
                token = self.take()
            elif self.peek() in UNITS:
                quantity, size = UNITS[self.take()]
                terms.constant += factor * size
                terms.constants += (quantity,)
                return
            elif re.match(r"[A-Za-z]", self.peek()) and self.peek() not in ("bw", "sum", "cost", "time"):
                raise self.error(unknown("unit", self.peek(), UNITS))
            elif re.match(r"[A-Za-z]", self.peek()):
                token = self.take()
            else:
                if factor:
                    raise self.error(f"{token} has no unit; allowed: {', '.join(UNITS)}")
                return
        self.variable(terms, factor, token)

    def variable(self, terms: _Terms, factor: float, token: str) -> None:
        if token == "sum":  # noqa: S105 - a word of the language
            if [self.take() for _ in range(3)] != ["(", "bw", ")"]:
                raise self.error("sum is written sum(bw)")
            terms.dimension += factor
        elif token == "bw":  # noqa: S105 - a word of the language
            self.bandwidth(terms, factor)
        elif token in ("cost", "time"):
            setattr(terms, token, getattr(terms, token) + factor)
        elif not token:
            raise self.error("it ends too early")
        else:
            raise self.error(unknown("name", token, ["bw[0]", "bw[pod]", "sum(bw)", "cost", "time"]))

    def bandwidth(self, terms: _Terms, factor: float) -> None:
        if self.take() != "[":
            raise self.error("bandwidth is written bw[0] or bw[pod]")
        match = _INDEX.match(self.text, self.position)
        if match is None:
            raise self.error("bandwidth is written bw[0] or bw[pod]")
        self.position = match.end()
        index = match["index"]
        if index.isascii() and index.isdigit():
            if int(index) >= self.dimensions:
                raise self.error(f"bw[{index}] does not exist; dimensions count from 0 to {self.dimensions - 1}")
            terms.dimension[int(index)] += factor
        elif index in self.technologies:
            # A technology of several blocks has that many kits.
            terms.technology[[name == index for name in self.technologies]] += factor
        else:
            raise self.error(unknown("technology", index, self.technologies))


def parse_constraint(text: str, dimensions: int, technologies: Sequence[str]) -> tuple[Constraint, ...]:
    """Read one line of constraints; a chain such as ``bw[0] >= bw[1] >= bw[2]`` is several.

    Parameters
    ----------
    text : the constraint, with units.
    dimensions : most dimensions of a design.
    technologies : names that ``bw[...]`` may use.

    Raises
    ------
    InputError : the sentence says what is not understood.
    """
    parser = _Parser(text, dimensions, technologies)
    sides, relations, texts = parser.chain()
    pairs = zip(pairwise(sides), relations, pairwise(texts), strict=True)
    return tuple(
        _constraint(parser, left, right, relation, f"{first} {relation} {second}")
        for (left, right), relation, (first, second) in pairs
    )


def _constraint(parser: _Parser, left: _Terms, right: _Terms, relation: str, text: str) -> Constraint:
    sign = -1.0 if relation == ">=" else 1.0
    dimension, technology = sign * (left.dimension - right.dimension), sign * (left.technology - right.technology)
    objectives = {"cost": sign * (left.cost - right.cost), "time": sign * (left.time - right.time)}
    present = [name for name, value in objectives.items() if value]
    if dimension.any() or technology.any():
        present.insert(0, "bandwidth")
    units = set(left.constants + right.constants)
    if len(present) != 1 or units - {present[0]}:
        found = ", ".join([*present, *(f"a number of {unit}" for unit in sorted(units))]) or "only numbers"
        raise parser.error(f"it compares {found}; one of bandwidth, cost and time is needed")
    limit = sign * (right.constant - left.constant)
    if not np.isfinite([limit, *dimension, *technology, *objectives.values()]).all():
        raise parser.error("a number is too large")
    return Constraint(
        text,
        present[0],
        relation == "==",
        tuple(dimension.tolist()),
        tuple(technology.tolist()),
        objectives.get(present[0], 0.0),
        limit,
        relation == ">=",
    )


def excess(constraint: Constraint, value: FloatArray, scale: FloatArray | float) -> FloatArray:
    """Return the relative violation (n,), 0 where the constraint holds.

    Parameters
    ----------
    constraint : the constraint.
    value : (n,) its left side.
    scale : size of the terms, so that rounding does not count as a violation.
    """
    over = value - constraint.limit
    over = np.abs(over) if constraint.equality else np.maximum(over, 0.0)
    relative = over / np.maximum(np.maximum(scale, abs(constraint.limit)), 1e-300)
    return np.asarray(np.where(relative > TOLERANCE, relative, 0.0))
