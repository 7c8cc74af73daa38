"""The question that a problem asks: a buyer's, which products to order, or a maker's, which design to make."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

Question = Literal["order", "design"]


FABRIC = "fabric"
"""The question of a file that asks for a graph of switches; the column of fronts that has these designs."""


def question_of(data: object) -> Question:
    """Return the question that the data of a problem file ask: one of an order says so, or names systems.

    >>> question_of({"systems": ["hgx-h100"]}), question_of({"fabric": {}})
    ('order', 'design')
    """
    if not isinstance(data, Mapping):
        return "design"
    asked = data.get("question")
    return "order" if asked == "order" or (asked is None and "systems" in data) else "design"


def identified_question(identity: Mapping[str, object]) -> Question:
    """Return the question of a problem by its identity: that of one of orders has those that its file allows.

    >>> identified_question({"name": "x", "order": {}, "products": {}}), identified_question({"name": "x"})
    ('order', 'design')
    """
    return "order" if "order" in identity else "design"
