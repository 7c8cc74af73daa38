"""Division of the ports of a switch into those down and those up."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache

from evo_libra.errors import InputError
from evo_libra.network.orders.modes import modes_of, switch_of
from evo_libra.network.orders.order import Order
from evo_libra.network.orders.products import ProductsSpec, SwitchModeSpec

_Mode = tuple[int, float, int]
"""Ports, their rate, and those of a cage."""


@dataclass(frozen=True)
class Ports:
    """Ports of a switch at a ratio.

    Attributes
    ----------
    switch : its name.
    down, up : ports in the mode of each, if it has no others; down_per_cage, up_per_cage : those of a cage.
    most : ports of mixed modes.
    rate : bandwidth of a port up over that of a port down.
    ratio : links down over links up, at the rates of both.
    """

    switch: str
    down: int
    up: int
    down_per_cage: int
    up_per_cage: int
    most: int
    rate: Fraction
    ratio: Fraction

    @cached_property
    def split(self) -> int:
        """The ports down: what the ratio leaves, or a little less where that makes uplinks whole."""
        down = math.floor(self.most * self.ratio / (self.ratio + 1))
        while down and not self._fits(down, self.ups(down)):
            down -= 1
        if not down:
            raise InputError(f"{self.switch} has no ports for a ratio of {float(self.ratio * self.rate):g}:1")
        whole = down - down % self.ratio.numerator
        return whole if _NEAR * whole >= (_NEAR - 1) * down else down

    def ups(self, down: int) -> int:
        """Return the uplinks of some ports down."""
        return math.ceil(down / self.ratio)

    def more_up(self, down: int) -> Iterator[int]:
        """Yield the numbers of uplinks beyond the ratio for which a leaf with some ports down has room, least first."""
        up = self.ups(down)
        while self._fits(down, up := up + 1):
            yield up

    def _fits(self, down: int, up: int) -> bool:
        """Return whether cages take some ports down and up; a cage has either."""
        cages = -(-down // self.down_per_cage) - (-up // self.up_per_cage)
        return cages <= self.down // self.down_per_cage and down + up <= self.most


def leaves_of_system(npus: int, ports: int, down: int) -> int:
    """Return the leaves that the NPUs of a system need, where a leaf has all ports of an NPU: a NIC has one cage.

    >>> leaves_of_system(72, 1, 64), leaves_of_system(72, 2, 83)
    (2, 2)
    """
    return -(-npus // max(down // ports, 1))


def ports_of(order: Order, products: ProductsSpec) -> tuple[Ports, Ports]:
    """Return the ports of leaves, and of the aggregation switches of pods."""
    modes, name = modes_of(order, products), order.switch or ""
    most = switch_of(order, products).max_ports or max(modes.down.ports, modes.up.ports)
    down, up = _mode(modes.down), _mode(modes.up)
    return _ports(name, order.leaf_ratio, down, up, most), _ports(name, order.pod_ratio, up, up, most)


def _mode(mode: SwitchModeSpec) -> _Mode:
    return mode.ports, mode.Gbps, mode.per_cage


@lru_cache(maxsize=4096)
def _ports(name: str, ratio: float, down: _Mode, up: _Mode, most: int) -> Ports:
    rate = Fraction(up[1]) / Fraction(down[1])
    links = Fraction(ratio).limit_denominator(_FINEST) * rate
    most = down[0] if down == up else most
    return Ports(
        switch=name, down=down[0], up=up[0], down_per_cage=down[2], up_per_cage=up[2], most=most, rate=rate, ratio=links
    )


_FINEST = 1000
"""The largest denominator of a ratio."""
_NEAR = 8
"""A leaf leaves an eighth of its ports down free, at most, so that its uplinks are a whole number."""
