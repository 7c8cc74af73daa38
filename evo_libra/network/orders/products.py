"""Products as a catalogue of them writes them: systems, NICs, switches, cables, circuit switches, and rooms.

A product is what has one line on a quotation. Nothing inside it is bought again. A figure that no source gives is left
out, and whatever needs it is refused with the product and the key. Bandwidths are those of one direction.
"""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from evo_libra.files.source import StrictModel
from evo_libra.network.catalog.parts_spec import Amount, Count, Rate
from evo_libra.network.catalog.technologies import Name
from evo_libra.network.orders.efficiency import EfficiencySpec, PlatformSpec

Layer = Literal["infiniband", "ethernet"]
Cooling = Literal["air", "liquid"]
Status = Literal["buy", "rent", "own", "roadmap"]
Month = Annotated[str, Field(pattern=r"^20[0-9]{2}(-(0[1-9]|1[0-2]))?$")]


class PriceSpec(StrictModel):
    """A price in USD that is known to lie between two bounds."""

    low: Amount = Field(description="lowest")
    value: Amount = Field(description="what counts unless a scenario asks for a bound")
    high: Amount = Field(description="highest")
    basis: Literal["public", "estimate"] = Field("public", description="whether it was published")

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if not self.low <= self.value <= self.high:
            raise ValueError(f"found {self.low:g}, {self.value:g}, {self.high:g}; low <= value <= high")
        return self


Price = Amount | PriceSpec


class ProductSpec(StrictModel):
    """Figures that all products have."""

    order: Status = Field("buy", description="whether it can be bought, is rented, is its maker's own, or is announced")
    since: Month | None = Field(None, description="first month or year of delivery")
    until: Month | None = Field(None, description="last month or year of sale; still sold when left out")
    supplier: str = Field("", description="who makes it")
    price_usd: Price | None = Field(None, description="price of a piece; none is public when left out")
    source: str = Field(min_length=1, description="where the figures come from")
    year: int = Field(ge=1990, le=2100, description="of the figures")
    sources: dict[str, str] = Field({}, description="where a figure comes from, with its year, by its key")


class ScaleUpSpec(StrictModel):
    """The network inside a system, which is fixed."""

    technology: Name = Field(description="its link technology, such as nvlink5")
    block: str = Field(description="its building block, such as switch")
    GBps: Rate = Field(description="bandwidth per NPU")
    ports: Count = Field(description="links per NPU that make up the bandwidth")
    latency_ns: Amount = Field(description="of a link")
    switch_latency_ns: Amount = Field(0.0, description="of its switches")


class SlotSpec(StrictModel):
    """The slots for NICs."""

    per_npu: Rate = Field(1.0, description="slots per NPU")
    bus: str = Field(description="such as pcie5-x16")
    GBps: Rate = Field(description="bandwidth of a slot in one direction")
    takes: tuple[Name, ...] = Field((), description="NICs that are bought in the place of the first of `nics`")


class CubesSpec(StrictModel):
    """The cubes of NPUs that a slice is made of; optical links and circuit switches join their faces."""

    side: Count = Field(description="NPUs along a side of a cube, in which links are of copper")
    ocs: Name | None = Field(None, description="optical circuit switch that joins faces; not published when left out")


class DataCenterSpec(StrictModel):
    """The network of the data centre that joins rented systems, which is in their price."""

    Gbps: Rate = Field(description="rate of an NPU's part of the NICs of its host")
    latency_ns: Amount = Field(description="from host to host")


class PortsSpec(StrictModel):
    """Ports of a whole system that are not for its NPUs."""

    Gbps: Rate = Field(description="rate of each")
    count: Count = Field(description="ports of a system")


Inclusion = Literal["nics", "scale-up", "host", "rack", "cooling", "scale-out", "optics"]


