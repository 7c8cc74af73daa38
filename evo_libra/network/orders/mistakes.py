"""Mistakes in a catalogue of products: each mistake with the key of the figure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from evo_libra.arrays import GIGA
from evo_libra.errors import counted, unknown
from evo_libra.files.mistakes import KeyPath
from evo_libra.network.blocks.registry import BLOCK_NAMES
from evo_libra.network.catalog.accelerators import accelerator, load_accelerator_specs
from evo_libra.network.orders.efficiency import EfficiencySpec
from evo_libra.network.orders.products import (
    CableSpec,
    NicSpec,
    OcsSpec,
    ProductSpec,
    ProductsSpec,
    RuleSpec,
    SlotSpec,
    SwitchSpec,
    SystemSpec,
)
from evo_libra.network.orders.slots import fits_bus

Found = Iterator[tuple[KeyPath, str]]

_GIGABYTE = 8
_FIBRES = ("sr", "dr", "fr")
_OF_PURCHASE, _OF_RENT = ("price_usd", "slots"), ("usd_per_npu_hour", "cubes", "data_center")
"""Figures that rented systems, and that others do not have."""

_UNPRICED = ("NPU", "rack", "liquid kW", "management port", "storage port")
"""Units of rules without a price of their own, or with one that a rule does not mean."""


def product_mistakes(spec: ProductsSpec) -> Found:
    """Yield what is wrong in a catalogue, together with what it extends, by the key of the figure."""
    if not spec.systems:
        yield ("systems",), "has no systems; at least 1 is needed"
    for group in ("systems", "nics", "switches", "cables", "modules", "ocs"):
        for name, product in getattr(spec, group).items():
            yield from _below((group, name), _sold(product))
    if spec.room is not None:
        yield from _below(("room", "rack"), _sold(spec.room.rack))
    for name, system in spec.systems.items():
        yield from _below(("systems", name), _system(system, spec.nics, spec.ocs))
    for name, nic in spec.nics.items():
        yield from _below(("nics", name), _nic(nic, [one for one in spec.systems.values() if name in one.fitting]))
    for name, switch in spec.switches.items():
        yield from _below(("switches", name), _switch(switch))
    for name, cable in spec.cables.items():
        yield from _below(("cables", name), [*_modules(cable, spec), *_ends(cable)])
    for name, rule in spec.rules.items():
        yield from _below(("rules", name), _rule(rule))


def _below(path: KeyPath, found: Found | Sequence[tuple[KeyPath, str]]) -> Found:
    return (((*path, *key), message) for key, message in found)


def _sold(product: ProductSpec) -> Found:
    since, until = product.since, product.until
    if since is not None and until is not None and f"{since}-01"[:7] > f"{until}-12"[:7]:
        yield ("until",), f"found {until}, before the first delivery in {since}"


def _system(system: SystemSpec, nics: Mapping[str, NicSpec], ocs: Mapping[str, OcsSpec]) -> Found:
    if system.npu not in load_accelerator_specs():
        yield ("npu",), unknown("accelerator", system.npu, load_accelerator_specs())
    else:
        yield from _below(("scale_up",), _links_of_npu(system))
    if system.scale_up.block not in BLOCK_NAMES:
        yield ("scale_up", "block"), unknown("block", system.scale_up.block, BLOCK_NAMES)
    yield from _sizes(system)
    yield from _rent(system, ocs)
    yield from _slots(system, nics)
    if system.racks > 1 and not system.is_rack:
        yield ("racks",), f"found {system.racks} of a system that is no rack"
    if not (system.height_U or system.is_rack or "rack" in system.includes):
        yield ("height_U",), "found 0 for a system that is no rack and includes none; rack units are needed"


def _links_of_npu(system: SystemSpec) -> Found:
    """Yield a network inside that is of no links of the NPU, or faster than all of them together."""
    npu, spec = accelerator(system.npu), system.scale_up
    if spec.technology not in npu.ports:
        yield ("technology",), f"{npu.name} has no links of {spec.technology}; its own: {', '.join(npu.ports)}"
    elif (rate := npu.wire_rate(spec.technology) / GIGA) < spec.GBps:
        ports = counted(npu.ports[spec.technology], "link")
        yield ("GBps",), f"found {spec.GBps:g}; {ports} of {spec.technology} of {npu.name} carry {rate:g} GB/s"


def _sizes(system: SystemSpec) -> Found:
    if not system.sizes:
        yield ("npus",), "needs at least one size"
        return
    if any(size % system.rails for size in system.sizes):
        yield ("rails",), f"found {system.rails}, which does not divide its NPUs"
    for index, active in enumerate(system.active):
        if active > max(system.sizes):
            yield ("active", index), f"found {active}; it has {max(system.sizes)} NPUs"


def _rent(system: SystemSpec, ocs: Mapping[str, OcsSpec]) -> Found:
    rented, cubes = system.order == "rent", system.cubes
    for key in _OF_PURCHASE if rented else _OF_RENT:
        if getattr(system, key) is not None:
            yield (key,), f"found in a system with `order: {system.order}`; leave this key out"
    if cubes is not None and any(size % cubes.side**3 for size in system.sizes):
        yield ("cubes", "side"), f"found {cubes.side}, whose cubes do not divide its NPUs"
    if cubes is not None and cubes.ocs is not None and cubes.ocs not in ocs:
        yield ("cubes", "ocs"), unknown("optical circuit switch", cubes.ocs, ocs)


def _slots(system: SystemSpec, nics: Mapping[str, NicSpec]) -> Found:
    if system.slots is None:
        if system.nics:
            yield ("nics",), "it takes NICs and has no `slots:`"
        return
    if not system.nics:
        yield ("nics",), "it has slots and lists no NIC that they take"
    for index, name in enumerate(system.nics):
        yield from _carried(("nics", index), name, system.slots, nics)
    for index, name in enumerate(system.slots.takes):
        yield from _carried(("slots", "takes", index), name, system.slots, nics)
        if name in system.nics:
            yield ("slots", "takes", index), f"{name} is in `nics` already"
    if system.slots.takes and "nics" not in system.includes:
        yield ("slots", "takes"), "the price of the system includes no NICs; list these in `nics`"


def _carried(key: KeyPath, name: str, slot: SlotSpec, nics: Mapping[str, NicSpec]) -> Found:
    """Yield a NIC that is unknown, or that a slot cannot carry: by its bus, or in none of its modes."""
    if name not in nics:
        yield key, unknown("NIC", name, nics)
        return
    slowest = min(mode.ports * mode.Gbps for mode in nics[name].modes) / _GIGABYTE
    if not fits_bus(nics[name].bus, slot.bus):
        yield key, f"{name} needs {nics[name].bus}; a slot is {slot.bus}"
    elif slowest > slot.GBps:
        yield key, f"{name} has {slowest:g} GB/s at least, a slot {slot.GBps:g} GB/s"


def _nic(nic: NicSpec, systems: Sequence[SystemSpec]) -> Found:
    for index, mode in enumerate(nic.modes):
        # NPUs of a server or a tray may share cages.
        shared = systems and all(one.rails * mode.ports % mode.per_cage == 0 for one in systems)
        if mode.ports % mode.per_cage and not shared:
            yield ("modes", index, "per_cage"), f"found {mode.per_cage}, which does not divide {mode.ports} ports"
        if mode.Gbps % mode.lane_Gbps:
            yield ("modes", index, "lane_Gbps"), f"{mode.Gbps:g} Gb/s is no whole number of lanes of {mode.lane_Gbps:g}"


def _switch(switch: SwitchSpec) -> Found:
    for index, mode in enumerate(switch.modes):
        most = min(switch.cages * mode.per_cage, switch.max_ports or mode.ports)
        if mode.ports > most:
            yield ("modes", index, "ports"), f"found {mode.ports}; {most} fit {switch.cages} cages and max_ports"
        if mode.Gbps % mode.lane_Gbps:
            yield ("modes", index, "lane_Gbps"), f"{mode.Gbps:g} Gb/s is no whole number of lanes of {mode.lane_Gbps:g}"
        earlier = switch.modes[:index]
        if (mode.Gbps, mode.lane_Gbps) in [(other.Gbps, other.lane_Gbps) for other in earlier]:
            yield ("modes", index), f"{mode.Gbps:g} Gb/s with lanes of {mode.lane_Gbps:g} is there already"
    low, high = switch.latency_range_ns or (switch.latency_ns, switch.latency_ns)
    if not low <= switch.latency_ns <= high:
        yield ("latency_range_ns",), f"found {low:g} to {high:g}; latency_ns is {switch.latency_ns:g}"
    yield from _efficiency(switch)
    if switch.platform is not None:
        yield from _below(("platform",), _efficiency(switch.platform))


def _efficiency(spec: EfficiencySpec) -> Found:
    low, high = spec.efficiency_range or (spec.efficiency, spec.efficiency)
    if not low <= spec.efficiency <= high:
        yield ("efficiency_range",), f"found {low:g} to {high:g}; efficiency is {spec.efficiency:g}"


def _modules(cable: CableSpec, spec: ProductsSpec) -> Found:
    for key in ("switch_module", "nic_module"):
        name = getattr(cable, key)
        if name is None:
            continue
        if name not in spec.modules:
            yield (key,), unknown("module", name, spec.modules)
            continue
        module = spec.modules[name]
        if module.Gbps != cable.Gbps:
            yield (key,), f"{name} has links of {module.Gbps:g} Gb/s, the cable {cable.Gbps:g}"
        if key == "nic_module" and module.links != cable.nic_ports:
            yield (key,), f"{name} has {module.links} links; nic_ports is {cable.nic_ports or 'none'}"


def _ends(cable: CableSpec) -> Found:
    if cable.nic_ports is None and not cable.joins_switches:
        yield ("joins_switches",), "it joins neither a NIC nor two switches; one of both is needed"
    if cable.kind not in _FIBRES:
        for key in ("switch_module", "nic_module"):
            if getattr(cable, key) is not None:
                yield (key,), f"the ends of a {cable.kind} are fixed; they take no module"
        if cable.links % (cable.nic_ports or 1):
            yield ("nic_ports",), f"found {cable.nic_ports}, which does not divide {cable.links} links"
        return
    yield from _fibre(cable)


def _fibre(cable: CableSpec) -> Found:
    for key in ("switch_end", "nic_end"):
        if getattr(cable, key):
            yield (key,), f"the ends of a {cable.kind} are its modules, which have their `form`"
    if cable.links != 1:
        yield ("links",), f"found {cable.links}; a fibre has 1 link, its modules may have more"
    if cable.switch_module is None:
        yield ("switch_module",), f"a {cable.kind} needs a module at its switch"
    if (cable.nic_module is None) != (cable.nic_ports is None):
        yield ("nic_module",), f"a {cable.kind} needs a module at its NIC, or `nic_ports: null`"


def _rule(rule: RuleSpec) -> Found:
    if rule.units is not None and rule.usd is None and rule.per in _UNPRICED:
        yield ("usd",), f"units per {rule.per} need a price"
