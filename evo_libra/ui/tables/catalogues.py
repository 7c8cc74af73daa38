"""Catalogues, accelerators, models and lists as tables, from the data that `catalog` prints as JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from evo_libra.ui.tables.ages import dated, newest_year, systems_with
from evo_libra.ui.tables.catalogue_data import LISTS, NAMES
from evo_libra.ui.tables.catalogue_views import (
    entry_sources,
    show_accelerators,
    show_entry,
    show_kernels,
    show_models,
    show_overview,
)
from evo_libra.ui.tables.output import new_console, print, print_narrow, print_table
from evo_libra.ui.tables.parts import figure, show_part_kind, show_part_sources, show_parts, show_technologies
from evo_libra.ui.tables.products import GROUPS, show_group, show_product_sources, show_products


def show_catalog(data: Mapping[str, Any], *, sources: bool, whole: bool, alone: bool) -> None:
    """Print the data of the command `catalog`: what there is, a kind of entries, or one entry.

    `alone` is what was asked for by name; `whole` asks for all that a screen does not hold.
    """
    if not alone:
        if whole:
            _show_names(data)
        else:
            show_overview(data)
        return
    if data.keys() <= set(NAMES):
        _show_names_alone(data)
        return
    for key, found in data.items():
        if key in _SHORT and len(data) > 1 and not sources:
            _print_text(f"{_SHORT[key]}: {', '.join(found)}")
        else:
            _show(key, found, sources=sources, whole=whole)
    if not sources and not data.keys() & {"catalogs", "product_catalogs"}:
        print(_HINT_OF_MODELS if "language_models" in data and len(data) > 1 and not whole else _HINT)


_HINT = "--sources shows where figures come from, --json all of them."
_HINT_OF_MODELS = "--all shows models of any year, --sources where figures come from, --json all."


def _show(key: str, found: Mapping[str, Any], *, sources: bool, whole: bool) -> None:
    """Print the entries of a kind: a table of many, or the figures of one."""
    if sources:
        show: Callable[[str, Any], None] = _SOURCES.get(key, entry_sources)
        for name, entry in found.items():
            show(name, entry)
    elif key in _CATALOGUES:
        for name, entry in found.items():
            _CATALOGUES[key](name, entry, whole=whole)
    elif len(found) > 1 and key in _OF_MANY:
        _OF_MANY[key](found, whole=whole)
    else:
        for name, entry in found.items():
            _OF_ONE.get(key, partial(show_entry, kind=key))(name, entry)


_SHORT = {"recommendation_models": "recommendation models", "models": "LIBRA"}
"""Kinds of models whose names alone stand next to the table of language models."""


def _show_names(data: Mapping[str, Any]) -> None:
    kinds = (("catalogs", "prices per GB/s", "technologies"), ("parts_catalogs", "parts", "technologies"),
             ("product_catalogs", "products", "systems"))  # fmt: skip
    for key, kind, listed in kinds:
        for name, catalog in data[key].items():
            print(f"catalogue {name}, of {kind}")
            _print_text(", ".join(catalog[listed]))
    lists = ("models", "language_models", "recommendation_models", "accelerators", *LISTS)
    for key in lists:
        _print_text(f"{key.replace('_', ' ')}: {', '.join(data[key])}")
    _show_names_alone({key: data[key] for key in NAMES})


def _show_names_alone(data: Mapping[str, Any]) -> None:
    for key, found in data.items():
        _print_text(f"{key}: {', '.join(found)}")


def _print_text(text: str) -> None:
    """Print a text that folds at the width of the terminal."""
    from rich.text import Text

    new_console().print(Text(text), soft_wrap=False)


def _print_sources(sources: Mapping[str, str]) -> None:
    for key, source in sources.items():
        _print_text(f"  {key}: {' '.join(source.split())}")


def _show_linear(name: str, catalog: Mapping[str, Any], **_: bool) -> None:
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
        caption=Text(f"research, {newest_year([catalog['source']])}: {catalog['source']}"),
    )


def _show_designs(designs: Mapping[str, Any], **_: bool) -> None:
    rows = [(name, one["design"], _sizes(one["npus"]), *_dated(one)) for name, one in designs.items()]
    columns = ("name", "design", "NPUs", "state", "year")
    print_table("reference designs; N is the dimension that grows", columns, rows, left=columns[:3], fold=columns[1:3])


def _dated(reference: Mapping[str, Any]) -> tuple[str, str]:
    """Return the state and the year of a reference design or order."""
    return reference["order_state"], dated(reference)


def _show_clusters(clusters: Mapping[str, Any], **_: bool) -> None:
    rows = [(name, one["order"], _ends_of(one["npus"]), *_dated(one)) for name, one in clusters.items()]
    columns = ("name", "order", "NPUs", "state", "year")
    print_table("reference orders; N is the number of systems", columns, rows, left=columns[:2], fold=columns[1:2])


def _reference_sources(name: str, one: Mapping[str, Any]) -> None:
    _print_sources({f"{name}, {one['title']} ({one['year']})": one["source"]})


def _show_hosts(hosts: Mapping[str, Any], **_: bool) -> None:
    columns = {
        "NPUs": "npus", "USD": "price_usd", "W": "power_W", "link\nGB/s": "link_GBps", "memory\nGB": "memory_GB",
        "memory\nGB/s": "memory_GBps", "GFLOP\nper s": "GFLOPS", "SSDs": "ssds", "SSD\nGB/s": "ssd_GBps",
        "SSD\nUSD": "ssd_price_usd",
    }  # fmt: skip
    rows = [
        (
            f"{name}\n  {one['order']}",
            *(figure(one.get(key)) for key in columns.values()),
            str(newest_year(one["sources"])),
        )
        for name, one in hosts.items()
    ]
    print_narrow("hosts, without their accelerators", ("host", *columns, "year"), rows, left=("host",))


def _show_failures(failures: Mapping[str, Any], **_: bool) -> None:
    rows = [
        (name, "observed", str(one["year"]), *(f"{one[key]:g}" for key in ("per_year", "repair_h")))
        for name, one in failures.items()
    ]
    print_table(
        "failures of a piece", ("kind or part", "state", "year", "per year", "repair [h]"), rows, left=("kind or part",)
    )


def _sizes(npus: Any) -> str:  # noqa: ANN401 - JSON
    if isinstance(npus, list):
        return ", ".join(map(str, npus))
    return f"multiples of {npus['multiple_of']} up to {npus['at_most']}"


def _ends_of(npus: Any) -> str:  # noqa: ANN401 - JSON
    """Return the smallest and the largest size; the entry alone shows those between.

    >>> _ends_of([16384, 24576]), _ends_of({"multiple_of": 576, "at_most": 9216}), _ends_of([2048])
    ('16384-24576', '576-9216', '2048')
    """
    first, last = (npus[0], npus[-1]) if isinstance(npus, list) else (npus["multiple_of"], npus["at_most"])
    return f"{first}-{last}" if last > first else str(first)


def _show_accelerator(name: str, entry: Mapping[str, Any]) -> None:
    from evo_libra.network.catalog.accelerators import accelerator

    figures = {key: entry[key] for key in entry if key not in ("source", "sources", "order", "kernels")}
    _print_figures(f"accelerator {name}, newest source of {newest_year(_given(entry))}", figures)
    show_kernels(entry["kernels"], npu=accelerator(name))
    systems = ", ".join(f"{system} ({order})" for system, order in systems_with(name).items())
    _print_text(f"in {systems}" if systems else f"in no product of the package ({entry['order']})")
    npu = accelerator(name)
    marks = {"default of the class, not measured": npu.class_defaults(),
             "measured, and tried by no row that the fit has not seen": npu.unchecked_kernels()}  # fmt: skip
    for mark, keys in marks.items():
        if keys:
            _print_text(f"{mark}: {', '.join(f'kernels.{key}' for key in keys)}")


def _accelerator_sources(name: str, entry: Mapping[str, Any]) -> None:
    print(f"sources of accelerator {name}")
    _print_sources(_given(entry))


def _given(entry: Mapping[str, Any]) -> Mapping[str, str]:
    """Return the sources of an accelerator by key."""
    of_all: dict[str, str] = {"all": entry["source"]} if "source" in entry else {}
    apart: dict[str, str] = entry.get("sources", {})
    return of_all | apart


def _show_model(name: str, model: Mapping[str, Any]) -> None:
    kind = "recommendation" if "tables" in model else "language"
    own = {f"layers of {kind}": count for kind, count in model.get("layer_kinds", {}).items()}
    figures = {key: model[key] for key in model if key not in ("source", "year", "order", "layer_kinds")}
    year = model.get("year") or newest_year([model["source"]])
    _print_figures(f"{kind} model {name}, {model['order']}, newest source of {year}", figures | own)


def _model_sources(name: str, model: Mapping[str, Any]) -> None:
    _print_sources({name: model["source"]})


def _print_figures(title: str, data: Mapping[str, Any]) -> None:
    from evo_libra.network.catalog.accelerator import leaves

    rows = []
    for key, value in leaves(data):
        # A list of two is a range; a tuple has the widths of layers.
        figures = dict.fromkeys(value) if isinstance(value, list) else value if isinstance(value, tuple) else (value,)
        rows.append((key, (", " if isinstance(value, tuple) else " to ").join(map(_plain, figures))))
    print_table(title, ("figure", ""), rows, fold=("figure",))


def _plain(value: Any) -> str:  # noqa: ANN401 - a value of JSON
    if isinstance(value, str):
        return value
    return str(value).lower() if isinstance(value, bool) else f"{value:,}" if isinstance(value, int) else figure(value)


def _linear_figure(value: float | None) -> str:
    return "-" if value is None else f"{value:.7g}"


def _linear_sources(name: str, catalog: Mapping[str, Any]) -> None:
    _print_sources({name: catalog["source"]})


_CATALOGUES: Mapping[str, Callable[..., None]] = {
    "catalogs": _show_linear, "parts_catalogs": show_parts, "product_catalogs": show_products,
}  # fmt: skip
_OF_MANY: Mapping[str, Callable[..., None]] = {
    "accelerators": show_accelerators, "language_models": show_models, "designs": _show_designs,
    "clusters": _show_clusters, "hosts": _show_hosts, "failures": _show_failures, "technologies": show_technologies,
    "parts": show_part_kind, **{group: partial(show_group, group) for group in GROUPS},
}  # fmt: skip
_OF_ONE: Mapping[str, Callable[[str, Any], None]] = {
    "accelerators": _show_accelerator, "language_models": _show_model, "recommendation_models": _show_model,
}  # fmt: skip
_SOURCES: Mapping[str, Callable[[str, Any], None]] = {
    "catalogs": _linear_sources, "parts_catalogs": show_part_sources, "product_catalogs": show_product_sources,
    "accelerators": _accelerator_sources, "language_models": _model_sources, "recommendation_models": _model_sources,
    "designs": _reference_sources, "clusters": _reference_sources,
}  # fmt: skip
