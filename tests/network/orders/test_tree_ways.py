"""Links above leaves have the lengths of the racks that they join: those of their own plane and pod alone."""

from __future__ import annotations

from evo_libra.network.orders.floor import Block, Floor, Stock
from evo_libra.network.orders.lengths import Rows
from evo_libra.network.orders.tree import Tree
from evo_libra.network.orders.tree_ways import ways_above
from evo_libra.network.orders.ways import Ways
from evo_libra.network.orders.wiring import Groups

ROWS = Rows(racks=20, width=0.6, pitch=3.0, slack=5.0)


def tree(**figures: int) -> Tree:
    """Return a tree of four systems, each with a leaf of two ports up."""
    made = {
        "tiers": 2, "down": 2, "up": 2, "leaves": 4, "spines": 2, "cores": 0, "pods": 1, "links": 8, "uplinks": 8,
        "core_links": 0, "leaf_systems": 1, "group_systems": 1, "pod_systems": 4,
    }  # fmt: skip
    return Tree(**made | figures, leaf_share=1.0, pod_share=1.0)


def floor(leaves: int = 1, spines: int = 2, cores: int = 0) -> Floor:
    """Return four blocks of a system and its leaves in a row, with racks of one spine and one core in the middle."""
    block = Block(Stock(1, 1), 1, Stock(leaves, 2))
    return Floor(ROWS, block, 4, None, spines=Stock(spines, 1), cores=Stock(cores, 1))


def lengths(ways: Ways) -> dict[int, int]:
    return dict(ways.links)


def test_all_leaves_join_all_spines_of_one_pod() -> None:
    # Leaves at 0, 2, 6 and 8, spines at 4 and 5. 4 and 5, 2 and 3, 2 and 1, 4 and 3 racks of 0.6 m, and 5 m: 7.4 and 8,
    # 6.2 and 6.8, 6.2 and 5.6, 7.4 and 6.8 m.
    (spine,) = ways_above(floor(), tree(), Groups(trees=1, systems=1, leaves=1), 2.0)
    assert lengths(spine) == {6: 1, 7: 2 + 2, 8: 3}
    assert spine.totals == (("leaves", 2, 4), ("spines", 4, 2))


def test_links_stay_in_their_plane() -> None:
    # Two planes, whose leaves of a system share its rack, and one spine each. The first plane's spine, at 4, is 4, 2, 2
    # and 4 racks away: 7.4, 6.2, 6.2 and 7.4 m; the second's, at 5, is 5, 3, 1 and 3 away: 8, 6.8, 5.6 and 6.8 m.
    planes = tree(leaves=8, uplinks=16)
    (spine,) = ways_above(floor(leaves=2), planes, Groups(trees=2, systems=1, leaves=1), 2.0)
    assert lengths(spine) == {6: 2 * 1, 7: 2 * 4, 8: 2 * 3}


def test_links_stay_in_their_pod() -> None:
    # Two pods of two leaves, two spines each, and two cores. Leaves are at 0 and 2, and at 10 and 12; spines at 4 and
    # 5, and at 6 and 7; cores at 8 and 9. The first pod's ways are 4, 5, 2 and 3 racks, the second's 4, 3, 6 and 5.
    pods = tree(tiers=3, spines=4, cores=2, pods=2, core_links=8, pod_systems=2)
    spine, core = ways_above(floor(spines=4, cores=2), pods, Groups(trees=1, systems=1, leaves=1), 2.0)
    assert lengths(spine) == {7: 1 + 1 + 1, 8: 1 + 1 + 1 + 1, 9: 1}
    # Each spine has a link to each core, 4 and 5, 3 and 4, 2 and 3, 1 and 2 racks away.
    assert lengths(core) == {6: 1, 7: 2 + 2, 8: 2 + 1}
    assert set(core.ends) == {
        ("spines", ((8, 2),), 1), ("spines", ((7, 1), (8, 1)), 1), ("spines", ((7, 2),), 1),
        ("spines", ((6, 1), (7, 1)), 1), ("cores", ((6, 1), (7, 2), (8, 1)), 1), ("cores", ((7, 2), (8, 2)), 1),
    }  # fmt: skip


def test_links_in_one_rack_have_a_length_of_their_own() -> None:
    # A block with its four leaves and both spines in one rack, which takes six switches.
    one = Floor(ROWS, Block(Stock(4, 1), 4, Stock(4, 6)), 1, None, spines=Stock(2, 6), cores=Stock(0, 6))
    (spine,) = ways_above(one, tree(), Groups(trees=1, systems=1, leaves=1), 1.5)
    assert spine.links == ((1.5, 8),)
    assert spine.ends == (("leaves", ((1.5, 2),), 4), ("spines", ((1.5, 4),), 2))
