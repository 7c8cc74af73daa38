"""Entries of the catalogues as data: all of them, a catalogue, a kind of entries, or one entry by its name."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from evo_libra.errors import InputError, suggestion
from evo_libra.files.kinds import ENDINGS
from evo_libra.ui.tables.products import GROUPS, products_json

if TYPE_CHECKING:
    from pydantic import BaseModel

    from evo_libra.network.catalog.parts_spec import PartsSpec
    from evo_libra.network.catalog.technologies import Catalog

LISTS = ("designs", "clusters", "hosts", "failures")
"""Lists by name: reference designs, reference orders, nodes around accelerators, and how often parts fail."""

MODELS = ("language_models", "recommendation_models", "models")
PARTS = ("technologies", "parts")
NAMES = ("problems", "engines", "blocks")
"""Kinds that are names alone."""
KINDS = ("accelerators", "models", *LISTS, *GROUPS, *PARTS)
"""Kinds of entries that the command shows in one table."""

Data = dict[str, Any]


def everything() -> Data:
    """Return all that problem files can name."""
    from evo_libra.network.catalog.parts import load_parts_spec, parts_names
    from evo_libra.network.catalog.technologies import catalog_names, load_catalog
    from evo_libra.network.orders.catalog import load_products, products_names

    return {
        "catalogs": {name: _linear(load_catalog(name)) for name in catalog_names()},
        "parts_catalogs": {name: _parts(load_parts_spec(name)) for name in parts_names()},
        "product_catalogs": {name: products_json(load_products(name)) for name in products_names()},
        **{key: {name: entry_of(name) for name in names} for key, (names, entry_of) in _shown_alone().items()},
        **{name: listed(name) for name in LISTS},
        **names_alone(),
    }


def names_alone() -> Data:
    """Return the names of problems and engines, and those of blocks with their codes."""
    from evo_libra.network.blocks.registry import BLOCKS
    from evo_libra.problem.file.registry import problem_names
    from evo_libra.searching.registry import AUTO, engine_names

    blocks = {block.name: block.code for block in BLOCKS}
    return {"problems": problem_names(), "engines": [AUTO, *engine_names()], "blocks": blocks}


def named(name: str, part: str | None = None) -> Data:
    """Return a catalogue, a kind of entries, or an entry by name; a part of a catalogue or of a list where it is given.

    An `InputError` lists what there is, with the nearest name.
    """
    for key, (names, entry_of) in _shown_alone().items():
        if name in names and part is None:
            return {key: {name: entry_of(name)}}
    if name in NAMES and part is None:
        return {name: names_alone()[name]}
    if name in KINDS:
        return _kind(name) if part is None else _entry(part, _kind(name), of=name)
    found = _catalogue(name)
    if found is None:
        return _entry(name, _entries()) if part is None else _refuse_part(name, part)
    return found if part is None else _part(found, part)


def entry_of(kind: str, name: str) -> Data:
    """Return an entry by its kind, as people call it in the singular, and its name."""
    key = _OF_KINDS[kind]
    names, read = _shown_alone().get(key, ((), None))
    return {key: {name: read(name) if read and name in names else _kind(key)[key][name]}}


_OF_KINDS = {
    "accelerator": "accelerators", "language model": "language_models", "recommendation model": "recommendation_models",
    "model of layers": "models", "system": "systems", "NIC": "nics", "switch": "switches", "cable": "cables",
    "module": "modules", "circuit switch": "ocs", "rule": "rules", "link technology": "technologies", "part": "parts",
    "reference design": "designs", "reference order": "clusters", "host": "hosts", "failure rate": "failures",
}  # fmt: skip


def _shown_alone() -> dict[str, tuple[Collection[str], Callable[[str], Data]]]:
    """Return the kinds of entries that have a table of their own, with a function that returns one."""
    from evo_libra.network.catalog.accelerators import load_accelerator_specs
    from evo_libra.workload.layers.generators import load_models
    from evo_libra.workload.models.decoder import load_decoders
    from evo_libra.workload.models.recommender import trainable_recommenders

    return {
        "accelerators": (load_accelerator_specs(), _accelerator), "language_models": (load_decoders(), _decoder),
        "recommendation_models": (trainable_recommenders(), _recommender),
        "models": (load_models(), lambda name: {**load_models()[name].model_dump(mode="json"), "order": "research"}),
    }  # fmt: skip


def _kind(name: str) -> Data:
    """Return all entries of a kind; those of products and parts are of all catalogues of the package."""
    if name in LISTS:
        return {name: listed(name)}
    alone = _shown_alone()
    if name in ("accelerators", "models"):
        keys = MODELS if name == "models" else (name,)
        return {
            key: {each: entry_of(each) for each in names} for key, (names, entry_of) in alone.items() if key in keys
        }
    return {name: dict(_of_catalogues(name))}


def _of_catalogues(kind: str) -> Iterator[tuple[str, Data]]:
    """Yield the entries of a kind of products or of parts in the catalogues of the package, each once."""
    from evo_libra.network.catalog.parts import load_parts_spec, parts_names
    from evo_libra.network.orders.catalog import load_products, products_names

    if kind in GROUPS:
        for name in products_names():
            yield from products_json(load_products(name))[kind].items()
        return
    for name in reversed(parts_names()):
        yield from _parts(load_parts_spec(name))[kind].items()


def _entries() -> Data:
    """Return the entries of products, parts and lists by kind; accelerators and models are shown alone."""
    return {kind: found[kind] for kind in (*GROUPS, *PARTS, *LISTS) for found in [_kind(kind)]}


def _entry(name: str, kinds: Data, *, of: str | None = None) -> Data:
    """Return the entries of a name, by kind."""
    found = {kind: {name: entries[name]} for kind, entries in kinds.items() if name in entries}
    return found or _refuse(name, {each: None for entries in kinds.values() for each in entries} if of else None, of)


def _catalogue(name: str) -> Data | None:
    """Return a catalogue of the package, or that of a file; None where there is none of the name."""
    from evo_libra.network.catalog.parts import load_any, parts_names
    from evo_libra.network.catalog.technologies import Catalog, catalog_names
    from evo_libra.network.orders.catalog import is_products, load_products, products_names

    if name in products_names() or is_products(name):
        products = load_products(name)
        return {"product_catalogs": {products.name: products_json(products)}}
    if not name.endswith(ENDINGS) and name not in (*catalog_names(), *parts_names()):
        return None
    found = load_any(name)
    if isinstance(found, Catalog):
        return {"catalogs": {found.name: _linear(found)}}
    return {"parts_catalogs": {found.name: _parts(found)}}


def _part(catalogue: Data, part: str) -> Data:
    """Return a kind of entries of a catalogue, or one of its entries."""
    ((_, (entries,)),) = ((key, found.values()) for key, found in catalogue.items())
    kinds = {kind: entries[kind] for kind in (*GROUPS, *PARTS) if kind in entries}
    return {part: kinds[part]} if part in kinds else _entry(part, kinds, of=next(iter(*catalogue.values())))


def _refuse_part(name: str, part: str) -> Data:
    """Refuse a part of what has none: an entry, or a name that is not known."""
    alone = {kind: names for kind, (names, _) in _shown_alone().items()}
    kinds = [kind.replace("_", " ") for kind, entries in (alone | _entries()).items() if name in entries]
    if not kinds:
        return _refuse(name)
    more = f", and `catalog {part}` all {part}" if part in KINDS else ""
    raise InputError(f"'{name}' is one of {kinds[0]}, and has no '{part}'; `catalog {name}` shows it{more}")


def _refuse(name: str, allowed: Collection[str] | None = None, of: str | None = None) -> Data:
    """Refuse a name with what there is, and the nearest one."""
    from evo_libra.network.catalog.parts import parts_names
    from evo_libra.network.catalog.technologies import catalog_names
    from evo_libra.network.orders.catalog import products_names

    if of is not None:
        raise InputError(f"{of} has no '{name}'{suggestion(name, list(allowed or ()))}")
    known = [*catalog_names(), *parts_names(), *products_names()]
    alone = [each for names, _ in _shown_alone().values() for each in names]
    others = [each for entries in _entries().values() for each in entries]
    kinds = ", ".join(f"`{one}`" for one in (*KINDS, *NAMES))
    near = suggestion(name, [*known, *KINDS, *NAMES, *alone, *others])
    raise InputError(
        f"unknown name '{name}'; allowed: {', '.join(known)}, the path of a .yaml file, {kinds}, or the name of "
        f"an entry, as `evo-libra catalog --all` lists{near}{_named_in_sources(name)}"
    )


def _named_in_sources(word: str) -> str:
    """Return which entries have a word in their source, as the name of a chip in boxes of another name.

    >>> _named_in_sources("quantum-2")
    '; the source of qm9700, infiniband-ndr names it'
    """
    sought = re.compile(rf"(?<![\w-]){re.escape(word)}(?![\w-])", re.IGNORECASE)
    entries = [pair for kind in _entries().values() for pair in kind.items()]
    found = dict.fromkeys(name for name, entry in entries if sought.search(str(entry.get("source") or "")))
    return f"; the source of {', '.join(found)} names it" if 0 < len(found) <= _FEW else ""


_FEW = 8
"""Most entries that a hint names; more have a word such as the name of a maker."""


def listed(name: str) -> Data:
    """Return a list as its file has it."""
    from evo_libra.network.catalog.clusters import reference_orders
    from evo_libra.network.catalog.designs import reference_designs
    from evo_libra.network.catalog.failures import load_failure_specs
    from evo_libra.network.catalog.hosts import load_hosts

    loaders: dict[str, Callable[[], Mapping[str, BaseModel]]] = {
        "designs": reference_designs, "clusters": reference_orders, "hosts": load_hosts,
        "failures": load_failure_specs,
    }  # fmt: skip
    specs = loaders[name]()
    return {each: spec.model_dump(mode="json", exclude_none=name == "hosts") for each, spec in specs.items()}


def _accelerator(name: str) -> dict[str, Any]:
    """Return an accelerator as its file has it, with the constants of its class where it has none."""
    from evo_libra.network.catalog.accelerators import load_accelerator_specs, with_class_defaults

    spec = with_class_defaults(load_accelerator_specs()[name])
    return spec.model_dump(mode="json", exclude_none=True, exclude_unset=True)


def _decoder(name: str) -> dict[str, Any]:
    """Return the hyper-parameters of a language model, and its numbers of weights."""
    from evo_libra.workload.models.decoder import decoder

    found = decoder(name)
    shape = {key: value for key, value in found.figures().items() if key not in ("name", "source", "mixed")}
    kinds = {} if found.mixed is None else {"layer_kinds": found.mixed.texts()}
    weights = {
        "parameters": found.parameters,
        "active_parameters": found.active_parameters,
        "embedding_parameters": found.embedding.parameters(),
    }
    return {**shape, **kinds, **weights, "order": found.order, "source": found.source, "year": found.year}


def _recommender(name: str) -> dict[str, Any]:
    """Return the hyper-parameters of a recommendation model, and its numbers of weights."""
    from evo_libra.workload.models.recommender import recommender

    found = recommender(name)
    shape = found.model_dump(exclude={"name", "source"})
    weights = {"embedding_parameters": found.known_rows * found.embedding, "mlp_parameters": found.mlp_weights}
    return {**shape, **weights, "source": " ".join(found.source.split())}


def _linear(catalog: Catalog) -> dict[str, Any]:
    technologies = {t.name: _technology_json(t) for t in catalog.technologies}
    return {"source": " ".join(catalog.source.split()), "technologies": technologies}


def _parts(spec: PartsSpec) -> dict[str, Any]:
    """Return a catalogue of parts as its file has it, with what it extends; prices are low, value and high."""
    return {
        "name": spec.name,
        "source": " ".join(spec.source.split()),
        "technologies": {each: kit.model_dump(mode="json") for each, kit in spec.technologies.items()},
        "parts": {each: _part_json(spec, each) for each in sorted(spec.parts)},
    }


def _part_json(spec: PartsSpec, name: str) -> dict[str, Any]:
    part = spec.parts[name]
    found = part.model_dump(mode="json") | {"power_W": part.busy_watts, "idle_W": part.idle_watts}
    price = found["price_usd"]
    return {**found, "price_usd": price if isinstance(price, dict) else {"low": price, "value": price, "high": price}}


def _technology_json(technology: Any) -> dict[str, Any]:  # noqa: ANN401 - a Technology, imported late
    from evo_libra.arrays import GIGA
    from evo_libra.units import nanoseconds

    def per_gigabyte(value: float | None) -> float | None:
        # Twelve digits, so that the price reads as it was written.
        return None if value is None else float(f"{value * GIGA:.12g}")

    return {
        "link_usd_per_GBps": per_gigabyte(technology.link),
        "switch_usd_per_GBps": per_gigabyte(technology.switch),
        "nic_usd_per_GBps": per_gigabyte(technology.nic),
        "largest_dimension": technology.largest_dimension,
        "bandwidth_cap_GBps": None if technology.bandwidth_cap is None else technology.bandwidth_cap / GIGA,
        "latency_ns": None if technology.latency is None else nanoseconds(technology.latency),
        "blocks": list(technology.blocks),
    }
