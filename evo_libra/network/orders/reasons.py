"""The reason why no order has a product or a family: of the rules that its orders break, the one that counts."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from enum import IntEnum
from typing import NamedTuple, TypeAlias


class Stage(IntEnum):
    """The stages of the check of an order."""

    PRODUCTS = 0
    NETWORK = 1
    ROOM = 2


class Broken(NamedTuple):
    """A rule that an order breaks, and the stage of the check that finds it, where those before it find none."""

    stage: Stage
    sentence: str


Reasons: TypeAlias = defaultdict[str, Counter[Broken]]
"""Rules that orders break, by the names of their products and their family."""

_FIGURE = re.compile(r"(?<![\w.-])\d+(?:\.\d+)?(?![\w-])")
"""A number that is no part of a name."""


def nearest_reason(name: str, broken: Reasons) -> str:
    """Return the rule that most orders of a name break, of the last stage that any of them comes to.

    Sentences that differ in their figures alone are one rule, and the least figures are the nearest to what is allowed.
    """
    rules: defaultdict[tuple[Stage, str], Counter[str]] = defaultdict(Counter)
    for one, orders in broken[name].items():
        rules[one.stage, _FIGURE.sub("#", one.sentence)][one.sentence] += orders
    most = max(rules, key=lambda rule: (rule[0], rules[rule].total()))
    return min(rules[most], key=lambda sentence: [float(figure) for figure in _FIGURE.findall(sentence)])
