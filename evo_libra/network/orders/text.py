"""Recognition of the text of an order, without reading it."""

from __future__ import annotations

import re

_ORDER = re.compile(r"\d+ +[A-Za-z]", re.ASCII)


def is_order(text: str) -> bool:
    """Return whether a design is written as an order, which begins with the number of systems that are bought.

    >>> is_order("112 gb300-nvl72 / 1 x 800G / q3450-ld fat tree 2:1"), is_order("SW(8)@nvlink4:450")
    (True, False)
    """
    return _ORDER.match(text) is not None
