"""Fabrics with a name: sizes by hand, links as their papers have them, and names that are wrong."""

from __future__ import annotations

import pytest
from brute_force import links

from evo_libra.errors import InputError
from evo_libra.network.fabrics.named import parse_named


@pytest.mark.parametrize(
    ("name", "layers"),
    [
        ("zcube(128, 2)", (16384, 128, 128)),
        ("ZCube(16,3)", (4096, 256, 256, 256)),
        ("zcube-partial(16)", (4096, 256, 256, 128)),
        ("bcube(4, 3)", (64, 16, 16, 16)),
        ("roft(16384, 128)", (16384, 256, 256, 128)),
        ("rail-only(16384, 128)", (16384, 256, 128)),
        ("hpn(16384, 256)", (16384, 256, 128)),
        ("dragonfly(4)", (1056, 264)),
    ],
)
def test_sizes(name: str, layers: tuple[int, ...]) -> None:
    assert parse_named(name).layers == layers


def test_zcube_joins_each_switch_to_n_switches_of_the_next_layer() -> None:
    """In ZCube(n, 3), switch i of layer 2 in copy j is joined to switches i n .. i n + n - 1 of layer 3."""
    n = 4
    graph = links(parse_named(f"zcube({n}, 3)"))
    for copy in range(n):
        for switch in range(n):
            above = {link.target[1] for link in graph[2, copy * n + switch] if link.target[0] == 3}
            assert above == {switch * n + m for m in range(n)}
    # NPU i of copy j has port 2 on switch i of the new layer.
    assert all((3, npu % n**2) in {link.target for link in graph[0, npu]} for npu in range(n**3))


def test_groups_of_a_dragonfly_have_one_link_to_each_other() -> None:
    """A group has a = 2 h switches with h links each, one to each of the other 2 h^2 groups."""
    h = 2
    graph = links(parse_named(f"dragonfly({h})"))
    groups = 2 * h * h + 1
    for group in range(groups):
        ends = [
            link.target[1] // (2 * h)
            for s in range(2 * h)
            for link in graph[1, group * 2 * h + s]
            if link.target[0] == 1
        ]
        outside = sorted(other for other in ends if other != group)
        assert outside == [other for other in range(groups) if other != group]
    assert {len(graph[1, switch]) for switch in range(2 * h * groups)} == {h + 2 * h - 1 + h}


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "zcub(4, 2)",
            "unknown fabric 'zcub'; allowed: bcube, dragonfly, hpn, rail-only, roft, zcube, zcube-partial; did",
        ),
        ("zcube", "'zcube' is no named fabric; allowed: a name and whole numbers, such as zcube(128, 2)"),
        ("zcube(4)", "'zcube(4)': zcube takes whole numbers; allowed: zcube(n, k)"),
        ("zcube(4, two)", "'zcube(4, two)': zcube takes whole numbers; allowed: zcube(n, k)"),
        ("zcube(1, 2)", "zcube: n is 1; allowed: 2 and more"),
        ("bcube(2, 999999)", "bcube: k is 999,999; allowed: 25 at most"),
        ("zcube(4096, 3)", "a layer of 68,719,476,736 nodes; allowed: 16,777,216 at most"),
        ("zcube-partial(3)", "zcube-partial: n is 3; allowed: multiples of 2 from 2 on"),
        ("roft(4096, 63)", "roft: ports is 63; allowed: multiples of 2 from 2 on"),
        ("roft(4000, 64)", "roft: npus is 4,000; allowed: multiples of 256 from 256 on"),
        (
            "rail-only(1792, 64)",
            "rail-only: 32 links of a leaf on 3 spines of a rail; allowed: spines that divide them",
        ),
        ("hpn(48, 6)", "hpn: ports is 6; allowed: multiples of 4 from 4 on"),
        ("dragonfly(0)", "dragonfly: h is 0; allowed: 1 and more"),
    ],
)
def test_wrong_names(text: str, sentence: str) -> None:
    with pytest.raises(InputError) as error:
        parse_named(text)
    assert str(error.value).startswith(sentence)
