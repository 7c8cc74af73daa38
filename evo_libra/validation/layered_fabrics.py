"""Published figures of fabrics of layers: path lengths and parts of ATOP (Yan et al., SIGCOMM 2025)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from evo_libra.network.fabrics.layered import LayeredFabric
from evo_libra.network.fabrics.named import parse_named
from evo_libra.network.fabrics.parts import parts_of
from evo_libra.network.fabrics.paths import one_switch_failed, path_lengths
from evo_libra.validation.source import Basis, PublishedRow, PublishedSource, published

_GIGABIT = 1.25e8
"""B/s in a Gb/s."""

_PRINTED = 5
"""Decimal digits of the published path lengths."""

PATHS = {
    "apl": "mean path length",
    "apl_one_switch_failed": "the same, one switch failed",
    "apl_server": "mean path length, with servers",
    "apl_server_one_switch_failed": "the same with servers, one switch failed",
}
PARTS = {
    "switches": "switches",
    "switch_ports": "ports of a switch",
    "copper_cables": "copper cables",
    "fibre_cables": "fibre cables",
    "transceivers": "modules",
    "nic_ports_per_npu": "NIC ports of an NPU",
}


def atop() -> Mapping[str, Any]:
    """Return the published figures."""
    found: Mapping[str, Any] = published("atop_published.json")
    return found


def rows_of(table: str) -> list[dict[str, Any]]:
    """Return the rows of a published table, without the figures that are not given."""
    columns, rows = atop()[table]["columns"], atop()[table]["rows"]
    pairs = (zip(columns, row, strict=True) for row in rows)
    return [{key: value for key, value in row if value is not None} for row in pairs]


def path_length(name: str, figure: str) -> float:
    """Return one of `PATHS` in links, with as many digits as are printed.

    Any NPU forwards, as BCube needs. In other fabrics no path through a third server is shorter.
    """
    fabric = _spread(parse_named(name)) if figure.endswith("failed") else parse_named(name)
    fabric = fabric if "server" in figure else replace(fabric, server=1)
    lengths = one_switch_failed if figure.endswith("failed") else path_lengths
    return round(lengths(fabric, "any").mean, _PRINTED)


def _spread(fabric: LayeredFabric) -> LayeredFabric:
    """Return a fabric with each parallel link on an upper switch of its own, as the published failures have it."""
    parallel = {one.upper: one.parallel for one in fabric.between}
    layers = (fabric.npus, *(nodes * parallel[layer] for layer, nodes in enumerate(fabric.layers[1:], 1)))
    between = tuple(replace(one, links=one.links * one.parallel, parallel=1) for one in fabric.between)
    return replace(fabric, layers=layers, between=between)


def parts(name: str) -> dict[str, float]:
    """Return `PARTS` of a fabric; ports of a switch are its throughput over the rate of a port of an NPU."""
    found = parts_of(parse_named(name))
    rate = found.npu_throughput / found.nic_ports
    return {
        "switches": found.switch_count,
        "switch_ports": max(one.throughput for one in found.switches) / rate,
        "port_gbps": rate / _GIGABIT,
        "copper_cables": found.copper_cables,
        "fibre_cables": found.fibre_cables,
        "transceivers": found.modules,
        "nic_ports_per_npu": found.nic_ports,
    }


def _path_lengths() -> Iterator[PublishedRow]:
    for row in rows_of("path_lengths"):
        for figure in (figure for figure in PATHS if figure in row):
            ours = path_length(row["fabric"], figure)
            yield PublishedRow(f"{row['fabric']}: {PATHS[figure]}", row[figure], ours, "links")


def _parts() -> Iterator[PublishedRow]:
    for row in rows_of("parts"):
        ours = parts(row["fabric"])
        # A relative error needs a published figure above 0.
        for figure in (figure for figure in PARTS if row[figure]):
            yield PublishedRow(f"{row['fabric']}: {PARTS[figure]}", row[figure], ours[figure], "")
    for name, cables in atop()["testbed_cables"].items():
        found = parts_of(parse_named(name))
        yield PublishedRow(f"{name}: cables of a testbed", cables, found.copper_cables + found.fibre_cables, "")


def _availability() -> Iterator[PublishedRow]:
    failing = atop()["switch_failure_probability"]
    for name, share in atop()["no_switch_failed"].items():
        ours = (1.0 - failing) ** parts_of(parse_named(name)).switch_count
        yield PublishedRow(f"{name}: no switch failed", 100 * share, 100 * ours, "percent")


_PAPER = "ATOP (Yan et al. 2025)"

LAYERED_FABRICS = (
    PublishedSource("fabric-paths", "fabrics", f"{_PAPER}: mean path lengths at 4,096 and 16,384 NPUs", _path_lengths,
           note="to the printed digit; after failures, each link of a leaf of rail-only has a spine of its own",
           basis=Basis.EQUATIONS),
    PublishedSource("fabric-parts", "fabrics", f"{_PAPER}: switches, ports, cables and modules", _parts,
           note="a count of 0 has no row", basis=Basis.EQUATIONS),
    PublishedSource("fabric-availability", "fabrics", f"{_PAPER}: no switch has failed", _availability,
           note="published in whole percent; each switch fails with 0.03 %", basis=Basis.EQUATIONS),
)  # fmt: skip
