"""The notation of orders: an order as one line of text, and the order that such a line states.

``112 gb300-nvl72 / 2 x 400G / 2 planes / sn5600 rail-optimised 1:1 pods 7:1 uplinks 800G`` is the longest form. Number
and system come first, with the NPUs of one where it has several sizes, and with those in use where others are spare.
Then come the ports of an NPU, with the NIC where the system takes several that have them; the planes where there are
several; and the switch, the family, the ratio of leaves, and what of the rest is not the default. A dragonfly has the
ratio of its groups as ``pods``, and ``tor of 2`` has two systems in a rack, however many more it takes. Optical rails
have no ratios: ``16 hgx-h100 / 1 x 400G / polatis-192 ocs rails``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from fractions import Fraction
from typing import NamedTuple, cast

from evo_libra.errors import InputError, printable, shortened, unknown
from evo_libra.network.orders.circuits import OCS_RAILS
from evo_libra.network.orders.order import APART, Family, Order
from evo_libra.network.orders.products import ProductsSpec, SystemSpec

FAMILY_NAMES: dict[Family, str] = {
    "rail-only": "rail-only",
    "rail-optimised": "rail-optimised",
    "tor": "tor",
    "fat-tree": "fat tree",
    "dragonfly": "dragonfly",
    "hyperx": "hyperx",
    "ocs-rails": "ocs rails",
}
"""Families that have switches, as the notation writes them."""

_EXAMPLE = "112 gb300-nvl72 / 2 x 400G / 2 planes / sn5600 rail-optimised 1:1"
_LONGEST_EXAMPLE = "sn5600 rail-optimised 1:1 pods 7:1 uplinks 800G"
_REST = re.compile(r"(pods|uplinks) ")
_COUNT, _FIGURE = r"[1-9]\d{0,8}", r"\d[\d.e+-]*"
_SYSTEM = re.compile(rf"({_COUNT}) (\S+)(?: \(({_COUNT}) active\))?")
_MODE = re.compile(rf"(?:(\S+) )?({_COUNT}) x ({_FIGURE})([GT])")
_PLANES = re.compile(rf"({_COUNT}) planes?")
_RATIO = rf"({_FIGURE}:{_FIGURE})"
_FABRIC = re.compile(
    rf"(\S+) (\D+?)(?: of ({_COUNT}))?(?: {_RATIO})?(?: pods {_RATIO})?(?: uplinks ({_FIGURE})([GT]))?"
)
_SIZED = re.compile(rf"(.+)-({_COUNT})")
_LONGEST_RATIO = 4
_BITS = 8.0
_MAX_DENOMINATOR = 4096


class _Ports(NamedTuple):
    nic: str
    ports: int
    Gbps: float


def written(order: Order, products: ProductsSpec) -> str:
    """Return the notation of an order."""
    system = products.systems[order.system]
    size = "" if system.sizes == (order.npus,) else f"-{order.npus}"
    spare = "" if order.active == order.npus else f" ({order.active} active)"
    head = f"{order.count} {order.system}{size}{spare}"
    if order.nic is None or order.switch is None:
        return head
    named = _carriers(system, mode_text(order.ports, order.Gbps), products) != [order.nic]
    mode = f"{order.nic} " if named else ""
    planes = [f"{order.planes} planes"] if order.planes > 1 else []
    return " / ".join([head, f"{mode}{mode_text(order.ports, order.Gbps)}", *planes, _fabric(order, order.switch)])


def mode_text(ports: int, rate: float) -> str:
    """Return the ports of a NIC or a switch.

    >>> mode_text(2, 400.0)
    '2 x 400G'
    """
    return f"{ports} x {rate_text(rate)}"


def rate_text(rate: float) -> str:
    """Return a rate in Gb/s.

    >>> rate_text(400.0), rate_text(1600.0), rate_text(2.5)
    ('400G', '1600G', '2.5G')
    """
    return f"{_figure(rate)}G"


def ratio_text(ratio: float) -> str:
    """Return bandwidth down over bandwidth up.

    >>> ratio_text(2.0), ratio_text(0.5), ratio_text(128 / 60)
    ('2:1', '0.5:1', '32:15')
    """
    if len(_figure(ratio)) <= _LONGEST_RATIO:
        return f"{_figure(ratio)}:1"
    parts = Fraction(ratio).limit_denominator(_MAX_DENOMINATOR)
    exact = parts.numerator / parts.denominator == ratio
    return f"{parts.numerator}:{parts.denominator}" if exact else f"{_figure(ratio)}:1"


def read_order(text: str, products: ProductsSpec) -> Order:
    """Return the order that a notation states; `violations` says whether a vendor would accept it.

    Raises
    ------
    InputError : the text is no notation of an order, or names a product that the catalogue does not have.
    """
    parts = [" ".join(part.split()) for part in text.split("/")]
    order = _read_systems(parts[0], products)
    if len(parts) == 1:
        return order
    if _REST.match(parts[-1]):
        raise InputError(f"'{shortened(parts[-1])}' follows the ratio without a slash, such as '{_LONGEST_EXAMPLE}'")
    if len(parts) not in {3, 4}:
        raise _refusal(text, "an order", _EXAMPLE)
    planes = _matched(_PLANES, parts[2], "a number of planes", "2 planes") if len(parts[1:]) > 2 else None  # noqa: PLR2004 - mode, planes, switch
    ports = _read_ports(parts[1], order.system, products)
    return _joined(order, ports, int(planes[1]) if planes else 1, _read_fabric(parts[-1], products))


class _Fabric(NamedTuple):
    switch: str
    family: Family
    leaf_ratio: float
    pod_ratio: float
    uplink_Gbps: float | None
    rack_systems: int | None


def _joined(order: Order, ports: _Ports, planes: int, fabric: _Fabric) -> Order:
    return Order(
        system=order.system,
        count=order.count,
        npus=order.npus,
        active=order.active,
        planes=planes,
        **ports._asdict(),
        **fabric._asdict(),
    )


def _read_systems(text: str, products: ProductsSpec) -> Order:
    match = _matched(_SYSTEM, text, "a number of systems", "112 gb300-nvl72")
    name, npus = _read_name(match[2], products)
    count = int(match[1])
    family: Family = ("none" if count == 1 else APART) if products.systems[name].nics else "slice"
    return Order(system=name, count=count, npus=npus, active=int(match[3] or npus), family=family)


def _read_name(text: str, products: ProductsSpec) -> tuple[str, int]:
    """Return a system and the NPUs of one."""
    sized = _SIZED.fullmatch(text)
    if text not in products.systems and sized and sized[1] in products.systems:
        return sized[1], int(sized[2])
    if text not in products.systems:
        raise InputError(unknown("system", text, products.systems))
    sizes = products.systems[text].sizes
    if len(sizes) > 1:
        names = ", ".join(f"{text}-{size}" for size in sizes)
        raise InputError(f"{text} has several sizes; allowed: {names}")
    return text, sizes[0]


def _read_ports(text: str, name: str, products: ProductsSpec) -> _Ports:
    match = _matched(_MODE, text, "a mode of a NIC", "2 x 400G")
    ports, rate = int(match[2]), _read_rate(match[3], match[4])
    if match[1] and match[1] not in products.nics:
        raise InputError(unknown("NIC", match[1], products.nics))
    return _Ports(match[1] or _only_nic(name, mode_text(ports, rate), products), ports, rate)


def _only_nic(name: str, mode: str, products: ProductsSpec) -> str:
    """Return the NIC of a system that has a mode."""
    system = products.systems[name]
    carriers = _carriers(system, mode, products)
    if len(carriers) > 1:
        raise InputError(
            f"{name} takes several NICs with {mode}; name one: {' or '.join(f'{nic} {mode}' for nic in carriers)}"
        )
    if not carriers:
        raise InputError(f"{name} takes no NIC with {mode}; allowed: {', '.join(_carried(system, products)) or 'none'}")
    return carriers[0]


def _carriers(system: SystemSpec, mode: str, products: ProductsSpec) -> list[str]:
    """Return the NICs in the price of a system that have a mode; a NIC in their place is always named."""
    return [nic for nic in system.nics if f"{nic} {mode}" in _offers(system.nics, products)]


def _carried(system: SystemSpec, products: ProductsSpec) -> list[str]:
    """Return the NICs that a system has or takes in their place, each with each of its modes that a slot carries."""
    most = math.inf if system.slots is None else system.slots.GBps * _BITS
    known = [nic for nic in system.fitting if nic in products.nics]
    modes = [(nic, mode) for nic in known for mode in products.nics[nic].modes if mode.ports * mode.Gbps <= most]
    return [f"{nic} {mode_text(mode.ports, mode.Gbps)}" for nic, mode in modes]


def _offers(nics: Iterable[str], products: ProductsSpec) -> list[str]:
    """Return NICs, each with each of its modes."""
    known = [nic for nic in nics if nic in products.nics]
    return [f"{nic} {mode_text(mode.ports, mode.Gbps)}" for nic in known for mode in products.nics[nic].modes]


def _fabric(order: Order, switch: str) -> str:
    pods = f" pods {ratio_text(order.pod_ratio)}" if order.pod_ratio != 1 else ""
    uplinks = f" uplinks {rate_text(order.uplink_Gbps)}" if order.uplink_Gbps is not None else ""
    leaves = "" if order.family == OCS_RAILS and order.leaf_ratio == 1 else f" {ratio_text(order.leaf_ratio)}"
    racks = f" of {order.rack_systems}" if order.rack_systems is not None else ""
    return f"{switch} {FAMILY_NAMES[order.family]}{racks}{leaves}{pods}{uplinks}"


def _read_fabric(text: str, products: ProductsSpec) -> _Fabric:
    match = _matched(_FABRIC, text, "a switch with a family", "sn5600 rail-optimised 1:1")
    family = match[2].replace(" ", "-")
    if family not in FAMILY_NAMES:
        raise InputError(unknown("family", match[2], FAMILY_NAMES.values()))
    kind, switches = ("optical circuit switch", products.ocs) if family == OCS_RAILS else ("switch", products.switches)
    if match[1] not in switches:
        raise InputError(unknown(kind, match[1], switches))
    uplinks = _read_rate(match[6], match[7]) if match[6] else None
    leaf, pod = (read_ratio(ratio or "1:1") for ratio in (match[4], match[5]))
    racks = int(match[3]) if match[3] else None
    return _Fabric(match[1], cast("Family", family), leaf, pod, uplink_Gbps=uplinks, rack_systems=racks)


def _read_rate(figure: str, unit: str) -> float:
    rate = _read_figure(figure)
    return rate * 1000 if unit == "T" else rate


def read_ratio(text: str) -> float:
    """Return bandwidth down over bandwidth up, as `ratio_text` writes them; an `InputError` where they are no numbers.

    >>> read_ratio("16:10")
    1.6
    """
    down, _, up = text.partition(":")
    return _read_figure(down) / _read_figure(up)


def _read_figure(text: str) -> float:
    try:
        figure = float(text)
    except ValueError:
        figure = 0.0
    if not 0 < figure <= 1e9:  # noqa: PLR2004 - more than any rate or ratio
        raise InputError(f"found '{text}', a number above 0 is needed")
    return figure


def _figure(value: float) -> str:
    return repr(float(value)).removesuffix(".0")


def _matched(pattern: re.Pattern[str], text: str, kind: str, example: str) -> re.Match[str]:
    match = pattern.fullmatch(text)
    if match is None:
        raise _refusal(text, kind, example)
    return match


def _refusal(text: str, kind: str, example: str) -> InputError:
    return InputError(f"found '{shortened(printable(text), 80)}', {kind} is needed, such as '{example}'")
