"""Rates of tokens as a user writes them."""

from __future__ import annotations

import re
from collections.abc import Callable

from evo_libra.errors import InputError

_RATE = re.compile(r"(\d+(?:\.\d*)?|\.\d+)\s*([kM]?)(?:tokens?/s|(requests?/s))?")
_SIZES = {"": 1.0, "k": 1e3, "M": 1e6}


def tokens_per_second(text: str, answer: Callable[[], float]) -> float:
    """Return the tokens of answers per second; an `InputError` says that a text is no rate.

    Parameters
    ----------
    answer : returns the tokens of an answer, which requests need.

    >>> tokens_per_second("5Mtoken/s", lambda: 0.0), tokens_per_second("20 requests/s", lambda: 500.0)
    (5000000.0, 10000.0)
    """
    match = _RATE.fullmatch(text.strip())
    if match is None or not float(match[1]):
        raise InputError(
            f"found '{text}'; tokens or requests per second above 0 are needed, such as 5Mtoken/s or 20request/s"
        )
    return float(match[1]) * _SIZES[match[2]] * (answer() if match[3] else 1.0)