class SystemSpec(ProductSpec):
    """A board, server, rack or slice: NPUs with a scale-up network and all that is sold with them."""

    npu: Name = Field(description="accelerator of the catalogue")
    npus: Count | tuple[Count, ...] = Field(description="NPUs of one; several sizes of a slice")
    active: tuple[Count, ...] = Field((), description="NPUs in use, the rest are spare; all of them when left out")
    scale_up: ScaleUpSpec = Field(description="the network inside, which joins all NPUs of a system")
    rails: Count = Field(description="NPUs of a server or a tray, which are cabled apart")
    includes: tuple[Inclusion, ...] = Field(("scale-up", "host"), description="what its price and power have already")
    slots: SlotSpec | None = Field(None, description="slots for NICs; none of a slice that is rented whole")
    nics: tuple[Name, ...] = Field((), description="NICs that it takes, or carries on board")
    usd_per_npu_hour: Price | None = Field(None, description="rent of an NPU; none is public when left out")
    cubes: CubesSpec | None = Field(None, description="what slices are made of; none of other systems")
    data_center: DataCenterSpec | None = Field(None, description="what joins rented systems; one alone when left out")
    kW: Amount | None = Field(None, description="power of one under load, with all that it includes")
    height_U: Amount = Field(0.0, description="rack units")
    per_rack: Count | None = Field(None, description="most systems of a rack in the maker's reference architecture")
    is_rack: bool = Field(default=False, description="whether one is a rack of its own")
    racks: Count = Field(1, description="racks that such a one fills; several of it are joined by its maker alone")
    free_U: Amount = Field(0.0, description="units that such a rack has left for leaves")
    cooling: Cooling = Field("air", description="how it is cooled")
    management_ports: Count = Field(1, description="ports of management controllers")
    storage_ports: PortsSpec | None = Field(None, description="ports for storage and users; none when left out")

    @property
    def sizes(self) -> tuple[int, ...]:
        """NPUs of one; several of a slice."""
        return self.npus if isinstance(self.npus, tuple) else (self.npus,)

    @property
    def fitting(self) -> tuple[Name, ...]:
        """NICs that it has, and those that are bought in the place of the first of them."""
        return self.nics + (() if self.slots is None else self.slots.takes)


class NicModeSpec(StrictModel):
    """Ports that a NIC can be set to."""

    ports: Count = Field(description="ports")
    Gbps: Rate = Field(description="rate of each")
    layers: tuple[Layer, ...] = Field(min_length=1, description="link layers in this mode")
    per_cage: Count = Field(1, description="ports of a cage in this mode")
    lane_Gbps: Rate = Field(100.0, description="rate of a lane; cable and switch need the same")


class NicSpec(ProductSpec):
    """A NIC."""

    modes: tuple[NicModeSpec, ...] = Field(min_length=1, description="ports that it can be set to")
    bus: str = Field(description="slot that it needs, such as pcie5-x16")
    cage: str = Field(description="what its cables end in, such as osfp")
    power_W: Amount | None = Field(None, description="power of one without modules")
    latency_ns: Amount = Field(0.0, description="of passing through it")
    platform: str = Field("", description="platform in whose routing it takes part, such as spectrum-x")


class SwitchModeSpec(StrictModel):
    """Ports that a switch can be set to."""

    ports: Count = Field(description="ports")
    Gbps: Rate = Field(description="rate of each")
    per_cage: Count = Field(description="ports of a cage in this mode")
    lane_Gbps: Rate = Field(100.0, description="rate of a lane; cable and NIC need the same")


class SwitchSpec(ProductSpec, EfficiencySpec):
    """A packet switch; its efficiency is that with any NIC."""

    layer: Layer = Field(description="its link layer")
    modes: tuple[SwitchModeSpec, ...] = Field(min_length=1, description="ports that it can be set to")
    cages: Count = Field(description="cages for cables and modules")
    cage: str = Field("", description="what its cables end in, such as osfp; not stated when left out")
    max_ports: Count | None = Field(None, description="most ports over mixed modes; those of the mode when left out")
    co_packaged: bool = Field(default=False, description="whether optics are inside, so links need fibres alone")
    power_W: Amount | None = Field(None, description="power without modules; with its optics where co-packaged")
    height_U: Amount = Field(1.0, description="rack units")
    latency_ns: Amount = Field(description="of passing through it")
    latency_range_ns: tuple[Amount, Amount] | None = Field(None, description="lowest and highest latency of sources")
    platform: PlatformSpec | None = Field(None, description="efficiency with NICs of its platform, where it has one")
    cooling: Cooling = Field("air", description="how it is cooled")
    license_usd: Amount = Field(0.0, description="licence of one")


class CableSpec(ProductSpec):
    """A link between two ports: a cable, or a fibre with its modules; the price is that of the cable with its ends.

    An optical link of modules has them as lines of their own: a module at each end, twin-port ones serve two links.
    """

    kind: Literal["dac", "acc", "aec", "aoc", "sr", "dr", "fr"] = Field(description="how it carries the signal")
    Gbps: Rate = Field(description="rate of a link")
    lane_Gbps: Rate = Field(100.0, description="rate of a lane; ports at both ends need the same")
    links: Count = Field(1, description="links of one cable: 2 of a splitter")
    nic_ports: Count | None = Field(
        1, description="ports of a cage of a NIC at its end; none where it joins switches alone"
    )
    joins_switches: bool = Field(default=True, description="whether it joins two switches, too")
    layers: tuple[Layer, ...] = Field(("infiniband", "ethernet"), min_length=1, description="link layers of its ports")
    switch_end: str = Field("", description="form factor of a fixed end at a switch, such as osfp; any when left out")
    nic_end: str = Field("", description="form factor of a fixed end at a NIC, such as qsfp112; any when left out")
    reach_m: Rate = Field(description="longest way")
    fibres: Amount = Field(0, description="fibres of a link")
    W_per_end: Amount = Field(0.0, description="power at each of its two sides; a side of a splitter has all its ends")
    switch_module: Name | None = Field(None, description="module at a switch; none of a cable with fixed ends")
    nic_module: Name | None = Field(None, description="module at a NIC; none of a cable with fixed ends")


