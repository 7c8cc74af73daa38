"""Fabrics of layers at 16,384 NPUs: path lengths, parts, throughput by paths and forwarding, and failures at 4,096.

The fabrics are those of ATOP (Yan et al., SIGCOMM 2025), tables 6 and 7.
"""

from __future__ import annotations

from collections.abc import Sequence

from command_line import no_arguments
from common import markdown

from evo_libra.arrays import GIGA
from evo_libra.errors import InputError
from evo_libra.network.fabrics.named import parse_named
from evo_libra.network.fabrics.parts import parts_of
from evo_libra.network.fabrics.paths import path_lengths
from evo_libra.network.fabrics.traffic import Policy, Traffic, slow_downs, throughput

LARGE = ("zcube(128, 2)", "bcube(128, 2)", "hpn(16384, 256)", "rail-only(16384, 128)", "roft(16384, 128)")
SMALL = ("zcube(64, 2)", "hpn(4096, 128)", "rail-only(4096, 64)", "roft(4096, 64)")
TRAFFIC = (Traffic("data", 8, 256), Traffic("pipeline", 2048, 8), Traffic("experts", 8, 256))
"""The published plan, tp 8, dp 256, pp 8 and 256 experts, in Megatron-LM's order: stages are farthest apart."""

FAILING = (Traffic("data", 8, 64), Traffic("pipeline", 512, 8), Traffic("experts", 8, 64))
"""The same with dp 64, and groups of experts as large."""

POLICIES = (Policy("shortest", "none"), Policy("shortest", "any"), Policy("striped", "server"))

Row = Sequence[str]


def counted() -> list[Row]:
    """Return switches, cables, modules and mean path length of each fabric."""
    rows: list[Row] = []
    for name in LARGE:
        fabric = parse_named(name)
        parts, mean = parts_of(fabric), path_lengths(fabric, "any").mean
        counts = (parts.switch_count, parts.copper_cables, parts.fibre_cables, parts.modules)
        rows.append([name, *(f"{count:,}" for count in counts), f"{mean:.5f}"])
    return rows


def rates() -> list[Row]:
    """Return GB/s that each NPU sends, by paths and forwarding."""
    found = [(name, policy) for name in LARGE for policy in POLICIES]
    return [
        [name, policy.paths, policy.forwarding, *(_rate(name, one, policy) for one in TRAFFIC)]
        for name, policy in found
    ]


def _rate(name: str, traffic: Traffic, policy: Policy) -> str:
    try:
        return f"{throughput(parse_named(name), traffic, policy).rate / GIGA:.2f}"
    except InputError:
        return "no path"


def failures() -> list[Row]:
    """Return how many times as long traffic takes without a switch of the first layer, the mean over the layer."""
    policy = Policy("striped", "server")
    return [[name, *(f"{slow_downs(parse_named(name), one, policy)[0]:.2f}" for one in FAILING)] for name in SMALL]


if __name__ == "__main__":
    no_arguments(__doc__)
    print(markdown(("fabric", "switches", "copper", "fibre", "modules", "mean path"), counted()))
    print()
    print(markdown(("fabric", "paths", "forwarding", "data [GB/s]", "pipeline [GB/s]", "experts [GB/s]"), rates()))
    print()
    print(markdown(("fabric", "data", "pipeline", "experts"), failures()))
