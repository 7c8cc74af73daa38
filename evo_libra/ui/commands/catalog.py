"""The command `catalog`: names for problem files, of catalogues, models, problems, engines."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any

from evo_libra.errors import InputError, suggestion
from evo_libra.files.kinds import ENDINGS
from evo_libra.ui.commands.shared import Json, app
from evo_libra.ui.tables.ages import show_stale, stale_entries
from evo_libra.ui.tables.catalogues import LISTS, show_catalog
from evo_libra.ui.tables.output import print_json
from evo_libra.ui.tables.products import products_json

if TYPE_CHECKING:
    from pydantic import BaseModel

    from evo_libra.network.catalog.parts_spec import PartsSpec
    from evo_libra.network.catalog.technologies import Catalog


@app.command
def catalog(name: str | None = None, *, sources: bool = False, stale: int | None = None, as_json: Json = False) -> int:
    """List what problem files can name: catalogues with prices, accelerators, models, blocks, problems, engines.

    Parameters
    ----------
    name:
        Show only this catalogue (a name, or a .yaml file), accelerator or model, or designs, clusters, hosts, failures.
    sources:
        Show where the figures come from, in place of the figures.
    stale:
        List the entries of all catalogues whose newest source is older than this year.
    """
    if stale is not None:
        return _stale(name, stale, as_json=as_json)
    data = _everything() if name is None else _one(name)
    if as_json:
        print_json(data)
    else:
        show_catalog(data, sources=sources)
    return 0


def _stale(name: str | None, year: int, *, as_json: bool) -> int:
    """Print the entries whose newest source is older than a year."""
    if name is not None:
        raise InputError(f"--stale is about all catalogues; leave out '{name}'")
    if as_json:
        print_json({"stale": [vars(entry) for entry in stale_entries(year)]})
    else:
        show_stale(year)
    return 0


def _everything() -> dict[str, Any]:
    from evo_libra.network.blocks.registry import BLOCKS
    from evo_libra.network.catalog.accelerators import load_accelerator_specs
    from evo_libra.network.catalog.parts import load_parts_spec, parts_names
    from evo_libra.network.catalog.technologies import catalog_names, load_catalog
    from evo_libra.network.orders.catalog import load_products, products_names
    from evo_libra.problem.file.registry import problem_names
    from evo_libra.searching.registry import AUTO, engine_names
    from evo_libra.workload.layers.generators import load_models
    from evo_libra.workload.models.decoder import load_decoders
    from evo_libra.workload.models.recommender import trainable_recommenders

    return {
        "catalogs": {name: _linear(load_catalog(name)) for name in catalog_names()},
        "parts_catalogs": {name: _parts(load_parts_spec(name)) for name in parts_names()},
        "product_catalogs": {name: products_json(load_products(name)) for name in products_names()},
        "blocks": {block.name: block.code for block in BLOCKS},
        "models": {key: model.model_dump(mode="json") for key, model in load_models().items()},
        "language_models": {name: _decoder(name) for name in load_decoders()},
        "recommendation_models": {name: _recommender(name) for name in trainable_recommenders()},
        "accelerators": {name: _accelerator(name) for name in load_accelerator_specs()},
        **{name: _listed(name) for name in LISTS},
        "problems": problem_names(),
        "engines": [AUTO, *engine_names()],
    }


def _one(name: str) -> dict[str, Any]:
    from evo_libra.network.catalog.accelerators import load_accelerator_specs
    from evo_libra.network.catalog.parts import load_any, parts_names
    from evo_libra.network.catalog.technologies import Catalog, catalog_names
    from evo_libra.network.orders.catalog import is_products, load_products, products_names
    from evo_libra.workload.models.decoder import load_decoders
    from evo_libra.workload.models.recommender import trainable_recommenders

    entries: dict[str, tuple[Collection[str], Callable[[str], dict[str, Any]]]] = {
        "accelerators": (load_accelerator_specs(), _accelerator), "language_models": (load_decoders(), _decoder),
        "recommendation_models": (trainable_recommenders(), _recommender),
    }  # fmt: skip
    for key, (names, entry_of) in entries.items():
        if name in names:
            return {key: {name: entry_of(name)}}
    if name in LISTS:
        return {name: _listed(name)}
    if name in products_names() or is_products(name):
        products = load_products(name)
        return {"product_catalogs": {products.name: products_json(products)}}
    known = [*catalog_names(), *parts_names(), *products_names()]
    if not name.endswith(ENDINGS) and name not in known:
        lists = [*known, *LISTS]
        near = suggestion(name, [*lists, *(each for names, _ in entries.values() for each in names)])
        raise InputError(
            f"unknown catalogue '{name}'; allowed: {', '.join(known)}, the path of a .yaml file, or an accelerator, "
            f"language model, recommendation model, {', '.join(f'`{one}`' for one in LISTS[:-1])} or `{LISTS[-1]}`, "
            f"as `evo-libra catalog` lists{near}"
        )
    found = load_any(name)
    if isinstance(found, Catalog):
        return {"catalogs": {found.name: _linear(found)}}
    return {"parts_catalogs": {found.name: _parts(found)}}


def _listed(name: str) -> dict[str, Any]:
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
    weights = {"parameters": found.parameters, "active_parameters": found.active_parameters}
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
