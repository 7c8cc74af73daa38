"""Choices of a problem file that asks for an order, and the orders that it allows."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import Annotated, Literal, NamedTuple, TypeVar

from pydantic import BeforeValidator, Field

from evo_libra.errors import InputError, Mistake, unknown
from evo_libra.files.source import StrictModel
from evo_libra.network.catalog.parts_spec import MOST, Amount, Count, Rate
from evo_libra.network.catalog.technologies import Name
from evo_libra.network.orders.catalog import powered_products, priced_products
from evo_libra.network.orders.check import broken_by_network, broken_by_products, broken_by_room
from evo_libra.network.orders.circuits import OCS_RAILS
from evo_libra.network.orders.counts import AboutSpec, Npus, counts_of, no_count
from evo_libra.network.orders.limits import NO_LIMITS, Limits, limited_products
from evo_libra.network.orders.notation import read_ratio
from evo_libra.network.orders.order import APART, Order
from evo_libra.network.orders.products import NicModeSpec, OcsSpec, Price, ProductsSpec, SwitchSpec
from evo_libra.network.orders.reasons import Broken, Reasons, Stage, nearest_reason
from evo_libra.network.orders.text import said_once
from evo_libra.network.orders.topology import Topology, topology_of
from evo_libra.network.orders.tree import Tree

T = TypeVar("T")
Listed = Annotated[tuple[T, ...], Field(min_length=1)]


def _number_of(given: object) -> object:
    """Return a ratio that is written as bandwidth down and up, `16:15`, as a number."""
    if not isinstance(given, str) or ":" not in given:
        return given
    try:
        return read_ratio(given)
    except InputError as error:
        raise ValueError(str(error)) from None


Ratio = Annotated[float, BeforeValidator(_number_of, json_schema_input_type=float | str), Field(gt=0, le=MOST)]
Names = Name | Listed[Name]
CATALOG = "products-2026"
"""The catalogue of products where none is named."""

SeveralFamily = Literal["rail-optimised", "tor", "fat-tree", "rail-only", "dragonfly", "hyperx", "ocs-rails", "apart"]


class RatioChoices(StrictModel):
    """Bandwidth down over bandwidth up of each tier: a number, or both of them as in `16:15`."""

    leaf: Ratio | Listed[Ratio] = Field((1.0, 2.0), description="of leaves")
    pod: Ratio | Listed[Ratio] = Field((1.0, 7.0), description="of pods, where there are three tiers")


class FabricChoices(StrictModel):
    """The scale-out networks that a file allows; a list is a choice."""

    catalog: str = Field(CATALOG, description="name of a catalogue of products, or the path of a .yaml file")
    families: SeveralFamily | Listed[SeveralFamily] = Field(
        ("rail-optimised", "tor", "fat-tree"),
        description="families; rail-only, dragonfly, hyperx, ocs-rails and apart where they are named; systems apart "
        "have no network between them, and each answers requests alone",
    )
    switches: Names | None = Field(
        None, description="switches, packet or circuit; all of a kind where none of it is named"
    )
    ratio: RatioChoices = Field(default_factory=RatioChoices, description="oversubscription")
    planes: Count | Listed[Count] | None = Field(
        None, description="planes; one, and one for each port of a NIC, when left out"
    )
    rack_systems: Count | Listed[Count] | None = Field(
        None, description="systems of a rack of tor; as many as it takes with its leaves when left out"
    )
    uplinks: Rate | Listed[Rate] | None = Field(
        None, description="Gb/s of links between switches; those of the NICs when left out"
    )
    cables: Names | None = Field(None, description="cables; all of the catalogue when left out")


class OrderChoices(StrictModel):
    """The orders that a file allows; a list is a choice."""

    systems: Names = Field(description="systems of the catalogue")
    npus: Npus = Field(description="NPUs in use, or several numbers, or a number with a share by which it may differ")
    nics: Names | None = Field(None, description="NICs; those in the price of a system when left out")
    fabric: FabricChoices = Field(default_factory=FabricChoices, description="the scale-out network")
    limits: Limits = Field(NO_LIMITS, description="what the buyer accepts")
    without: tuple[Name, ...] = Field((), description="rules of the catalogue whose lines are left out of bills")
    rent: dict[Name, Rate] = Field(
        default_factory=dict, description="USD per NPU and hour of rented systems; those of the catalogue when left out"
    )
    prices: dict[Name, Price] = Field(
        default_factory=dict, description="USD of products; those of the catalogue when left out"
    )
    powers: dict[Name, Amount] = Field(
        default_factory=dict, description="W of a piece under load; those of the catalogue when left out"
    )

    @property
    def stated_npus(self) -> int:
        """The number of NPUs that the file states; the largest of several."""
        if isinstance(self.npus, AboutSpec):
            return self.npus.about
        return max(listed(self.npus))


@dataclass(frozen=True)
class OrdersOffered:
    """The orders that a file allows and a vendor accepts, and a reason for each named product that is on none."""

    orders: tuple[Order, ...]
    reasons: tuple[str, ...]


class _Fabric(NamedTuple):
    """A choice of each part of a scale-out network."""

    planes: int
    family: SeveralFamily
    switch: str
    leaf_ratio: float
    pod_ratio: float
    uplink_Gbps: float | None
    rack_systems: int | None


def orders_of(choices: OrderChoices, products: ProductsSpec, *, priced: bool = False) -> OrdersOffered:
    """Return the orders that a file allows and a vendor accepts, with the reasons of what is left out.

    If they are `priced`, products without a price are left out. Bills and trees of the orders take the catalogue
    that `offered_products` returns.

    Raises
    ------
    InputError : the file names products that the catalogue does not have, or too many numbers of NPUs.
    """
    _refuse_unknown(choices, products)
    own = offered_products(choices, products)
    offered: list[Order] = []
    reasons: Reasons = defaultdict(Counter)
    for order, broken in _checked(choices, own, priced=priced):
        if broken is None:
            offered.append(order)
            continue
        for name in (order.system, order.nic, order.switch, order.family):
            reasons[name or ""][broken] += 1
    return OrdersOffered(tuple(offered), tuple(said_once(_left_out(choices, own, offered, reasons))))


def offered_products(choices: OrderChoices, products: ProductsSpec) -> ProductsSpec:
    """Return the catalogue with the cables that a file names, and racks of its limits; bills of its orders take it."""
    limited = limited_products(products, choices.limits)
    if choices.fabric.cables is None:
        return limited
    cables = {name: products.cables[name] for name in listed(choices.fabric.cables)}
    return limited.model_copy(update={"cables": cables})


def listed(values: T | tuple[T, ...]) -> tuple[T, ...]:
    """Return the values of a choice."""
    return values if isinstance(values, tuple) else (values,)


_MOST_COUNTS = 500
"""The most numbers of systems, each with all its networks, that are checked in a minute or two."""

_MAPS = ("rent", "prices", "powers")


def _refuse_unknown(choices: OrderChoices, products: ProductsSpec) -> None:
    fabric = choices.fabric
    rented = [name for name, system in products.systems.items() if system.order == "rent"]
    suppliers = {one.supplier for group in ("systems", "nics", "switches") for one in getattr(products, group).values()}
    named = (
        ("system", "systems", choices.systems, products.systems),
        ("NIC", "nics", choices.nics, products.nics),
        ("switch", "fabric.switches", fabric.switches, {**products.switches, **products.ocs}),
        ("cable", "fabric.cables", fabric.cables, products.cables),
        ("rule", "without", choices.without, products.rules),
        ("rented system", "rent", tuple(choices.rent), rented),
        ("product", "prices", tuple(choices.prices), priced_products(products)),
        ("product with a power", "powers", tuple(choices.powers), powered_products(products)),
        ("supplier", "limits.suppliers", choices.limits.suppliers, sorted(suppliers - {""})),
    )
    mistakes = [
        Mistake(
            unknown(kind, name, allowed),
            key=f"{key}[{index}]" if isinstance(names, tuple) and key not in _MAPS else key,
        )
        for kind, key, names, allowed in named
        for index, name in enumerate(listed(names or ()))
        if name not in allowed
    ]
    if mistakes:
        raise InputError(mistakes)
    counts = sum(len(counts_of(products.systems[name], choices.npus)) for name in listed(choices.systems))
    if counts > _MOST_COUNTS:
        message = f"allows {counts:,} numbers of systems, and {_MOST_COUNTS} at most can be tried; allow fewer NPUs"
        raise InputError(Mistake(message, key="npus"))


def _candidates(choices: OrderChoices, products: ProductsSpec) -> Iterator[Order]:
    """Yield every order that a file allows, whether a vendor accepts it or not."""
    for name in listed(choices.systems):
        system = products.systems[name]
        nics = listed(choices.nics) if choices.nics is not None else system.nics
        for size in counts_of(system, choices.npus):
            order = Order(name, size.count, size.npus, size.active)
            if size.count == 1 or not system.nics:
                yield replace(order, family="none" if system.nics else "slice")
                continue
            yield from _joined(order, nics, choices.fabric, products)
            if APART in listed(choices.fabric.families):
                yield replace(order, family=APART)


def _joined(order: Order, nics: tuple[str, ...], choices: FabricChoices, products: ProductsSpec) -> Iterator[Order]:
    for nic in nics:
        for mode in products.nics[nic].modes:
            for fabric in _fabrics(choices, mode, products):
                yield replace(order, nic=nic, ports=mode.ports, Gbps=mode.Gbps, **fabric._asdict())


def _fabrics(choices: FabricChoices, mode: NicModeSpec, products: ProductsSpec) -> Iterator[_Fabric]:
    """Yield every scale-out network for the ports of a NIC."""
    planes = dict.fromkeys(listed((1, mode.ports) if choices.planes is None else choices.planes))
    uplinks = [None if rate == mode.Gbps else rate for rate in listed(choices.uplinks or mode.Gbps)]
    ratios = listed(choices.ratio.leaf), listed(choices.ratio.pod)
    whole, packets = ([1.0], [1.0], [None]), (*ratios, uplinks)
    racks = listed(choices.rack_systems)
    families = [family for family in listed(choices.families) if family != APART]
    for number, family in product(planes, families):
        circuits = family == OCS_RAILS
        switches = _named(choices, products.ocs if circuits else products.switches)
        own = racks if family == "tor" else [None]
        parts = ([number], [family], switches, *(whole if circuits else packets), own)
        yield from map(_Fabric._make, product(*parts))


def _named(choices: FabricChoices, kind: Mapping[str, SwitchSpec] | Mapping[str, OcsSpec]) -> list[str]:
    """Return the switches of a kind that a file names; all of the kind where it names none."""
    return [name for name in listed(choices.switches or ()) if name in kind] or list(kind)


def _checked(choices: OrderChoices, products: ProductsSpec, *, priced: bool) -> Iterator[tuple[Order, Broken | None]]:
    """Yield orders with the rule that they break, without those that build what an earlier one does."""
    limits, known, seen = choices.limits, dict[Order, list[str]](), set[tuple[Order, Topology]]()
    for order in _candidates(choices, products):
        # Products go together or not, whatever the ratios and the number of systems.
        alike = order if order.switch is None else replace(order, count=2, leaf_ratio=1.0, pod_ratio=1.0)
        if alike not in known:
            known[alike] = broken_by_products(order, products, limits)
        if known[alike]:
            yield order, Broken(Stage.PRODUCTS, known[alike][0])
            continue
        tree = _tree(order, products)
        plain = order if tree is None else _without_missing_tiers(order, tree)
        if tree is not None:
            built = built_of(plain, tree)
            if built in seen:
                continue
            seen.add(built)
        yield plain, _broken(plain, products, choices, priced=priced)


def _broken(order: Order, products: ProductsSpec, choices: OrderChoices, *, priced: bool) -> Broken | None:
    """Return the rule that an order of sound products breaks, if any."""
    if network := broken_by_network(order, products):
        return Broken(Stage.NETWORK, network[0])
    room = broken_by_room(order, products, choices.limits, priced=priced, without=choices.without)
    return Broken(Stage.ROOM, room[0]) if room else None


def _tree(order: Order, products: ProductsSpec) -> Topology | None:
    """Return the switches of an order; None where they do not have ports for its NPUs."""
    try:
        return topology_of(order, products)
    except InputError:
        return None


def _without_missing_tiers(order: Order, tree: Topology) -> Order:
    if not isinstance(tree, Tree):
        return order if order.family == "dragonfly" else replace(order, pod_ratio=1.0)
    if tree.tiers < 2:  # noqa: PLR2004 - spines are the second tier
        return replace(order, leaf_ratio=1.0, pod_ratio=1.0, uplink_Gbps=None)
    return order if tree.tiers > 2 else replace(order, pod_ratio=1.0)  # noqa: PLR2004 - cores are the third


def built_of(order: Order, tree: Topology) -> tuple[Order, Topology]:
    """Return what is the same of all orders that one tree joins: leaves without spines are no matter of rails."""
    one_tier = isinstance(tree, Tree) and tree.tiers == 1 and order.family == "rail-optimised"
    return replace(order, leaf_ratio=1.0, pod_ratio=1.0, family="fat-tree" if one_tier else order.family), tree


def _left_out(
    choices: OrderChoices, products: ProductsSpec, orders: list[Order], broken: Reasons
) -> Iterator[tuple[str, str]]:
    """Yield each system, NIC, switch and family that a file names and no order has, with its reason."""
    joined = any(order.switch for order in orders)
    for name in listed(choices.systems):
        if not any(order.system == name for order in orders):
            missing = no_count(products.systems[name], choices.npus)
            yield name, _reason(name, broken, joined=joined) if name in broken else missing
    bought = {order.nic for order in orders} | {order.switch for order in orders}
    for name in (*listed(choices.nics or ()), *listed(choices.fabric.switches or ())):
        if name not in bought:
            yield name, _reason(name, broken, joined=joined)
    for family in listed(choices.fabric.families) if "families" in choices.fabric.model_fields_set else ():
        if not any(order.family == family for order in orders):
            yield family, _reason(family, broken, joined=joined)


def _reason(name: str, broken: Reasons, *, joined: bool) -> str:
    """Return why no order has a name."""
    if name not in broken and joined:
        return "its networks are those of another family of the file"
    if name not in broken:
        return "no number of several systems makes up the NPUs, so nothing needs switches"
    return nearest_reason(name, broken)
