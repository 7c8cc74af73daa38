"""The command `catalog`: names for problem files, of catalogues, models, problems, engines."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any

from evo_libra.errors import InputError, suggestion
from evo_libra.files.kinds import ENDINGS
from evo_libra.ui.commands.shared import Json, app
from evo_libra.ui.tables.output import new_console, print, print_json, print_table
from evo_libra.ui.tables.parts import figure, show_parts
from evo_libra.ui.tables.products import products_json, show_products

if TYPE_CHECKING:
    from pydantic import BaseModel
    from rich.console import Console

    from evo_libra.network.catalog.parts_spec import PartsSpec
    from evo_libra.network.catalog.technologies import Catalog


_LISTS = ("designs", "hosts", "failures")
"""Lists by name: reference designs, nodes around accelerators, and how often parts fail."""


@app.command
def catalog(name: str | None = None, *, sources: bool = False, as_json: Json = False) -> int:
    """List what problem files can name: catalogues with prices, accelerators, models, blocks, problems, engines.

    Parameters
    ----------
    name:
        Show only this catalogue (a name, or a .yaml file), accelerator or model, the designs, hosts or failures.
    sources:
        Show the source of each product, and of each of its figures from elsewhere.
    """
    data = _everything() if name is None else _one(name)
    if as_json:
        print_json(data)
    else:
        _show_catalog(data, sources=sources)
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
        **{name: _listed(name) for name in _LISTS},
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
    if name in _LISTS:
        return {name: _listed(name)}
    if name in products_names() or is_products(name):
        products = load_products(name)
        return {"product_catalogs": {products.name: products_json(products)}}
    known = [*catalog_names(), *parts_names(), *products_names()]
    if not name.endswith(ENDINGS) and name not in known:
        lists = [*known, *_LISTS]
        near = suggestion(name, [*lists, *(each for names, _ in entries.values() for each in names)])
        raise InputError(
            f"unknown catalogue '{name}'; allowed: {', '.join(known)}, the path of a .yaml file, or an accelerator, "
            f"language model, recommendation model, {', '.join(f'`{one}`' for one in _LISTS[:-1])} or `{_LISTS[-1]}`, "
            f"as `evo-libra catalog` lists{near}"
        )
    found = load_any(name)
    if isinstance(found, Catalog):
        return {"catalogs": {found.name: _linear(found)}}
    return {"parts_catalogs": {found.name: _parts(found)}}


def _listed(name: str) -> dict[str, Any]:
    """Return a list as its file has it."""
    from evo_libra.network.catalog.designs import reference_designs
    from evo_libra.network.catalog.failures import load_failure_specs
    from evo_libra.network.catalog.hosts import load_hosts

    loaders: dict[str, Callable[[], Mapping[str, BaseModel]]] = {
        "designs": reference_designs, "hosts": load_hosts, "failures": load_failure_specs
    }  # fmt: skip
    specs = loaders[name]()
    return {each: spec.model_dump(mode="json", exclude_none=name == "hosts") for each, spec in specs.items()}


def _accelerator(name: str) -> dict[str, Any]:
    """Return an accelerator as its file has it."""
    from evo_libra.network.catalog.accelerators import load_accelerator_specs

    return load_accelerator_specs()[name].model_dump(mode="json", exclude_none=True, exclude_unset=True)


def _decoder(name: str) -> dict[str, Any]:
    """Return the hyper-parameters of a language model, and its numbers of weights."""
    from evo_libra.workload.models.decoder import decoder

    found = decoder(name)
    shape = {key: value for key, value in found.figures().items() if key not in ("name", "source")}
    weights = {"parameters": found.parameters, "active_parameters": found.active_parameters}
    return {**shape, **weights, "source": found.source}


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


def _show_catalog(data: Mapping[str, Any], *, sources: bool) -> None:
    for name, catalog in data.get("catalogs", {}).items():
        _show_linear(name, catalog)
    # Alone a catalogue is shown with all its figures; in the list it is one of many.
    if len(data) == 1:
        _show_alone(data, sources=sources)
    else:
        _show_names(data)


def _show_alone(data: Mapping[str, Any], *, sources: bool) -> None:
    console = new_console()
    for name, catalog in data.get("parts_catalogs", {}).items():
        show_parts(name, catalog)
    for name, catalog in data.get("product_catalogs", {}).items():
        show_products(name, catalog, sources=sources)
    shows = {"accelerators": _show_accelerator, "language_models": _show_model, "recommendation_models": _show_model}
    for key, show in shows.items():
        for name, found in data.get(key, {}).items():
            show(name, found, console)
    tables = dict(zip(_LISTS, (_show_designs, _show_hosts, _show_failures), strict=True))
    for key in data.keys() & tables.keys():
        tables[key](data[key], console)


def _show_names(data: Mapping[str, Any]) -> None:
    from rich.text import Text

    console = new_console()
    for key, kind, listed in (("parts_catalogs", "parts", "technologies"), ("product_catalogs", "products", "systems")):
        for name, catalog in data[key].items():
            print(f"catalogue {name}, of {kind}; evo-libra catalog {name} shows them")
            console.print(Text(", ".join(catalog[listed])))
    lists = ("models", "language_models", "recommendation_models", "accelerators", *_LISTS)
    for key in ("blocks", *lists, "problems", "engines"):
        console.print(Text(f"{key.replace('_', ' ')}: {', '.join(data[key])}"))


def _show_linear(name: str, catalog: Mapping[str, Any]) -> None:
    from rich.text import Text

    prices = (f"{part}\nUSD per\nGB/s" for part in ("link", "switch", "NIC"))
    print_table(
        f"catalogue {name}",
        ("name", *prices, "most\nNPUs", "cap\nGB/s", "latency\nns", "blocks"),
        [
            (technology, *map(_linear_figure, list(figures.values())[:-1]), ", ".join(figures["blocks"]))
            for technology, figures in catalog["technologies"].items()
        ],
        left=("name",),
        fold=("blocks",),
        caption=Text(catalog["source"]),
    )


def _show_designs(designs: Mapping[str, Any], console: Console) -> None:
    from rich.text import Text

    rows = [(name, one["design"], _sizes(one["npus"]), str(one["year"])) for name, one in designs.items()]
    columns = ("name", "design", "NPUs", "year")
    print_table("reference designs; N is the dimension that grows", columns, rows, fold=columns[:3])
    for name, one in designs.items():
        console.print(Text(f"  {name}, {one['title']}: {' '.join(one['source'].split())}"), soft_wrap=False)


def _show_hosts(hosts: Mapping[str, Any], console: Console) -> None:
    from rich.text import Text

    columns = {
        "accelerators": "npus", "price\n[USD]": "price_usd", "power\n[W]": "power_W", "link\n[GB/s]": "link_GBps",
        "memory\n[GB]": "memory_GB", "memory\n[GB/s]": "memory_GBps", "GFLOP/s": "GFLOPS", "SSDs": "ssds",
        "SSD\n[GB/s]": "ssd_GBps", "SSD\n[USD]": "ssd_price_usd",
    }  # fmt: skip
    rows = [(name, *(str(one.get(key, "-")) for key in columns.values())) for name, one in hosts.items()]
    print_table("hosts, without their accelerators", ("host", *columns), rows, left=("host",))
    for name, one in hosts.items():
        for key, source in one["sources"].items():
            console.print(Text(f"  {name}, {key}: {' '.join(source.split())}"), soft_wrap=False)


def _show_failures(failures: Mapping[str, Any], console: Console) -> None:
    from rich.text import Text

    rows = [
        (name, *(f"{one[key]:g}" for key in ("per_year", "repair_h")), str(one["year"]))
        for name, one in failures.items()
    ]
    print_table("failures of a piece", ("kind or part", "per year", "repair [h]", "year"), rows, left=("kind or part",))
    for name, one in failures.items():
        console.print(Text(f"  {name}: {' '.join(one['source'].split())}"), soft_wrap=False)


def _sizes(npus: Any) -> str:  # noqa: ANN401 - JSON
    if isinstance(npus, list):
        return ", ".join(map(str, npus))
    return f"multiples of {npus['multiple_of']} up to {npus['at_most']}"


def _show_accelerator(name: str, entry: Mapping[str, Any], console: Console) -> None:
    from rich.text import Text

    _print_figures(f"accelerator {name}", {key: entry[key] for key in entry if key != "sources"})
    print("sources of the figures")
    for key, source in entry["sources"].items():
        console.print(Text(f"  {key}: {' '.join(source.split())}"), soft_wrap=False)


def _show_model(name: str, model: Mapping[str, Any], console: Console) -> None:
    from rich.text import Text

    kind = "recommendation" if "tables" in model else "language"
    _print_figures(f"{kind} model {name}", {key: model[key] for key in model if key != "source"})
    console.print(Text(model["source"]))


def _print_figures(title: str, data: Mapping[str, Any]) -> None:
    from evo_libra.network.catalog.accelerator import leaves

    rows = []
    for key, value in leaves(data):
        # A list of two is a range; a tuple has the widths of layers.
        figures = dict.fromkeys(value) if isinstance(value, list) else value if isinstance(value, tuple) else (value,)
        rows.append((key, (", " if isinstance(value, tuple) else " to ").join(map(_plain, figures))))
    print_table(title, ("figure", ""), rows, left=("figure",))


def _plain(value: Any) -> str:  # noqa: ANN401 - a value of JSON
    return str(value).lower() if isinstance(value, bool) else f"{value:,}" if isinstance(value, int) else figure(value)


def _linear_figure(value: float | None) -> str:
    return "-" if value is None else f"{value:.7g}"
