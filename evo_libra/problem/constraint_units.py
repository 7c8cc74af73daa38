"""Units of constraints."""

from __future__ import annotations

import re

_SIZES: dict[str, dict[str, float]] = {
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
UNITS = {unit: (kind, size) for kind, sizes in _SIZES.items() for unit, size in sizes.items()}
"""Units of constraints: the kind of each unit, and its size in SI."""


def units_of(kind: str) -> str:
    """Return the units of one kind, as sentences list them.

    >>> units_of("power")
    'W, kW, MW'
    """
    return ", ".join(_SIZES[kind])


def unit_in(text: str, kind: str) -> tuple[str, float]:
    """Return the last unit of a kind that a constraint is written with, and its size in SI; the first one for none.

    >>> unit_in("memory <= 76 GB", "memory"), unit_in("bw[0] >= bw[1]", "bandwidth")
    (('GB', 1000000000.0), ('TB/s', 1000000000000.0))
    """
    sizes = _SIZES[kind]
    found = re.findall("|".join(rf"(?<![A-Za-z/]){re.escape(unit)}(?![A-Za-z/])" for unit in sizes), text)
    unit = found[-1] if found else next(iter(sizes))
    return unit, sizes[unit]
