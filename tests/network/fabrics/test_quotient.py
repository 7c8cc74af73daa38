"""Fabrics by digits: classes, kinds of roots and of links."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from random_fabrics import digits

from evo_libra.network.fabrics.named import parse_named
from evo_libra.network.fabrics.quotient import arcs_of, orbits_of, rooted, roots, switches


@pytest.mark.parametrize("n", [4, 16, 128])
def test_zcube_has_eight_classes_at_any_size(n: int) -> None:
    """The NPU itself, (n - 1) with either digit equal, (n - 1)^2 others; of each layer its switch and n - 1 others."""
    found = digits(replace(parse_named(f"zcube({n}, 2)"), server=1))
    base = (0,) * len(found.sizes)
    (root,) = roots(found, base)
    seen = rooted(found, root, base)
    assert seen.size.tolist() == [1, n - 1, n - 1, (n - 1) ** 2, 1, n - 1, 1, n - 1]
    assert (seen.npus, seen.root, seen.weight) == (4, 0, n * n)


def test_tied_digits_have_a_root_for_each_pattern() -> None:
    """Of ZCube(16, 3), x0 and x1 are equal in 16 * 16 NPUs, and differ in 16 * 15 * 16.

    The second view has 42 classes.
    """
    found = digits(replace(parse_named("zcube(16, 3)"), server=1))
    base = (0,) * len(found.sizes)
    views = list(roots(found, base))
    assert [view.weight for view in views] == [256, 3840]
    assert [len(rooted(found, view, base).size) for view in views] == [10 + 4 + 4 + 5, 20 + 6 + 6 + 10]


@pytest.mark.parametrize("name", ["zcube(16, 3)", "roft(64, 8)", "hpn(128, 16)", "rail-only(128, 8)"])
def test_all_nodes_and_links_are_counted(name: str) -> None:
    fabric = parse_named(name)
    found, total = digits(fabric), 0.0
    base = (0,) * len(found.sizes)
    orbits = orbits_of(found, base)
    for view in roots(found, base):
        seen = rooted(found, view, base)
        assert seen.size.sum() == sum(fabric.layers)
        links = np.bincount(seen.orbit, weights=seen.size[seen.source] * seen.links, minlength=len(orbits.links))
        assert (links[links > 0] == orbits.links[links > 0]).all()
        assert len(seen.source) <= arcs_of(found, view.marked)
        total += view.weight
    assert total == fabric.npus


def test_failures_are_all_pairs_of_a_switch_and_an_npu() -> None:
    fabric = parse_named("zcube(16, 3)")
    found = digits(fabric)
    failing = list(switches(found, (0,) * len(found.sizes)))
    assert sum(switch.weight for switch in failing) == sum(fabric.layers[1:])
    for switch in failing[:3]:
        views = list(roots(found, switch.marked))
        assert sum(view.weight for view in views) == fabric.npus
        seen = rooted(found, views[-1], switch.marked, switch)
        assert seen.failed is not None
        assert seen.size[seen.failed] == 1
