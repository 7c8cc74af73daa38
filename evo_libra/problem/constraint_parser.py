"""The language of constraints: ``bw[0] >= bw[1]``, ``bw[2] + bw[pod] == 200 GB/s``, ``cost <= 20 MUSD``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from evo_libra.arrays import FloatArray
from evo_libra.errors import InputError, unknown
from evo_libra.problem.constraints import BANDWIDTH, Constraint
from evo_libra.problem.figures import TotalCostOfOwnership
from evo_libra.problem.needs import NO_TCO, TCO
from evo_libra.problem.objectives import MEASURES, PLAIN, unit_of

UNIT_SIZES: dict[str, dict[str, float]] = {
    "bandwidth": {"TB/s": 1e12, "GB/s": 1e9, "MB/s": 1e6},
    "cost": {"USD": 1.0, "kUSD": 1e3, "MUSD": 1e6},
    "time": {"s": 1.0, "ms": 1e-3, "us": 1e-6},
    "power": {"W": 1.0, "kW": 1e3, "MW": 1e6},
    "cost of tokens": {"USD/Mtoken": 1.0},
    "cost of trillions of tokens": {"USD/Ttoken": 1.0, "kUSD/Ttoken": 1e3, "MUSD/Ttoken": 1e6},
    "energy": {"J": 1.0, "kJ": 1e3, "MJ": 1e6},
    "throughput": {"token/s": 1.0, "ktoken/s": 1e3, "Mtoken/s": 1e6},
    "rate": {"iteration/s": 1.0, "iteration/h": 1 / 3600, "iteration/day": 1 / 86400},
    "share": {"%": 1e-2},
    "memory": {"GB": 1e9, "MB": 1e6, "TB": 1e12},
    "time times cost": {"USD s": 1.0, "kUSD s": 1e3, "MUSD s": 1e6},
}
"""Sizes of units in SI, by their kind."""
UNITS = {unit: (kind, size) for kind, sizes in UNIT_SIZES.items() for unit, size in sizes.items()}
"""Units of constraints: the kind of each unit, and its size in SI."""


def units_of(kind: str) -> str:
    """Return the units of one kind, as sentences list them.

    >>> units_of("power")
    'W, kW, MW'
    """
    return ", ".join(UNIT_SIZES[kind])


def unit_in(text: str, kind: str) -> tuple[str, float]:
    """Return the last unit of a kind that a constraint is written with, and its size in SI; the first one for none.

    >>> unit_in("memory <= 76 GB", "memory"), unit_in("bw[0] >= bw[1]", "bandwidth")
    (('GB', 1000000000.0), ('TB/s', 1000000000000.0))
    """
    sizes = UNIT_SIZES[kind]
    found = re.findall("|".join(rf"(?<![A-Za-z/]){re.escape(unit)}(?![A-Za-z/])" for unit in sizes), text)
    unit = found[-1] if found else next(iter(sizes))
    return unit, sizes[unit]


# The longest first, as some names begin with others.
_NAMES = sorted((*MEASURES, *UNITS), key=len, reverse=True)
_LONG = "|".join(re.escape(name) for name in _NAMES if not re.fullmatch(r"[A-Za-z/]+", name))
_TOKEN = re.compile(
    r"\s*(?:(?P<number>\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)"
    rf"|(?P<name>(?:{_LONG})(?![A-Za-z/.])|[A-Za-z][A-Za-z/]*(?:\.\w+)?)|(?P<symbol><=|>=|==|[-+*()\[\]]))"
)
_LOOKED_AT = 99
"""Characters after a token that say what is wrong with it."""
_SIGNS = {"+": 1.0, "-": -1.0}
_STRICT = {"<": "<=", ">": ">=", "=": "=="}
_INDEX = re.compile(r"\s*(?P<index>[A-Za-z0-9][A-Za-z0-9.-]*)\s*\]")


@dataclass
class _Terms:
    dimension: FloatArray
    technology: FloatArray
    objectives: dict[str, float] = field(default_factory=dict)
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
        rest = self.text[self.position : self.position + _LOOKED_AT].strip()
        if rest[:1] in _STRICT and not rest.startswith(("<=", ">=", "==")):
            raise self.error(f"'{rest[0]}' is no relation; '{_STRICT[rest[0]]}' is")
        if match is None and rest:
            raise self.error(f"'{rest[:20]}' is not understood")
        return match.group().strip() if match else ""

    def take(self) -> str:
        token = self.peek()
        match = _TOKEN.match(self.text, self.position)
        self.position = match.end() if match else self.position
        return token

    def chain(self) -> tuple[list[_Terms], list[str], list[str]]:
        sides, relations, start = [self.side()], list[str](), self.position
        texts = [self.text[:start].strip()]
        while self.peek():
            relations.append(self.take())
            if relations[-1] not in _STRICT.values():
                raise self.error(f"<=, >= or == is needed before '{relations[-1]}'")
            start = self.position
            sides.append(self.side())
            texts.append(self.text[start : self.position].strip())
        if not relations:
            raise self.error("<=, >= or == is needed")
        return sides, relations, texts

    def side(self) -> _Terms:
        terms = _Terms(np.zeros(self.dimensions), np.zeros(len(self.technologies)))
        self.term(terms, _SIGNS[self.take()] if self.peek() in _SIGNS else 1.0)
        while self.peek() in _SIGNS:
            self.term(terms, _SIGNS[self.take()])
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
            elif not re.match(r"[A-Za-z]", self.peek()):
                if factor:
                    raise self.error(f"{token} has no unit; allowed: {', '.join(self.units())}")
                return
            elif self.peek() not in ("bw", "sum", *MEASURES):
                raise self.error(unknown("unit", self.peek(), UNITS))
            else:
                token = self.take()
        self.variable(terms, factor, token)

    def units(self) -> list[str]:
        """Return the units of the quantities that the constraint names; all of them where it names none."""
        named = [MEASURES[name].unit for name in re.findall(r"[A-Za-z][A-Za-z.-]*", self.text) if name in MEASURES]
        named += ["bandwidth"] if re.search(r"\bbw\b", self.text) else []
        return [unit for kind in dict.fromkeys(named) or UNIT_SIZES for unit in UNIT_SIZES[kind]]

    def variable(self, terms: _Terms, factor: float, token: str) -> None:
        if token == "sum":  # noqa: S105 - a word of the language
            if [self.take() for _ in range(3)] != ["(", "bw", ")"]:
                raise self.error("sum is written sum(bw)")
            terms.dimension += factor
        elif token == "bw":  # noqa: S105 - a word of the language
            self.bandwidth(terms, factor)
        elif token in MEASURES:
            terms.objectives[token] = terms.objectives.get(token, 0.0) + factor
        elif not token:
            raise self.error("it ends too early")
        else:
            raise self.error(unknown("name", token, ["bw[0]", "bw[pod]", "sum(bw)", *PLAIN, *_robust(token)]))

    def bandwidth(self, terms: _Terms, factor: float) -> None:
        match = _INDEX.match(self.text, self.position) if self.take() == "[" else None
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


def parse_constraint(
    text: str, dimensions: int, technologies: Sequence[str], tco: TotalCostOfOwnership | None = None
) -> tuple[Constraint, ...]:
    """Read one line of constraints; a chain such as ``bw[0] >= bw[1] >= bw[2]`` is several.

    Parameters
    ----------
    text : the constraint, with units.
    dimensions, technologies : how many dimensions, and which names ``bw[...]`` may use.
    tco : figures of the total cost of ownership, where there are some.

    Raises
    ------
    InputError : the sentence quotes the words that are not understood.
    """
    parser = _Parser(text, dimensions, technologies)
    sides, relations, texts = parser.chain()
    pairs = zip(pairwise(sides), relations, pairwise(texts), strict=True)
    return tuple(
        _constraint(parser, left, right=right, relation=relation, text=f"{first} {relation} {second}", tco=tco)
        for (left, right), relation, (first, second) in pairs
    )


def _constraint(
    parser: _Parser, left: _Terms, right: _Terms, relation: str, text: str, tco: TotalCostOfOwnership | None
) -> Constraint:
    sign = -1.0 if relation == ">=" else 1.0
    dimension, technology = sign * (left.dimension - right.dimension), sign * (left.technology - right.technology)
    sums = {name: left.objectives.get(name, 0.0) - right.objectives.get(name, 0.0) for name in MEASURES}
    objectives = {name: sign * value for name, value in sums.items() if value}
    present = [*([BANDWIDTH] if dimension.any() or technology.any() else []), *objectives]
    _check_units(parser, present, set(left.constants + right.constants))
    limit = sign * (right.constant - left.constant)
    if not np.isfinite([limit, *dimension, *technology, *objectives.values()]).all():
        raise parser.error("a number is too large")
    owned = present[0] in MEASURES and TCO in MEASURES[present[0]].needs
    if owned and tco is None:
        raise parser.error(f"the total cost of ownership {NO_TCO}")
    return Constraint(
        text=text, quantity=present[0], equality=relation == "==", dimension=tuple(dimension.tolist()),
        technology=tuple(technology.tolist()), objective=objectives.get(present[0], 0.0), limit=limit,
        at_least=relation == ">=", tco=tco if owned else None,
    )  # fmt: skip


def _robust(name: str) -> list[str]:
    """Return the names over scenarios that one may mean: those of its figure, where it has a dot."""
    figure, dot, _ = name.partition(".")
    return [other for other in MEASURES if dot and other.startswith(f"{figure}.")]


def _check_units(parser: _Parser, present: Sequence[str], found: set[str]) -> None:
    """Refuse a constraint that does not limit one quantity, in the units of that quantity."""
    if len(present) != 1:
        listed = " and ".join(present) or "only numbers"
        raise parser.error(f"it compares {listed}; one of {', '.join([BANDWIDTH, *PLAIN])} is needed")
    kind = unit_of(present[0])
    wrong = sorted(found - {kind})
    if wrong:
        raise parser.error(
            f"it compares {present[0]} with a number of {' and '.join(wrong)}; allowed: {units_of(kind)}"
        )
