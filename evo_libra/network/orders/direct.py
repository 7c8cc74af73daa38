"""The switches, links and groups of a dragonfly or a HyperX of an order.

A switch holds whole systems if its ports for NPUs take one, as switches of HPE Slingshot do. The ports of larger
systems are spread evenly over as few switches as take them. Each plane has a network of its own.

* Dragonfly (Kim, Dally, Scott and Abts, ISCA 2008). With a ratio r, a switch has p ports for NPUs, h = ceil(p / r)
  ports to other groups, and 2 h - 1 to the other switches of its group. At 1:1 it is balanced: a = 2 p = 2 h. There are
  two groups at least, of equal size. They are the largest that the systems fill and whose own links give NPUs 7/8 of
  what the ratios leave them. If they have fewer than 2 h switches, two of these have several links: as many as there
  are ports for, up to the links of a full group. Each two groups have as many links as their ports allow, over the
  ratio of groups.
* HyperX (Ahn, Binkert, Davis, McLaren and Schreiber, SC 2009) of two dimensions. A switch has T ports for NPUs, and K
  links to each other switch of its line of L, so that K L >= T / r; likewise in columns. The grid is the smallest that
  takes the systems. Its sides are as equal as can be, and none is more than twice the other.

A switch has as many ports for NPUs as these rules leave room for. Beyond its switch, an NPU has the part of its
bandwidth that the blocks `dragonfly` and `hyperx` give it, see `evo_libra.network.blocks.routers`: messages go by way
of third groups or switches, so that 1:1 leaves them half.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import ceil, inf, isqrt

from evo_libra.errors import InputError
from evo_libra.network.blocks.routers import group_share, line_share
from evo_libra.network.orders.order import Family, Order
from evo_libra.network.orders.ports import ports_of
from evo_libra.network.orders.products import ProductsSpec

DIRECT: tuple[Family, ...] = ("dragonfly", "hyperx")
"""Families whose switches are linked to each other."""


@dataclass(frozen=True)
class Direct:
    """A dragonfly or a HyperX, over all planes; a unit is a group of the one, or a line of the other.

    Attributes
    ----------
    family, planes : of the order.
    down, near, far : ports of a switch towards NPUs, towards switches of its unit, and towards those of other units.
    unit, units : switches of a unit, and units of a plane.
    near_links, far_links : links of two switches of a unit; of two groups, or of two switches of a column.
    spread : switches that the ports of a system are spread over.
    links : between NPUs and switches.
    leaf_systems, pod_systems : systems under a switch, at least 1, and in a unit.
    leaf_share, pod_share : what an NPU has of its bandwidth beyond its switch, and beyond its unit.
    uneven : whether switches or units hold different numbers of systems.
    """

    family: Family
    planes: int
    down: int
    near: int
    far: int
    unit: int
    units: int
    near_links: int
    far_links: int
    spread: int
    links: int
    leaf_systems: int
    pod_systems: int
    leaf_share: float
    pod_share: float
    uneven: bool = False

    @property
    def switches(self) -> int:
        """Switches of all planes."""
        return self.planes * self.unit * self.units

    @property
    def stages(self) -> tuple[tuple[str, int], ...]:
        """The switches, which have one role, with their groups or their grid in each plane."""
        shape = f"{self.units} groups of {self.unit}" if self.family == "dragonfly" else f"{self.unit} x {self.units}"
        return ((f"{self.family} switches, {shape}", self.switches),)

    @property
    def unit_links(self) -> int:
        """Links between switches of a unit."""
        return self.planes * self.units * _pairs(self.unit) * self.near_links

    @property
    def far_unit_links(self) -> int:
        """Links between switches of different units."""
        columns = 1 if self.family == "dragonfly" else self.unit
        return self.planes * columns * _pairs(self.units) * self.far_links

    @property
    def all_links(self) -> int:
        """Links of all kinds."""
        return self.links + self.unit_links + self.far_unit_links

    @property
    def passed(self) -> int:
        """Switches on the longest way, by way of third parts."""
        return 7 if self.family == "dragonfly" else 5


@dataclass(frozen=True)
class _Needs:
    """All that a network depends on; ends: ports of a system in a plane, lines: ports of an NPU there."""

    family: Family
    switch: str
    count: int
    npus: int
    active: int
    planes: int
    lines: int
    ports: int
    ratio: Fraction
    far_ratio: Fraction

    @property
    def ends(self) -> int:
        """Ports of a system in a plane."""
        return self.npus * self.lines

    def refusal(self, why: str) -> InputError:
        """Return why there is no such network."""
        return InputError(f"no {self.family} of {self.switch} joins {self.count * self.npus:,} NPUs: {why}")


@dataclass(frozen=True)
class _Switch:
    """A switch with some systems, or with a part of one: ports down, systems, and switches that share a system."""

    down: int
    held: int
    spread: int


def direct_of(order: Order, products: ProductsSpec) -> Direct:
    """Return the dragonfly or the HyperX of an order; an InputError where its switches have too few ports."""
    if order.uplink_Gbps is not None:
        raise InputError(f"links of a {order.family} have the rate of its NICs; uplinks of another rate are of trees")
    leaf, pod = ports_of(order, products)
    return _direct(
        _Needs(
            family=order.family, switch=order.switch or "", count=order.count, npus=order.npus, active=order.active,
            planes=order.planes, lines=order.ports // order.planes, ports=leaf.down, ratio=leaf.ratio,
            far_ratio=pod.ratio,
        )
    )  # fmt: skip


@lru_cache(maxsize=65536)
def _direct(needs: _Needs) -> Direct:
    if needs.count * needs.ends <= needs.ports:
        raise needs.refusal("one switch does")
    return _dragonfly(needs) if needs.family == "dragonfly" else _hyperx(needs)


def _switches(needs: _Needs) -> Iterator[_Switch]:
    """Yield switches with ever fewer ports down."""
    for held in range(needs.ports // needs.ends, 0, -1):
        yield _Switch(held * needs.ends, held, 1)
    for spread in range(2, needs.npus + 1):
        down = ceil(needs.npus / spread) * needs.lines
        if down < needs.ports:
            yield _Switch(down, 1, spread)


def _dragonfly(needs: _Needs) -> Direct:
    switch, far = _balanced(needs)
    unit, near = _group(needs, switch, far)
    groups = ceil(needs.count / (unit // switch.spread * switch.held))
    pair = int(unit * far / needs.far_ratio) // (groups - 1)
    if not pair:
        raise needs.refusal(f"a group has {int(unit * far / needs.far_ratio):,} links to {groups - 1:,} others")
    share = _group_share(needs, switch, unit, near=near, pair=pair) / _TWO
    return _built(
        needs, switch, unit=unit, units=groups, links=(near, pair), far=ceil(pair * (groups - 1) / unit),
        shares=(share, share),
    )  # fmt: skip


def _group(needs: _Needs, switch: _Switch, far: int) -> tuple[int, int]:
    """Return the switches of a group and the links of two of them: the largest group whose links suffice."""
    fewest = max(ceil(needs.count / (2 * far // switch.spread * switch.held)), _TWO)
    sizes = (ceil(ceil(needs.count / groups) / switch.held) * switch.spread for groups in range(fewest, 2 * fewest + 1))
    found = []
    for unit in dict.fromkeys(
        size for size in sizes if size >= _TWO and needs.count > size // switch.spread * switch.held
    ):
        near = min(ceil(Fraction(2 * far, unit)), (needs.ports - switch.down - far) // (unit - 1))
        found.append((unit, near))
    if not found:
        raise needs.refusal("it has two groups of two switches at least")
    enough = _NEARLY / max(float(needs.ratio * needs.far_ratio), 1.0)
    return next((one for one in found if _group_share(needs, switch, one[0], near=one[1]) >= enough), found[0])


def _group_share(needs: _Needs, switch: _Switch, unit: int, *, near: int, pair: float = inf) -> float:
    """Return the share of an all-to-all that the links in groups let through, and those between groups."""
    leaf = _npus(needs, switch)
    groups = needs.count * needs.active / (leaf * unit)
    return group_share(leaf, unit, groups, pair=pair / needs.lines, links=near / needs.lines)


def _balanced(needs: _Needs) -> tuple[_Switch, int]:
    """Return the switch of a dragonfly with the most ports down, and its ports to other groups."""
    if needs.far_ratio < 1:
        raise needs.refusal("the ratio of groups is 1:1 at least")
    for switch in _switches(needs):
        far = ceil(switch.down / needs.ratio)
        if switch.down + 3 * far - 1 <= needs.ports and 2 * far >= switch.spread:
            return switch, far
    raise needs.refusal("its switches have too few ports")


def _hyperx(needs: _Needs) -> Direct:
    for switch in _switches(needs):
        for line, lines in _grids(ceil(needs.count / switch.held) * switch.spread, switch.spread):
            near, far = (ceil(switch.down / (needs.ratio * side)) for side in (line, lines))
            if switch.down + near * (line - 1) + far * (lines - 1) > needs.ports:
                continue
            ways, leaf = ((line, near), (lines, far)), _npus(needs, switch)
            shares = [line_share(leaf, side, links / needs.lines) for side, links in ways]
            return _built(
                needs, switch, unit=line, units=lines, links=(near, far), far=far * (lines - 1),
                shares=(shares[0], min(shares)),
            )  # fmt: skip
    raise needs.refusal("no grid of two dimensions has enough ports")


def _grids(switches: int, spread: int) -> list[tuple[int, int]]:
    """Return grids that have some switches, whose lines have whole systems; the smallest first, then the most equal.

    >>> _grids(128, 1)[0], _grids(15, 1)[0], _grids(336, 3)[0]
    ((8, 16), (3, 5), (21, 16))
    """
    most = isqrt(2 * switches) + 2
    grids = [(line, ceil(switches / line)) for line in range(2, most + 1) if line % spread == 0]
    alike = [grid for grid in grids if min(grid) >= _TWO and max(grid) <= _TWO * min(grid)]
    return sorted(alike, key=lambda grid: (grid[0] * grid[1], abs(grid[0] - grid[1]), grid))


def _npus(needs: _Needs, switch: _Switch) -> float:
    """Return the NPUs in use at a switch."""
    return float(Fraction(switch.down * needs.active, needs.lines * needs.npus))


def _built(
    needs: _Needs,
    switch: _Switch,
    *,
    unit: int,
    units: int,
    links: tuple[int, int],
    far: int,
    shares: tuple[float, float],
) -> Direct:
    systems = unit // switch.spread * switch.held
    return Direct(
        family=needs.family, planes=needs.planes, down=switch.down, near=links[0] * (unit - 1), far=far, unit=unit,
        units=units, near_links=links[0], far_links=links[1], spread=switch.spread,
        links=needs.count * needs.ends * needs.planes, leaf_systems=switch.held, pod_systems=min(systems, needs.count),
        leaf_share=shares[0], pod_share=shares[1], uneven=bool(needs.count % switch.held or needs.count % systems),
    )  # fmt: skip


def _pairs(parts: int) -> int:
    return parts * (parts - 1) // 2


_TWO = 2
_NEARLY = 7 / 8
"""Links of a group suffice if NPUs have this part of what the ratios leave them."""
