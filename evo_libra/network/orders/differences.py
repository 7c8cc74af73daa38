"""Choices in which two orders differ, and the values of a choice."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from evo_libra.errors import suggestion
from evo_libra.network.orders.notation import FAMILY_NAMES, mode_text, rate_text, ratio_text
from evo_libra.network.orders.order import APART, Order

CHOICES: Mapping[str, tuple[str, ...]] = {
    "system": ("system",), "NPUs": ("count", "npus", "active"), "ports": ("nic", "ports", "Gbps"),
    "planes": ("planes",), "switch": ("switch",), "family": ("family",), "leaf ratio": ("leaf_ratio",),
    "pod ratio": ("pod_ratio",), "uplinks": ("uplink_Gbps",),
    "systems of a rack": ("rack_systems",),
}  # fmt: skip
"""Choices of an order, by the fields that say which one it is."""


_UNSTATED = {"uplinks": "those of the ports", "systems of a rack": "as many as fit"}
"""Values of choices that an order does not state; there is none of others."""


def differing(one: Order, other: Order) -> list[str]:
    """Return the choices in which two orders differ."""
    return [name for name, keys in CHOICES.items() if any(getattr(one, key) != getattr(other, key) for key in keys)]


def value_of(order: Order, choice: str) -> str:
    """Return the value of a choice as the notation writes it.

    >>> order = Order("hgx-b300", 32, 8, 8, nic="cx8", ports=2, Gbps=400.0, family="fat-tree", leaf_ratio=2.0)
    >>> [value_of(order, choice) for choice in ("NPUs", "ports", "family", "leaf ratio", "uplinks")]
    ['32 x 8', '2 x 400G of cx8', 'fat tree', '2:1', 'those of the ports']
    """
    if choice == "NPUs":
        spare = "" if order.active == order.npus else f" ({order.active} active)"
        return f"{order.count} x {order.npus}{spare}"
    if choice == "ports":
        return f"{mode_text(order.ports, order.Gbps)} of {order.nic}" if order.nic else "none"
    if choice == "family":
        return order.family if order.family == APART else FAMILY_NAMES.get(order.family, "none")
    if choice in ("leaf ratio", "pod ratio"):
        return ratio_text(order.leaf_ratio if choice == "leaf ratio" else order.pod_ratio)
    value = getattr(order, CHOICES[choice][0])
    if choice == "uplinks" and value is not None:
        return rate_text(value)
    return _UNSTATED.get(choice, "none") if value is None else str(value)


def not_among(order: Order, allowed: Sequence[Order]) -> str:
    """Return in which choices an order is none of those that are allowed, with the values that each may have.

    They are the choices in which it differs from the nearest ones, whose values are allowed with the rest of it.
    """
    fewest = min(len(differing(order, other)) for other in allowed)
    nearest = [(other, names) for other in allowed if len(names := differing(order, other)) == fewest]
    choices = dict.fromkeys(name for _, names in nearest[:1] for name in names)
    alike = [other for other, names in nearest if names == list(choices)]
    return "; ".join(_allowed(choice, value_of(order, choice), alike) for choice in choices)


def _allowed(choice: str, found: str, orders: Iterable[Order]) -> str:
    values = list(dict.fromkeys(value_of(one, choice) for one in orders))
    near = suggestion(found, values) if choice in ("system", "switch", "family") else ""
    return f"{choice} {found}, where the file allows {', '.join(values)}{near}"
