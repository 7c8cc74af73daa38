"""Lengths of the links above the leaves of a tree: those that join each rack of switches with each other one.

Leaves, spines and cores stand in the order of their planes and pods, and have links to those of their own alone.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from evo_libra.arrays import IntArray
from evo_libra.network.orders.floor import Floor
from evo_libra.network.orders.lengths import sold
from evo_libra.network.orders.order import Order
from evo_libra.network.orders.places import Places, places_of, tree_places
from evo_libra.network.orders.products import ProductsSpec
from evo_libra.network.orders.tree import Tree
from evo_libra.network.orders.ways import Side, Ways, counted_ways
from evo_libra.network.orders.wiring import Groups, core_ends, pods_of, wires_of


def ways_to_circuits(order: Order, tree: Tree, products: ProductsSpec) -> Ways:
    """Return the links between systems and circuit switches, as long as the ways between their racks."""
    (wires,), places = wires_of(order, tree, products), places_of(order, tree, products)
    metres = sold(places.metres(wires))
    return counted_ways("circuit", 0, metres, np.ones(len(metres), dtype=np.int64), ())


@lru_cache(maxsize=4096)
def ways_above(floor: Floor, tree: Tree, groups: Groups, in_rack: float) -> tuple[Ways, ...]:
    """Return the links from leaves to spines, and from spines to cores, as far as there are any.

    Those of leaves and spines in one rack are `in_rack` metres long.
    """
    if not tree.spines:
        return ()
    places = tree_places(floor, tree, groups)
    uplinks = _to_spines(tree, groups, places)
    if floor.together:
        return (_all_of(uplinks, in_rack),)
    return (uplinks, _to_cores(tree, groups, places)) if tree.cores else (uplinks,)


def _all_of(ways: Ways, metres: float) -> Ways:
    """Return links that all have one length."""
    ends = tuple((place, ((metres, links),), switches) for place, links, switches in ways.totals)
    return replace(ways, links=((metres, sum(links for _, links in ways.links)),), ends=ends)


class _Stood(NamedTuple):
    """Switches that stand together and are of one pod: their rack, their pod, and how many they are."""

    rack: IntArray
    pod: IntArray
    alike: IntArray


def _stood(racks: IntArray, pods: IntArray) -> _Stood:
    wide = int(pods.max()) + 1
    found, alike = np.unique(racks * wide + pods, return_counts=True)
    rack, pod = np.divmod(found, wide)
    return _Stood(rack, pod, alike)


def _to_spines(tree: Tree, groups: Groups, places: Places) -> Ways:
    pods = pods_of(tree, groups)
    leaves, spines = _stood(places.switches["leaf"], pods.leaf), _stood(places.switches["spine"], pods.spine)
    one, other = np.nonzero(leaves.pod[:, None] == spines.pod[None, :])
    metres, each = sold(places.between(leaves.rack[one], spines.rack[other])), pods.each[leaves.pod[one]]
    sides = (
        Side("leaves", one, leaves.alike, each * spines.alike[other]),
        Side("spines", other, spines.alike, each * leaves.alike[one]),
    )
    together = int(np.gcd.reduce(pods.each))
    return counted_ways("spine", together, metres, each * leaves.alike[one] * spines.alike[other], sides)


def _to_cores(tree: Tree, groups: Groups, places: Places) -> Ways:
    spine, core = core_ends(tree, groups)
    metres = sold(places.between(places.switches["spine"][spine], places.switches["core"][core]))
    links = np.ones(len(spine), dtype=np.int64)
    sides = (
        Side("spines", spine, np.ones(tree.spines, dtype=np.int64), links),
        Side("cores", core, np.ones(tree.cores, dtype=np.int64), links),
    )
    each, cores = tree.core_links // tree.spines, tree.cores // groups.trees
    # If the links of a spine do not divide, it has one more to some cores.
    together = each // cores if each % cores == 0 else 1
    return counted_ways("core", together, metres, links, sides)
