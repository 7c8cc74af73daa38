"""The reason why no order has a product or a family: of the rules that its orders break, the one that counts."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from typing import NamedTuple, TypeAlias


class Broken(NamedTuple):
    """A rule that an order breaks, and whether its network breaks it, whose products go together."""

    by_network: bool
    sentence: str


Reasons: TypeAlias = defaultdict[str, Counter[Broken]]
"""Rules that orders break, by the names of their products and their family."""

_FIGURE = re.compile(r"(?<![\w.-])\d+(?:\.\d+)?(?![\w-])")
"""A number that is no part of a name."""


def nearest_reason(name: str, broken: Reasons) -> str:
    """Return the rule that most orders of a name break: of the network, where their products break none.

    Sentences that differ in their figures alone are one rule, and the least figures are the nearest to what is allowed.
    A rule of another product is passed over, where orders without that product break another one.
    """
    rules: defaultdict[tuple[bool, bool, str], Counter[str]] = defaultdict(Counter)
    for one, orders in broken[name].items():
        own = one.sentence.split(" ", 1)[0] not in broken.keys() - {name}
        rules[one.by_network, own, _FIGURE.sub("#", one.sentence)][one.sentence] += orders
    most = max(rules, key=lambda rule: (*rule[:2], rules[rule].total()))
    return min(rules[most], key=lambda sentence: [float(figure) for figure in _FIGURE.findall(sentence)])
