"""Parts of a fabric: switches, their ports, cables by kind and length, modules, NIC ports, and limits of them.

Lengths and kinds are those of ATOP (Yan et al., SIGCOMM 2025, section 5): copper up to 3 m, otherwise fibre with a
module at each end. Links inside servers are parts of the servers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evo_libra.errors import InputError
from evo_libra.network.fabrics.graph import within_pairs
from evo_libra.network.fabrics.layered import Between, LayeredFabric, Within

COPPER_REACH = 3.0
"""Metres up to which cables are copper."""

TO_ONE_SWITCH, TO_SWITCHES, NEIGHBOURING, OTHER = 3.0, 15.0, 30.0, 50.0
"""Metres of cables: of NICs whose server goes to one switch, other NICs, neighbouring layers, and all others."""


@dataclass(frozen=True)
class Cables:
    """Cables of one kind.

    Attributes
    ----------
    lower, upper : layers of the two ends.
    count : cables, one for each link.
    rate : B/s, one way.
    length : metres.
    """

    lower: int
    upper: int
    count: int
    rate: float
    length: float

    @property
    def is_copper(self) -> bool:
        """Whether they are copper."""
        return self.length <= COPPER_REACH


@dataclass(frozen=True)
class Switches:
    """The switches of a layer.

    Attributes
    ----------
    layer : its index.
    count : switches.
    ports : links of the switch that has most.
    throughput : B/s of those links, one way.
    """

    layer: int
    count: int
    ports: int
    throughput: float


@dataclass(frozen=True)
class Parts:
    """All parts of a fabric.

    Attributes
    ----------
    switches : of each layer.
    cables : of each kind.
    nic_ports : ports of an NPU.
    npu_throughput : B/s out of an NPU, its server left out.
    """

    switches: tuple[Switches, ...]
    cables: tuple[Cables, ...]
    nic_ports: int
    npu_throughput: float

    @property
    def switch_count(self) -> int:
        """Switches of all layers."""
        return sum(one.count for one in self.switches)

    @property
    def copper_cables(self) -> int:
        """Cables of copper."""
        return sum(one.count for one in self.cables if one.is_copper)

    @property
    def fibre_cables(self) -> int:
        """Cables of fibre."""
        return sum(one.count for one in self.cables if not one.is_copper)

    @property
    def modules(self) -> int:
        """Optical modules, one at each end of a fibre."""
        return 2 * self.fibre_cables


@dataclass(frozen=True)
class Limits:
    """Limits of a fabric.

    Attributes
    ----------
    switch_throughput : B/s of a switch, one way.
    nic_ports : ports of an NPU.
    npu_throughput : B/s out of an NPU.
    """

    switch_throughput: float
    nic_ports: int = 8
    npu_throughput: float = 200e9


def parts_of(fabric: LayeredFabric) -> Parts:
    """Return the parts of a fabric."""
    links: list[Between | Within] = [*fabric.between, *fabric.within]
    ends = [end for one in links for end in _ends(fabric, one)]
    by_layer = [[(ports, rate) for layer, ports, rate in ends if layer == index] for index in range(len(fabric.layers))]
    counts = [(sum(ports for ports, _ in of), sum(ports * rate for ports, rate in of)) for of in by_layer]
    switches = tuple(Switches(layer, fabric.layers[layer], *counts[layer]) for layer in range(1, len(fabric.layers)))
    cables = (*(_between(fabric, one) for one in fabric.between), *(_within(one) for one in fabric.within))
    return Parts(switches, cables, *counts[0])


def check_limits(fabric: LayeredFabric, limits: Limits) -> None:
    """Meet switches and NPUs beyond their limits with an InputError, one sentence for each."""
    found, parts = [], parts_of(fabric)
    for one in parts.switches:
        if one.throughput > limits.switch_throughput:
            needs = f"its {one.ports} ports carry {_terabits(one.throughput)}"
            found.append(
                f"a switch of layer {one.layer}: {needs}; allowed: {_terabits(limits.switch_throughput)} at most"
            )
    if parts.nic_ports > limits.nic_ports:
        found.append(f"an NPU has {parts.nic_ports} NIC ports; allowed: {limits.nic_ports} at most")
    if parts.npu_throughput > limits.npu_throughput:
        found.append(
            f"the NIC ports of an NPU carry {_terabits(parts.npu_throughput)}; "
            f"allowed: {_terabits(limits.npu_throughput)} at most"
        )
    if found:
        raise InputError("\n".join(found))


def _terabits(rate: float) -> str:
    return f"{rate * 8e-12:.4g} Tb/s"


def _ends(fabric: LayeredFabric, links: Between | Within) -> list[tuple[int, int, float]]:
    """Return layer, links of a node and B/s of a link for both ends."""
    if isinstance(links, Within):
        ends = np.bincount(within_pairs(links).ravel(), minlength=fabric.layers[links.layer])
        return [(links.layer, int(ends.max()), links.rate)]
    down = links.links * links.parallel
    up = down * fabric.layers[links.lower] // fabric.layers[links.upper]
    return [(links.lower, down, links.rate), (links.upper, up, links.rate)]


def _between(fabric: LayeredFabric, links: Between) -> Cables:
    count = fabric.layers[links.lower] * links.links * links.parallel
    length = OTHER if links.upper - links.lower > 1 else NEIGHBOURING
    if links.lower == 0:
        length = TO_ONE_SWITCH if _is_to_one_switch(fabric, links) else TO_SWITCHES
    return Cables(links.lower, links.upper, count, links.rate, length)


def _is_to_one_switch(fabric: LayeredFabric, links: Between) -> bool:
    """Whether the NICs of each server go to one switch: a joined block is one switch, and servers lie within blocks."""
    lower = fabric.layers[0] // links.lower_blocks
    return fabric.layers[links.upper] == links.upper_blocks and (lower % fabric.server == 0 or links.upper_blocks == 1)


def _within(links: Within) -> Cables:
    return Cables(links.layer, links.layer, within_pairs(links).shape[1], links.rate, OTHER)
