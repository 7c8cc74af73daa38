"""Catalogues of parts: switches, NICs, cables and transceivers by the piece, and technologies that are built of them.

Such a file says ``kind: parts``. A technology and a block that can be built of it are a kit.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from evo_libra.arrays import GIGA
from evo_libra.errors import InputError, Mistake, unknown
from evo_libra.files.kinds import ENDINGS
from evo_libra.files.mistakes import KeyPath
from evo_libra.files.source import Source, named_by, packaged, read_source, validate
from evo_libra.network.blocks import Kit, Part, Range
from evo_libra.network.blocks.kit import DUPLEX
from evo_libra.network.blocks.registry import BLOCK_NAMES, BLOCKS
from evo_libra.network.catalog.link_layers import LinkLayers, link_layers, transport_mistakes
from evo_libra.network.catalog.parts_spec import KitSpec, LayoutSpec, PartSpec, PartsSpec, PowerSpec, RangeSpec, room_of
from evo_libra.network.catalog.technologies import (
    Catalog,
    catalog_names,
    catalog_of,
    load_catalog,
    names_in,
    unknown_catalog,
)
from evo_libra.units import seconds

_FOLDER = Path(__file__).with_name("per_part")
_PICO = 1e-12
_WITH_PORTS = ("nic", "switch", "ocs")
_ROLES = {
    "link": "link",
    "uplink": "link",
    "transceiver": "transceiver",
    "nic": "nic",
    "switch": "switch",
    "ocs": "ocs",
}
"""Kind of part in each role of a technology."""


@dataclass(frozen=True)
class PartsCatalog:
    """Every technology, the innermost first, with every block that can be built of it; one rank for a technology."""

    name: str
    source: str
    kits: tuple[Kit, ...]
    links: LinkLayers = field(default_factory=LinkLayers)

    @property
    def technologies(self) -> tuple[str, ...]:
        """Names of the technologies, in the order of their ranks."""
        return tuple(dict.fromkeys(kit.technology for kit in self.kits))


def parts_names() -> list[str]:
    """Return the names of the catalogues of parts that come with the package."""
    return names_in(_FOLDER)


def load_any(name: str, folder: Path = Path()) -> Catalog | PartsSpec:
    """Load a catalogue of either kind, which its name or the keys of its file tell; see `load_parts`."""
    if name.endswith(ENDINGS):
        source = read_source(folder / name)
        return _checked(source, folder / name) if _is_parts(source.data) else catalog_of(source)
    if name in parts_names():
        return load_parts_spec(name)
    if name in catalog_names():
        return load_catalog(name)
    raise unknown_catalog("catalogue", name, sorted([*catalog_names(), *parts_names()]))


def _is_parts(data: object) -> bool:
    return isinstance(data, dict) and ("kind" in data or "parts" in data)


def load_parts(name: str, folder: Path = Path()) -> PartsCatalog:
    """Load a catalogue that comes with the package, or a YAML file: a path that ends in .yaml, relative to a folder.

    An InputError says that there is no such catalogue, or what is wrong in its file.
    """
    return parts_catalog(load_parts_spec(name, folder))


def parts_catalog(spec: PartsSpec) -> PartsCatalog:
    """Return the kits of a catalogue of parts."""
    parts = {name: _part(name, part) for name, part in spec.parts.items()}
    kits = [
        _kit(name, kit, rank=rank, block=block, parts=parts, layout=spec.layout)
        for rank, (name, kit) in enumerate(spec.technologies.items())
        for block in dict.fromkeys(kit.blocks)
    ]
    return PartsCatalog(spec.name, spec.source, tuple(kits), link_layers(spec.technologies.items()))


def load_parts_spec(name: str, folder: Path = Path()) -> PartsSpec:
    """Load a catalogue of parts as its file says it, with what it extends; parameters as for `load_parts`."""
    return _spec(name, folder, ())


def _spec(name: str, folder: Path, extending: tuple[Path, ...]) -> PartsSpec:
    """Return a catalogue with what it extends; the files that led to it are not to come again."""
    path = folder / name
    if name.endswith(ENDINGS):
        if path.resolve() in (seen.resolve() for seen in extending):
            raise InputError(f"'{name}' extends this file in turn")
        return _checked(read_source(path), path, extending)
    if name not in parts_names():
        raise unknown_catalog("catalogue of parts", name, parts_names())
    own = packaged(PartsSpec, _FOLDER / f"{name}.yaml")
    return own if own.extends is None else _merged(_spec(own.extends, _FOLDER, ()), own)


def _merged(base: PartsSpec, own: PartsSpec) -> PartsSpec:
    merged = {
        "parts": base.parts | own.parts, "technologies": base.technologies | own.technologies,
        "layout": own.layout or base.layout,
    }  # fmt: skip
    return own.model_copy(update=merged)


def _checked(source: Source, path: Path, extending: tuple[Path, ...] = ()) -> PartsSpec:
    """Return what a user's file says with what it extends; an `InputError` has all mistakes."""
    own = whole = validate(PartsSpec, source)
    if own.extends is not None:
        try:
            whole = _merged(_spec(own.extends, path.parent, (*extending, path)), own)
        except InputError as error:
            raise named_by(source, ("extends",), error) from None
    mistakes = [
        source.mistake(("parts", name, *key), message)
        for name, part in own.parts.items()
        for key, message in _part_mistakes(part)
    ]
    mistakes += [mistake for name in whole.technologies for mistake in _kit_mistakes(source, whole, name)]
    mistakes += transport_mistakes(source, link_layers(whole.technologies.items()))
    if not whole.technologies:
        mistakes.append(source.mistake((), "has no technologies; at least 1 is needed"))
    if mistakes:
        raise InputError(mistakes)
    return whole


