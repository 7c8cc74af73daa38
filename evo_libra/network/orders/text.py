"""Texts of orders that need no catalogue: recognition of an order, its options, and reasons that are said once."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator

_ORDER = re.compile(r"\d+ +[A-Za-z]", re.ASCII)


def split_options(text: str) -> tuple[str, tuple[tuple[str, str], ...]]:
    """Return an order without the options that follow it, which say how its collectives run, and the options.

    >>> split_options("8 gb200-nvl72 / 1 x 400G / qm9700 tor 2:1 chunks=16")
    ('8 gb200-nvl72 / 1 x 400G / qm9700 tor 2:1', (('chunks', '16'),))
    """
    words = text.split()
    options = [(name, value) for name, equals, value in (word.partition("=") for word in words) if equals]
    return " ".join(word for word in words if "=" not in word), tuple(options)


def with_options(order: str, options: Iterable[tuple[str, str]]) -> str:
    """Return an order with the options that follow it.

    >>> with_options("1 gb200-nvl72", [("chunks", "16"), ("scheduler", "baseline")])
    '1 gb200-nvl72 chunks=16 scheduler=baseline'
    """
    return " ".join([order, *(f"{name}={value}" for name, value in options)])


def is_order(text: str) -> bool:
    """Return whether a design is written as an order, which begins with the number of systems that are bought.

    >>> is_order("112 gb300-nvl72 / 1 x 800G / q3450-ld fat tree 2:1"), is_order("SW(8)@nvlink4:450")
    (True, False)
    """
    return _ORDER.match(text) is not None


def said_once(reasons: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Yield each sentence once, after the names that it does not begin with.

    >>> list(said_once([("a", "b has no price"), ("b", "b has no price"), ("c", "c is rented")]))
    ['a: b has no price', 'c is rented']
    """
    names = defaultdict[str, list[str]](list)
    for name, sentence in reasons:
        names[sentence] += [] if sentence.startswith(f"{name} ") else [name]
    for sentence, some in names.items():
        yield ": ".join(filter(None, (", ".join(some), sentence)))
