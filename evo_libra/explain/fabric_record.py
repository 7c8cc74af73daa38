"""One fabric of switches: its parts, path lengths, rates of traffic, and what the failure of a switch costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from evo_libra.arrays import GIGA
from evo_libra.errors import InputError
from evo_libra.explain.labels import cell
from evo_libra.explain.sheet import Section, Table, section
from evo_libra.network.fabrics.layered import LayeredFabric
from evo_libra.network.fabrics.parts import parts_of
from evo_libra.network.fabrics.paths import one_switch_failed, path_lengths
from evo_libra.network.fabrics.traffic import Policy, Traffic, slow_downs, throughput

_TERABITS, _GIGABITS = 1e12 / 8, 1e9 / 8


@dataclass(frozen=True)
class LayerRow:
    """A layer: its place, 0 for the NPUs, nodes, links of a node, and Tb/s of them."""

    layer: int
    nodes: int
    ports: int
    Tbps: float


@dataclass(frozen=True)
class CableRow:
    """Cables between two layers: their number, Gb/s, metres, and whether they are copper."""

    lower: int
    upper: int
    cables: int
    Gbps: float
    metres: float
    copper: bool


@dataclass(frozen=True)
class TrafficRow:
    """Traffic of groups: GB/s that each NPU sends, and how many times as long it takes without a switch of each layer.

    `missed` says why there is no rate; the factors are means over the switches of a layer.
    """

    kind: str
    members: int
    place: int
    GBps: float | None
    without_switch: tuple[float, ...]
    missed: str = ""


@dataclass(frozen=True)
class FabricRecord:
    """A fabric in the notation, with its figures; path lengths are in links, None where an NPU has no path."""

    fabric: str
    paths: str
    forwarding: str
    method: str
    layers: tuple[LayerRow, ...]
    cables: tuple[CableRow, ...]
    mean_path: float | None
    diameter: float | None
    mean_path_without_switch: float | None
    traffic: tuple[TrafficRow, ...]


def fabric_record(text: str, fabric: LayeredFabric, policy: Policy, traffic: Sequence[Traffic]) -> FabricRecord:
    """Return the record of a fabric.

    Parameters
    ----------
    text : the fabric in the notation, or its name.
    fabric, policy, traffic : the fabric, the ways of messages, and the groups that send.
    """
    parts = parts_of(fabric)
    layers = [LayerRow(0, fabric.npus, parts.nic_ports, parts.npu_throughput / _TERABITS)]
    layers += [LayerRow(one.layer, one.count, one.ports, one.throughput / _TERABITS) for one in parts.switches]
    cables = tuple(
        CableRow(
            lower=one.lower,
            upper=one.upper,
            cables=one.count,
            Gbps=one.rate / _GIGABITS,
            metres=one.length,
            copper=one.is_copper,
        )
        for one in parts.cables
    )
    try:
        lengths = path_lengths(fabric, policy.forwarding)
        mean, diameter, method = lengths.mean, lengths.diameter, lengths.method
        failed: float | None = one_switch_failed(fabric, policy.forwarding).mean
    except InputError:
        mean, diameter, method, failed = None, None, "digits", None
    return FabricRecord(
        fabric=text, paths=policy.paths, forwarding=policy.forwarding, method=method, layers=tuple(layers),
        cables=cables, mean_path=mean, diameter=diameter,
        mean_path_without_switch=None if failed == float("inf") else failed,
        traffic=tuple(_traffic(fabric, one, policy) for one in traffic),
    )  # fmt: skip


def _traffic(fabric: LayeredFabric, traffic: Traffic, policy: Policy) -> TrafficRow:
    row = traffic.kind, traffic.members, traffic.place
    try:
        rate = throughput(fabric, traffic, policy).rate
    except InputError as error:
        return TrafficRow(*row, None, (), missed=str(error))
    return TrafficRow(*row, rate / GIGA, slow_downs(fabric, traffic, policy))


def fabric_sections(record: FabricRecord) -> list[Section]:
    """Return tables of a fabric."""
    ways = f"paths {record.paths}, forwarding {record.forwarding}; exact, by {record.method}"
    mean = "NPUs without a path" if record.mean_path is None else f"{record.mean_path:.5f} links on average"
    if record.diameter is not None:
        mean += f", {record.diameter:g} at most"
    if record.mean_path_without_switch is not None:
        mean += f"; {record.mean_path_without_switch:.5f} after one switch has failed"
    missed = [f"{one.kind} over {one.members}: {one.missed}" for one in record.traffic if one.missed]
    tables = [_layers(record), _cables(record), *([_rates(record)] if record.traffic else [])]
    return [section(record.fabric, ways, f"paths between NPUs: {mean}", *tables, *missed)]


def _layers(record: FabricRecord) -> Table:
    rows = tuple(
        ("NPUs" if one.layer == 0 else str(one.layer), f"{one.nodes:,}", f"{one.ports:,}", cell(one.Tbps))
        for one in record.layers
    )
    return Table(title="layers", columns=("layer", "nodes", "ports", "Tb/s"), rows=rows, words=("layer",))


def _cables(record: FabricRecord) -> Table:
    rows = tuple(
        (f"{one.lower}-{one.upper}", f"{one.cables:,}", cell(one.Gbps), cell(one.metres),
         "copper" if one.copper else "fibre")
        for one in record.cables
    )  # fmt: skip
    return Table(title="cables", columns=("layers", "cables", "Gb/s", "m", "kind"), rows=rows, words=("layers", "kind"))


def _rates(record: FabricRecord) -> Table:
    failing = [f"one of {one.layer} fails" for one in record.layers[1:]]
    rows = tuple(
        (one.kind, f"{one.members:,}", f"{one.place:,}", cell(one.GBps), *map(_factor, one.without_switch))
        for one in record.traffic
        if one.GBps is not None
    )
    return Table(
        title="traffic", columns=("kind", "group", "apart", "GB/s", *failing), rows=rows, words=("kind",)
    )  # fmt: skip


def _factor(value: float) -> str:
    return "no path" if value == float("inf") else f"x {value:.2f}"
