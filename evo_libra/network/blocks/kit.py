"""Parts and kits: what one dimension of a network is built of."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Range:
    """A figure that is known to lie between two bounds; ``value`` counts unless a scenario asks for a bound.

    Attributes
    ----------
    low, value, high : in this order.
    """

    low: float
    value: float
    high: float


@dataclass(frozen=True)
class Part:
    """Something that is bought by the piece.

    Attributes
    ----------
    name : what files call it.
    kind : one of `KINDS`.
    price : USD.
    power : W.
    ports : of a switch, an OCS or a NIC; None for other kinds.
    latency : s of passing through it.
    source, year : of the figures.
    """

    name: str
    kind: str
    price: Range
    power: float
    ports: int | None
    latency: float
    source: str
    year: int


KINDS = ("link", "transceiver", "nic", "switch", "ocs")
"""Kinds of parts; an OCS is an optical circuit switch."""


@dataclass(frozen=True)
class Kit:
    """A technology and a block: all that has to be known to build a dimension.

    Attributes
    ----------
    technology : its name.
    block : index into `evo_libra.network.blocks.registry.BLOCKS`.
    rank : place of the technology; dimensions never go back to a lower rank outwards.
    port_rate : B/s of a port in one direction; ports are full duplex.
    ports : most ports of an NPU.
    domain_size : most NPUs inside one domain, that is, of this dimension and all inside it; None for no limit.
    latency : s of a link.
    energy : J per bit and link passed, beyond the power of the parts.
    links : a link of one port between NPUs, or of an NPU to a switch.
    uplink : a link of one port between switches.
    transceiver : one at each electrical end of each link and uplink.
    nic : what ties its number of ports to an NPU.
    switch : a switch, or the OCS of a block that has one.
    """

    technology: str
    block: int
    rank: int
    port_rate: float
    ports: int
    domain_size: int | None
    latency: float
    energy: float
    links: Part | None
    uplink: Part | None
    transceiver: Part | None
    nic: Part | None
    switch: Part | None