class ModuleSpec(ProductSpec):
    """An optical module."""

    Gbps: Rate = Field(description="rate of a link")
    links: Count = Field(1, description="links that one serves")
    form: str = Field("", description="form factor, such as osfp with any heat sink; it fits any cage when left out")
    power_W: Amount = Field(description="power of one")


class OcsSpec(ProductSpec):
    """An optical circuit switch."""

    ports: Count = Field(description="ports")
    duplex_ports_per_link: Count = Field(2, description="ports that a link takes with a duplex or bidirectional optic")
    parallel_ports_per_link: Count = Field(8, description="ports that a link takes with a parallel optic")
    power_W: Amount = Field(description="power")
    height_U: Amount = Field(4.0, description="rack units")


class RackSpec(ProductSpec):
    """A rack with its PDUs."""

    U: Amount = Field(description="units")
    kW: Amount = Field(description="power of what stands in it, where air cools its systems")
    liquid_kW: Amount | None = Field(None, description="that where liquid cools them; `kW` when left out")
    width_m: Rate = Field(description="width")
    pdus: Count = Field(2, description="PDUs in it, with a management port each")
    pdu_kW: Amount | None = Field(None, description="power of a PDU; a rack of more power has more PDUs")


class RoomSpec(StrictModel):
    """The arrangement of racks."""

    rack: RackSpec = Field(description="the rack")
    racks_per_row: Count = Field(20, description="racks of a row")
    row_pitch_m: Rate = Field(3.0, description="from row to row")
    slack_m: Amount = Field(5.0, description="of a cable, up, down and coiled, both ends together")
    cdu_kW: Rate | None = Field(None, description="heat that a CDU takes; it has a management port")
    in_rack_m: Rate = Field(2.0, description="of a cable between a system and a leaf in its rack")
    source: str = Field(min_length=1, description="where the figures come from")
    year: int = Field(ge=1990, le=2100, description="of the figures")


class RuleSpec(StrictModel):
    """A line that follows from others: so much per unit; each can be switched off by its name."""

    meaning: str = Field(min_length=1, description="one line for people")
    per: Literal[
        "NPU", "server", "system", "tray", "switch", "module", "cable", "rack", "liquid kW", "management port",
        "storage port", "USD of systems", "USD of network",
    ] = Field(description="what one unit is counted per; trays: servers, and those of racks in full use")  # fmt: skip
    units: Rate | None = Field(
        None, description="units per each; a share, such as 0.01 for 1 %; no line where it is left out"
    )
    whole: bool = Field(default=True, description="whether units come in whole numbers")
    usd: Price | None = Field(
        None, description="price of a unit; when left out, the price of the product that it is counted per"
    )
    power_W: Amount = Field(0.0, description="power of a unit")
    section: Literal["management", "storage", "spares", "cooling", "racks", "licences", "support", "installation"] = (
        Field(description="part of the bill")
    )
    basis: Literal["public", "estimate", "own"] = Field("public", description="own: a figure that a user has to give")
    source: str = Field(min_length=1, description="where the figures come from")
    year: int = Field(ge=1990, le=2100, description="of the figures")


class ProductsSpec(StrictModel):
    """A catalogue of products."""

    kind: Literal["products"] = Field(description="products")
    name: str = Field(description="name of the catalogue")
    source: str = Field(description="where the figures come from")
    extends: str | None = Field(
        None, description="catalogue whose products are here, too, where this one does not replace them"
    )
    systems: dict[Name, SystemSpec] = Field(default_factory=dict, description="systems, by name")
    nics: dict[Name, NicSpec] = Field(default_factory=dict, description="NICs, by name")
    switches: dict[Name, SwitchSpec] = Field(default_factory=dict, description="packet switches, by name")
    cables: dict[Name, CableSpec] = Field(default_factory=dict, description="cables, by name")
    modules: dict[Name, ModuleSpec] = Field(default_factory=dict, description="optical modules, by name")
    ocs: dict[Name, OcsSpec] = Field(default_factory=dict, description="optical circuit switches, by name")
    room: RoomSpec | None = Field(None, description="the room")
    rules: dict[Name, RuleSpec] = Field(default_factory=dict, description="lines that follow from others, by name")
    rent_years: Rate | None = Field(
        None, description="years for which rented systems are paid; a problem that has them takes its `tco.years`"
    )

    def __hash__(self) -> int:
        """Return the hash of the name, so that caches of what follows from a catalogue find it."""
        return hash(self.name)
