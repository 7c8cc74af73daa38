"""Figures for reading: times and amounts in the units that suit them."""

from __future__ import annotations

import math
from collections.abc import Sequence

_UNITS = (
    ("ns", 1e-6, 1e-3), ("us", 1e-3, 1.0), ("ms", 1.0, 1e4), ("s", 1e3, 6e5), ("min", 6e4, 3.6e7),
    ("h", 3.6e6, 1.728e8), ("d", 8.64e7, 6.3e10), ("years", 3.15576e10, math.inf),
)  # fmt: skip
"""Units of time with their milliseconds, and the milliseconds from which on the next one reads better."""


def time_unit(milliseconds: float) -> tuple[str, float]:
    """Return the unit in which a time reads best, and its milliseconds.

    >>> time_unit(0.0002), time_unit(58.098), time_unit(1.2e11)
    (('ns', 1e-06), ('ms', 1.0), ('years', 31557600000.0))
    """
    return next(((name, size) for name, size, end in _UNITS if milliseconds < end), ("ms", 1.0))


def time_text(milliseconds: float) -> str:
    """Return a time for reading, in a unit that suits it.

    >>> time_text(58.0981), time_text(12_345), time_text(0.25)
    ('58.098 ms', '12.345 s', '250 us')
    """
    name, size = time_unit(milliseconds)
    return f"{milliseconds / size:.5g} {name}"


_MONEY = (("USD", 1.0, 1e4), ("kUSD", 1e3, 1e6), ("MUSD", 1e6, 1e10), ("GUSD", 1e9, math.inf))
"""Units of money with their USD, and the USD from which on the next one reads better."""


def money_unit(usd: float) -> tuple[str, float]:
    """Return the unit in which an amount reads best, and its USD.

    >>> money_unit(512.5), money_unit(-2.4e5), money_unit(3.2e8)
    (('USD', 1.0), ('kUSD', 1000.0), ('MUSD', 1000000.0))
    """
    return next(((name, size) for name, size, end in _MONEY if abs(usd) < end), _MONEY[-1][:2])


def money_text(usd: float, digits: int = 4) -> str:
    """Return an amount for reading.

    >>> money_text(23_998_555.2), money_text(4_123_000, 2), money_text(8_961, 3)
    ('24 MUSD', '4.1 MUSD', '8,961 USD')
    """
    name, size = money_unit(usd)
    amount = usd / size
    return f"{amount:,.0f} {name}" if abs(amount) >= 10**digits else f"{amount:.{digits}g} {name}"


def reading_unit(column: str, values: Sequence[float]) -> tuple[str, float]:
    """Return the unit in which a column of times or amounts reads best, and its size; of others, no unit and 1.

    >>> reading_unit("time_ms", [900.0, 12_000.0]), reading_unit("npus", [8.0])
    (('s', 1000.0), ('', 1.0))
    """
    middle = sorted(values)[len(values) // 2] if values else 0.0
    if column.endswith("_ms"):
        return time_unit(middle)
    return money_unit(middle) if column.endswith("_usd") else ("", 1.0)


def number(value: float) -> str:
    """Return a figure for reading."""
    return f"{value:,.0f}" if abs(value) >= 1e5 else f"{value:.5g}"  # noqa: PLR2004 - large figures read better whole
