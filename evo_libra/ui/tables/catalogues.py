"""Catalogues, accelerators, models and lists as tables, from the data that `catalog` prints as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from evo_libra.ui.tables.output import new_console, print, print_table
from evo_libra.ui.tables.parts import figure, show_parts
from evo_libra.ui.tables.products import show_products

if TYPE_CHECKING:
    from rich.console import Console

LISTS = ("designs", "hosts", "failures")
"""Lists by name: reference designs, nodes around accelerators, and how often parts fail."""


def show_catalog(data: Mapping[str, Any], *, sources: bool) -> None:
    """Print the data of the command `catalog`."""
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
    tables = dict(zip(LISTS, (_show_designs, _show_hosts, _show_failures), strict=True))
    for key in data.keys() & tables.keys():
        tables[key](data[key], console)


def _show_names(data: Mapping[str, Any]) -> None:
    from rich.text import Text

    console = new_console()
    for key, kind, listed in (("parts_catalogs", "parts", "technologies"), ("product_catalogs", "products", "systems")):
        for name, catalog in data[key].items():
            print(f"catalogue {name}, of {kind}; evo-libra catalog {name} shows them")
            console.print(Text(", ".join(catalog[listed])))
    lists = ("models", "language_models", "recommendation_models", "accelerators", *LISTS)
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
    own = {f"layers of {kind}": count for kind, count in model.get("layer_kinds", {}).items()}
    figures = {key: model[key] for key in model if key not in ("source", "year", "layer_kinds")}
    _print_figures(f"{kind} model {name}", figures | own)
    console.print(Text(model["source"] + (f" ({model['year']})" if "year" in model else "")))


def _print_figures(title: str, data: Mapping[str, Any]) -> None:
    from evo_libra.network.catalog.accelerator import leaves

    rows = []
    for key, value in leaves(data):
        # A list of two is a range; a tuple has the widths of layers.
        figures = dict.fromkeys(value) if isinstance(value, list) else value if isinstance(value, tuple) else (value,)
        rows.append((key, (", " if isinstance(value, tuple) else " to ").join(map(_plain, figures))))
    print_table(title, ("figure", ""), rows, fold=("figure",))


def _plain(value: Any) -> str:  # noqa: ANN401 - a value of JSON
    return str(value).lower() if isinstance(value, bool) else f"{value:,}" if isinstance(value, int) else figure(value)


def _linear_figure(value: float | None) -> str:
    return "-" if value is None else f"{value:.7g}"
