"""The check of an order: a sentence for each rule that a vendor would refuse it by."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import ceil

from evo_libra.errors import InputError, counted
from evo_libra.network.orders.bill import bill_of
from evo_libra.network.orders.check_products import WITHOUT_SWITCHES, product_violations, unknown_products
from evo_libra.network.orders.direct import Direct
from evo_libra.network.orders.direct_layout import topology_layout
from evo_libra.network.orders.limits import NO_LIMITS, Limits, limited_products
from evo_libra.network.orders.lines import Line
from evo_libra.network.orders.modes import Modes, modes_of, switch_of
from evo_libra.network.orders.notation import FAMILY_NAMES, rate_text, ratio_text
from evo_libra.network.orders.order import Order
from evo_libra.network.orders.products import ProductsSpec, SwitchSpec
from evo_libra.network.orders.topology import Topology, topology_of
from evo_libra.network.orders.tor_racks import most_of_rack, systems_of_rack
from evo_libra.network.orders.tree import Tree

_SPINES, _CORES = 2, 3
"""Tiers of a network with spines, and with cores."""


def violations(
    order: Order,
    products: ProductsSpec,
    limits: Limits = NO_LIMITS,
    *,
    priced: bool = False,
    without: Iterable[str] = (),
) -> list[str]:
    """Return a sentence for each rule that an order breaks; an empty list for one that a vendor would accept.

    Rules of the network are tried where the products break none, and those of the room where the network breaks none.

    Parameters
    ----------
    order, products, limits : the order, the catalogue, and what the buyer accepts.
    priced : whether its cost is asked, so that each line of its bill needs a price.
    without : rules of the catalogue whose lines are left out of the bill.
    """
    products = limited_products(products, limits)
    return (
        broken_by_products(order, products, limits)
        or broken_by_network(order, products)
        or broken_by_room(order, products, limits, priced=priced, without=without)
    )


def broken_by_products(order: Order, products: ProductsSpec, limits: Limits) -> list[str]:
    """Return a sentence for each rule that an order breaks whatever its ratios and however many systems it has."""
    return list(unknown_products(order, products)) or list(product_violations(order, products, limits))


def broken_by_network(order: Order, products: ProductsSpec) -> list[str]:
    """Return a sentence for each rule that the network of an order breaks, whose products break none.

    Links that no cable reaches are among them, and switches without the power that their racks need.
    """
    try:
        tree = topology_of(order, products)
        broken = list(_network(order, tree, products))
        if tree.switches and not broken:
            topology_layout(order, tree, products)
    except InputError as error:
        return [str(mistake) for mistake in error.mistakes]
    return broken


def broken_by_room(
    order: Order, products: ProductsSpec, limits: Limits, *, priced: bool = False, without: Iterable[str] = ()
) -> list[str]:
    """Return a sentence for power that a room does not have, and for products without a price, of a sound network."""
    try:
        return list(_room(order, products, limits, priced=priced, without=frozenset(without)))
    except InputError as error:
        return [str(mistake) for mistake in error.mistakes]


def _network(order: Order, tree: Topology, products: ProductsSpec) -> Iterator[str]:
    if order.family in WITHOUT_SWITCHES or order.switch is None:
        return
    modes = modes_of(order, products)
    yield from _stated_racks(order, products)
    if not isinstance(tree, Tree):
        yield from _linked(order, tree, modes)
        return
    yield from _tiers(order, tree)
    yield from _cages(order, tree, modes, switch_of(order, products))
    yield from _spines(order, tree, modes, products)
    yield from _leaves_in_racks(order, tree, products)


def _stated_racks(order: Order, products: ProductsSpec) -> Iterator[str]:
    """Yield why racks do not have the systems that an order states."""
    if order.rack_systems is None:
        return
    if order.family != "tor":
        yield f"systems of a rack are stated for tor alone, not for {FAMILY_NAMES.get(order.family, order.family)}"
    elif order.rack_systems > (held := most_of_rack(order, products)):
        yield f"a rack of {order.rack_systems} {order.system} with leaves is too full; one takes {held}"


def _linked(order: Order, found: Direct, modes: Modes) -> Iterator[str]:
    """Yield a switch of a dragonfly or a HyperX with more links than ports, and a ratio of groups without groups."""
    ports = f"{found.down} ports towards NPUs, {found.near} and {found.far} towards other switches"
    if found.down + found.near + found.far > modes.down.ports:
        yield f"a switch has {ports}; {order.switch} has {modes.down.ports:,}"
    if found.units * found.pod_systems < order.count:
        yield f"{counted(found.units, 'unit')} of {found.pod_systems:,} do not take {counted(order.count, 'system')}"
    if order.family != "dragonfly" and order.pod_ratio != 1:
        yield f"a ratio of pods of {ratio_text(order.pod_ratio)} needs groups; {order.family} has none"


def _tiers(order: Order, tree: Tree) -> Iterator[str]:
    """Yield the ratios and uplinks of tiers that are not there."""
    found = f"this network has {counted(tree.tiers, 'tier')}"
    if tree.tiers < _SPINES and order.leaf_ratio != 1:
        yield f"a ratio of leaves of {ratio_text(order.leaf_ratio)} needs two tiers; {found}"
    if tree.tiers < _SPINES and order.uplink_Gbps is not None:
        yield f"uplinks of {rate_text(order.uplink_Gbps)} need two tiers; {found}"
    if tree.tiers < _CORES and order.pod_ratio != 1:
        yield f"a ratio of pods of {ratio_text(order.pod_ratio)} needs three tiers; {found}"


def _cages(order: Order, tree: Tree, modes: Modes, switch: SwitchSpec) -> Iterator[str]:
    """Yield a leaf whose ports down and up do not fit its cages, or exceed its most ports."""
    down, up = modes.down, modes.up
    ports = f"{tree.down} ports of {rate_text(down.Gbps)} down and {tree.up} of {rate_text(up.Gbps)} up"
    # Ports down and up of one mode share a cage.
    cages = 0 if down == up else ceil(tree.down / down.per_cage) + ceil(tree.up / up.per_cage)
    most = down.ports if down == up else switch.max_ports or max(down.ports, up.ports)
    if cages > switch.cages:
        yield f"a leaf with {ports} needs {cages} cages; {order.switch} has {switch.cages}"
    if tree.tiers >= _SPINES and tree.down + tree.up > most:
        yield f"a leaf has {ports}; {order.switch} has {most:,} ports at most"


def _spines(order: Order, tree: Tree, modes: Modes, products: ProductsSpec) -> Iterator[str]:
    """Yield a spine or a core that more switches join than it has ports."""
    if tree.tiers < _SPINES:
        return
    trees = order.planes * (products.systems[order.system].rails if order.family == "rail-only" else 1)
    leaves, ports = ceil(tree.leaves / (trees * tree.pods)), f"{order.switch} has {modes.up.ports} ports"
    if leaves > modes.up.ports:
        yield f"{leaves:,} leaves join each spine; {ports}"
    if tree.pods > modes.up.ports:
        yield f"{tree.pods:,} pods join each core; {ports}"


def _leaves_in_racks(order: Order, tree: Tree, products: ProductsSpec) -> Iterator[str]:
    """Yield why a leaf of `tor` cannot stand in the rack of its systems; racks of servers leave units for theirs."""
    if order.family != "tor" or order.switch is None:
        return
    system, racks = products.systems[order.system], ceil(order.count / systems_of_rack(order, products))
    if tree.tiers < _SPINES and racks > 1:
        yield f"one {order.switch} joins all systems of {racks} racks; tor has leaves in each rack"
        return
    leaves = ceil(tree.leaves / racks)
    units = leaves * products.switches[order.switch].height_U
    if system.is_rack and units > system.free_U:
        found = f"{counted(leaves, 'leaf', 'leaves')} of {order.switch} {'needs' if leaves == 1 else 'need'} {units:g}"
        yield f"{order.system} has {system.free_U:g} units free; {found}"


def _room(
    order: Order, products: ProductsSpec, limits: Limits, *, priced: bool, without: frozenset[str]
) -> Iterator[str]:
    """Yield power that the room does not have, and products without a price."""
    if not priced and limits.room_MW is None:
        return
    bill = bill_of(order, products, without=without)
    if limits.room_MW is not None and bill.watts() > limits.room_MW * 1e6:
        found = f"systems, switches and optics take {bill.watts() / 1e6:.4g} MW"
        yield f"{found}; the room has {limits.room_MW:g} MW"
    if priced:
        first = {line.product: line for line in reversed(bill.lines) if line.usd is None}
        yield from filter(None, map(_refusal, reversed(first.values())))


def _refusal(line: Line) -> str:
    """Return why a line has no price; nothing where it has one."""
    try:
        line.cents()
    except InputError as error:
        return str(error)
    return ""
