"""Parts, and the kits of them that building blocks are built of."""

from __future__ import annotations

from dataclasses import dataclass

DUPLEX = 2
"""Fibres of a duplex optic: one each way."""

KINDS = ("link", "transceiver", "nic", "switch", "ocs")
"""Kinds of parts; an OCS is an optical circuit switch."""


@dataclass(frozen=True)
class Range:
    """A figure that is known to lie between two bounds; ``value`` counts unless a scenario asks for a bound."""

    low: float
    value: float
    high: float


@dataclass(frozen=True)
class Part:
    """Something that is bought by the piece: price in USD, power in W, seconds of latency of passing through it.

    A switch, an OCS and a NIC have ports. The power is that under load; that of the idle part is None where no source
    gives it. A switch that aggregates adds up what comes for a server, and copies what comes from it. A transceiver has
    fibres: 2 of a duplex optic, 8 of a parallel one with four each way.
    """

    name: str
    kind: str
    price: Range
    power: float
    ports: int | None
    latency: float
    source: str
    year: int
    idle_power: float | None = None
    aggregates: bool = False
    fibres: int = DUPLEX

    @property
    def radix(self) -> int:
        """Its ports; a ValueError where it has none, but catalogues with such a part are refused when they are read."""
        if self.ports is None:
            raise ValueError(f"{self.name} has no ports")
        return self.ports


@dataclass(frozen=True)
class PricedBlock:
    """A technology of prices and a block: an index into `evo_libra.network.blocks.registry.BLOCKS`, and no parts."""

    block: int

    @property
    def aggregates(self) -> bool:
        """Whether its switches add up what NPUs send to a server: no price says so."""
        return False


@dataclass(frozen=True)
class Kit:
    """A technology and a block: all that has to be known to build a dimension.

    Attributes
    ----------
    block : index into `evo_libra.network.blocks.registry.BLOCKS`.
    rank : place of the technology; dimensions never go back to a lower rank outwards.
    port_rate : B/s of a port in one direction; ports are full duplex.
    ports : most ports of an NPU.
    domain_size : most NPUs inside one domain, that is, of this dimension and all inside it; None for no limit.
    domains : the sizes of domains that are sold, each of which is one dimension; None for any.
    latency : s of a link.
    energy : J per bit and link passed, beyond the power of the parts.
    links : a link of one port between NPUs, or of an NPU to a switch.
    uplink : a link of one port between switches.
    transceiver : one at each electrical end of each link and uplink.
    nic : what ties its number of ports to an NPU.
    switch : a switch, or the OCS of a block that has one.
    short : a link of one port that needs no transceivers, for ends that are within reach of it; None for none.
    room : most NPUs that stand within its reach, around a switch in their middle.
    routing : of `evo_libra.network.routing.ROUTINGS`; empty where links between switches fill evenly.
    flows : that each message between two NPUs is split into, where flows are hashed.
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
    domains: tuple[int, ...] | None = None
    short: Part | None = None
    room: int = 0
    routing: str = ""
    flows: int = 1

    @property
    def aggregates(self) -> bool:
        """Whether its switches add up what NPUs send to a server."""
        return self.switch is not None and self.switch.aggregates

    @property
    def fibres(self) -> int:
        """Ports of an OCS that a port takes: the fibres of its transceiver."""
        return DUPLEX if self.transceiver is None else self.transceiver.fibres

    @property
    def radix(self) -> int:
        """Ports of its switch; a ValueError where it has none."""
        if self.switch is None:
            raise ValueError(f"{self.technology} has no switch")
        return self.switch.radix


@dataclass(frozen=True)
class OrderKit(Kit):
    """The network of an order as a kit: its one switch part is all of the network, with its price and its power."""