def _part_mistakes(part: PartSpec) -> list[tuple[KeyPath, str]]:
    found: list[tuple[KeyPath, str]] = []
    price = part.price_usd
    if isinstance(price, RangeSpec) and not price.low <= price.value <= price.high:
        found.append((("price_usd",), f"found {price.low:g}, {price.value:g}, {price.high:g}; low <= value <= high"))
    power = part.power_W
    if isinstance(power, PowerSpec) and power.idle > power.busy:
        found.append((("power_W",), f"found {power.idle:g}, {power.busy:g}; idle <= busy"))
    if part.kind in _WITH_PORTS and part.ports is None:
        found.append((("ports",), f"a {part.kind} needs its number of ports"))
    if part.kind not in _WITH_PORTS and part.ports is not None:
        found.append((("ports",), f"a {part.kind} has no ports; {', '.join(_WITH_PORTS)} have"))
    if part.fibres is not None and part.kind != "transceiver":
        found.append((("fibres",), f"a {part.kind} has no fibres of its own; a transceiver has"))
    if part.aggregates and part.kind != "switch":
        found.append((("aggregates",), f"a {part.kind} adds nothing up; a switch may"))
    if part.kind in ("switch", "ocs") and part.ports is not None and part.ports < 2:  # noqa: PLR2004 - joins two
        found.append((("ports",), f"found {part.ports}; a {part.kind} has at least 2"))
    return found


def _kit_mistakes(source: Source, spec: PartsSpec, name: str) -> list[Mistake]:
    kit, found = spec.technologies[name], []
    roles: list[tuple[KeyPath, str, str | None]] = [
        ((role,), kind, getattr(kit, role)) for role, kind in _ROLES.items()
    ]
    if kit.within_reach is not None:
        roles.append((("within_reach", "cable"), "link", kit.within_reach.cable))
        if spec.layout is None:
            message = "the catalogue has no layout, which says what is within reach"
            found.append(source.mistake(("technologies", name, "within_reach"), message))
    for role, kind, part in roles:
        known = [other for other, it in spec.parts.items() if it.kind == kind]
        if part is not None and part not in known:
            if part in spec.parts:
                message = f"'{part}' is a {spec.parts[part].kind}, a {kind} is needed"
            else:
                message = unknown(kind, part, known) if known else f"unknown {kind} '{part}'; the file has none"
            found.append(source.mistake(("technologies", name, *role), message))
    for index, block in enumerate(kit.blocks):
        needed = BLOCKS[BLOCK_NAMES.index(block)].switch_kind
        if needed is not None and getattr(kit, needed) is None:
            message = f"{block} needs `{needed}:`, which {name} lacks"
            found.append(source.mistake(("technologies", name, "blocks", index), message))
    place = ("technologies", name, "domains")
    return found + [source.mistake((*place, *key), message) for key, message in _domain_mistakes(kit)]


def _domain_mistakes(kit: KitSpec) -> list[tuple[KeyPath, str]]:
    found: list[tuple[KeyPath, str]] = []
    for block, sizes in (kit.domains or {}).items():
        if block not in kit.blocks:
            found.append(((block,), unknown("block of the technology", block, kit.blocks)))
        too_large = next((size for size in sizes if kit.domain_size is not None and size > kit.domain_size), None)
        if too_large is not None:
            found.append(((block, sizes.index(too_large)), f"found {too_large}; domain_size is {kit.domain_size}"))
    return found


def _part(name: str, spec: PartSpec) -> Part:
    price = spec.price_usd
    bounds = (price.low, price.value, price.high) if isinstance(price, RangeSpec) else (price, price, price)
    return Part(
        name=name, kind=spec.kind, price=Range(*bounds), power=spec.busy_watts, ports=spec.ports,
        latency=seconds(spec.latency_ns), source=spec.source, year=spec.year, idle_power=spec.idle_watts,
        aggregates=spec.aggregates, fibres=spec.fibres or DUPLEX,
    )  # fmt: skip


def _kit(
    name: str, spec: KitSpec, rank: int, block: str, parts: dict[str, Part], layout: LayoutSpec | None
) -> Kit:  # fmt: skip
    index = BLOCK_NAMES.index(block)
    kind = BLOCKS[index].switch_kind
    chosen = {role: parts[part] for role in _ROLES if (part := getattr(spec, role)) is not None}
    link, nic = chosen.get("link"), chosen.get("nic")
    rate, latency, energy = spec.port_GBps * GIGA, seconds(spec.latency_ns), spec.energy_pJ_per_bit * _PICO
    short, room = None, 0
    if spec.within_reach is not None and layout is not None:
        short, room = parts[spec.within_reach.cable], room_of(layout, spec.within_reach.longest_m)
    return Kit(
        technology=name, block=index, rank=rank, port_rate=rate, ports=spec.ports, domain_size=spec.domain_size,
        latency=latency, energy=energy, links=link, uplink=chosen.get("uplink", link),
        transceiver=chosen.get("transceiver"), nic=nic, switch=None if kind is None else chosen[kind],
        domains=None if spec.domains is None else spec.domains.get(block, ()), short=short, room=room,
    )  # fmt: skip
