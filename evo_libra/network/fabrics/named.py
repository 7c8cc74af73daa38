"""Fabrics that have a name, as layers.

Published forms: ATOP (Yan et al., SIGCOMM 2025, section 6 and tables 6 and 7), BCube (Guo et al., SIGCOMM 2009),
dragonfly (Kim et al., ISCA 2008), HPN (Qian et al., SIGCOMM 2024), Rail-only (Wang et al., 2023). Servers have
eight NPUs.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType

from evo_libra.errors import InputError, printable, shortened, unknown
from evo_libra.network.fabrics.layered import MAX_NODES, AffineMap, Between, LayeredFabric, Within, clique

PORT = 25e9
"""B/s of a port of 200 Gb/s, one way."""

_SERVER = 8


def bcube(n: int, k: int) -> LayeredFabric:
    """Return n^k NPUs with k ports: port t goes to the switch of all NPUs that differ in digit t of base n only."""
    return _cube("bcube", n, k)


def _cube(name: str, n: int, k: int) -> LayeredFabric:
    _check(name, n=n, at_least=2)
    _check(name, k=k, at_least=1)
    if k > MAX_NODES.bit_length():
        raise InputError(f"{name}: k is {k:,}; allowed: {MAX_NODES.bit_length()} at most")
    joined = tuple(Between(0, t + 1, n ** (k - 1 - t), n ** (k - 1 - t), 1, rate=PORT) for t in range(k))
    return LayeredFabric((n**k, *[n ** (k - 1)] * k), joined, server=_server(n**k))


def zcube(n: int, k: int) -> LayeredFabric:
    """Return a BCube whose switches of each two neighbouring layers are joined, too."""
    cube = _cube("zcube", n, k)
    return replace(cube, between=cube.between + tuple(_climb(n, k, level) for level in range(k - 1)))


def _climb(n: int, k: int, level: int) -> Between:
    """Return the links of a layer of ZCube(n, k) to the next: switch i of a copy to i n .. i n + n - 1."""
    copies = n ** (k - 2 - level)
    return Between(level + 1, level + 2, copies * (n if level else 1), copies, n, rate=PORT)


def zcube_partial(n: int) -> LayeredFabric:
    """Return n ZCube(n, 2) below n^2 / 2 core switches, which have no links to NPUs."""
    _check("zcube-partial", n=n, at_least=2, multiple=2)
    cubes, core = zcube(n, 3), n * n // 2
    kept = tuple(one for one in cubes.between if one.upper < len(cubes.layers) - 1)
    joined = Between(2, 3, n, 1, n, rate=PORT)
    return replace(cubes, layers=(*cubes.layers[:-1], core), between=(*kept, joined))


def roft(npus: int, ports: int) -> LayeredFabric:
    """Return a rail-optimised fat tree of three tiers without oversubscription, of switches of 400 Gb/s ports.

    The eight rails of a pod have a leaf each, and a pod has as many NPUs as eight leaves have ports for.
    """
    half = _half("roft", npus, ports)
    pods = _pods("roft", npus, half)
    _check("roft", npus=npus, at_least=half * half, multiple=half * half)
    groups = npus // (half * half)
    joined = (
        Between(0, 1, pods, pods, 1, rate=2 * PORT),
        Between(1, 2, groups, groups, half, rate=2 * PORT),
        Between(2, 3, groups, 1, half, rate=2 * PORT),
    )
    return LayeredFabric((npus, npus // half, npus // half, npus // ports), joined)


def rail_only(npus: int, ports: int) -> LayeredFabric:
    """Return a folded Clos of two tiers for each of eight rails, of 400 Gb/s ports, and nothing between rails."""
    half = _half("rail-only", npus, ports)
    pods = _pods("rail-only", npus, half)
    spines = npus // _SERVER // ports
    if spines < 1 or half % spines:
        raise InputError(
            f"rail-only: {half} links of a leaf on {spines} spines of a rail; allowed: spines that divide them"
        )
    down = Between(0, 1, pods, pods, 1, rate=2 * PORT)
    # Leaf r of each pod, a rail, is joined to all spines of rail r: blocks of pods on one block of all spines.
    up = Between(1, 2, pods, 1, spines, rate=2 * PORT, parallel=half // spines)
    return LayeredFabric((npus, npus // half, _SERVER * spines), (down, up))


def hpn(npus: int, ports: int) -> LayeredFabric:
    """Return two planes: two ToRs for each rail of a segment, each joined to all aggregation switches of its plane.

    Switches have ports of 200 Gb/s. Links between them are of 400 Gb/s, which take two.
    """
    half = _half("hpn", npus, ports)
    segments = _pods("hpn", npus, half)
    _check("hpn", ports=ports, at_least=4, multiple=4)
    tors = Between(0, 1, segments, segments, 2, rate=PORT)
    up = Between(1, 2, 1, 1, half // 2, rate=2 * PORT)
    return LayeredFabric((npus, 2 * _SERVER * segments, half), (tors, up))


def dragonfly(h: int) -> LayeredFabric:
    """Return the full, balanced dragonfly: h NPUs and h links to other groups a switch, groups of 2 h switches."""
    _check("dragonfly", h=h, at_least=1)
    group, groups = 2 * h, 2 * h * h + 1
    switches = group * groups
    # Link m of switch X1 goes to group X2 + h X1 + m, and arrives at the switch that has the way back.
    far = AffineMap((0, 1), ((-1, 0), (h, 1)), (group - 1, 0), h)
    within = Within(1, (group, groups), (clique((group, groups), 0), far), PORT)
    down = Between(0, 1, switches, switches, 1, rate=PORT)
    return LayeredFabric((h * switches, switches), (down,), (within,), server=_server(h * switches))


NAMED: Mapping[str, Callable[..., LayeredFabric]] = MappingProxyType({
    "bcube": bcube,
    "dragonfly": dragonfly,
    "hpn": hpn,
    "rail-only": rail_only,
    "roft": roft,
    "zcube": zcube,
    "zcube-partial": zcube_partial,
})  # fmt: skip
"""The fabrics that have a name."""


def parse_named(text: str) -> LayeredFabric:
    """Return the layers of a name such as ``zcube(128, 2)``; an InputError says what is wrong with it.

    >>> parse_named("zcube(4, 2)").layers
    (16, 4, 4)
    """
    found = re.fullmatch(r"\s*([A-Za-z][\w-]*)\s*\(([^()]*)\)\s*", text)
    if not found:
        raise InputError(
            f"'{shortened(printable(text))}' is no named fabric; allowed: a name and whole numbers, such as "
            "zcube(128, 2)"
        )
    name, numbers = found[1].lower(), [one.strip() for one in found[2].split(",")]
    if name not in NAMED:
        raise InputError(unknown("fabric", found[1], NAMED))
    wanted = list(inspect.signature(NAMED[name]).parameters)
    if len(numbers) != len(wanted) or not all(re.fullmatch(r"\d{1,9}", one) for one in numbers):
        raise InputError(
            f"'{shortened(printable(text))}': {name} takes whole numbers; allowed: {name}({', '.join(wanted)})"
        )
    return NAMED[name](*map(int, numbers))


def _server(npus: int) -> int:
    """Return the NPUs of a server: eight where they divide the NPUs, otherwise there are none."""
    return 1 if npus % _SERVER else _SERVER


def _check(name: str, at_least: int, multiple: int = 1, **found: int) -> None:
    ((key, number),) = found.items()
    if number < at_least or number % multiple:
        rule = f"multiples of {multiple:,} from {at_least:,} on" if multiple > 1 else f"{at_least} and more"
        raise InputError(f"{name}: {key} is {number:,}; allowed: {rule}")


def _half(name: str, npus: int, ports: int) -> int:
    """Return half the ports of a switch, as many as go down from a leaf."""
    _check(name, ports=ports, at_least=2, multiple=2)
    _check(name, npus=npus, at_least=1)
    return ports // 2


def _pods(name: str, npus: int, half: int) -> int:
    """Return the pods of eight leaves."""
    _check(name, npus=npus, at_least=_SERVER * half, multiple=_SERVER * half)
    return npus // (_SERVER * half)
