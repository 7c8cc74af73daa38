"""What problem files can name: catalogues, models, problems, engines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from evo_libra.errors import InputError, suggestion
from evo_libra.ui.commands.shared import Json, app
from evo_libra.ui.output import new_console
from evo_libra.ui.texts import print_json

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from evo_libra.network.catalog.parts import PartsSpec


_FILES = (".yaml", ".yml", ".json")


@app.command
def catalog(name: str | None = None, *, as_json: Json = False) -> int:
    """List what can be used in a problem file: catalogues with their prices, blocks, models, problems, engines.

    Parameters
    ----------
    name:
        Show only this catalogue (a name, or the path of a .yaml file), with the figures and the source of each part.
    as_json:
        Print one JSON object and nothing else.
    """
    data = _everything() if name is None else _one(name)
    if as_json:
        print_json(data)
    else:
        _show_catalog(data)
    return 0


def _everything() -> dict[str, Any]:
    from evo_libra.network.blocks.registry import BLOCKS
    from evo_libra.network.catalog.parts import parts_names
    from evo_libra.network.catalog.technologies import catalog_names
    from evo_libra.problem.file.registry import problem_names
    from evo_libra.searching.registry import engine_names
    from evo_libra.workload.language_models import load_models

    return {
        "catalogs": {name: _linear(name) for name in catalog_names()},
        "parts_catalogs": {name: _parts(name) for name in parts_names()},
        "blocks": {block.name: block.code for block in BLOCKS},
        "models": {key: model.model_dump(mode="json") for key, model in load_models().items()},
        "problems": problem_names(),
        "engines": list(engine_names()),
    }


def _one(name: str) -> dict[str, Any]:
    from evo_libra.network.catalog.parts import is_parts, parts_names
    from evo_libra.network.catalog.technologies import catalog_names, load_catalog

    known = [*catalog_names(), *parts_names()]
    if not name.endswith(_FILES) and name not in known:
        allowed = ", ".join(known)
        raise InputError(
            f"unknown catalogue '{name}'; allowed: {allowed}, or the path of a .yaml file{suggestion(name, known)}"
        )
    if is_parts(name):
        found = _parts(name)
        return {"parts_catalogs": {found["name"]: found}}
    catalog = load_catalog(name)
    return {"catalogs": {catalog.name: _linear(name)}}


def _linear(name: str) -> dict[str, Any]:
    from evo_libra.network.catalog.technologies import load_catalog

    catalog = load_catalog(name)
    technologies = {t.name: _technology_json(t) for t in catalog.technologies}
    return {"source": " ".join(catalog.source.split()), "technologies": technologies}


def _parts(name: str) -> dict[str, Any]:
    """Return a catalogue of parts as its file has it, with what it extends; prices are low, value and high."""
    from evo_libra.network.catalog.parts import load_parts, load_parts_spec

    spec = load_parts_spec(name)
    order = load_parts(name).technologies
    return {
        "name": spec.name,
        "source": " ".join(spec.source.split()),
        "technologies": {each: spec.technologies[each].model_dump(mode="json") for each in order},
        "parts": {each: _part_json(spec, each) for each in sorted(spec.parts)},
    }


def _part_json(spec: PartsSpec, name: str) -> dict[str, Any]:
    found = spec.parts[name].model_dump(mode="json")
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


def _show_catalog(data: Mapping[str, Any]) -> None:
    from rich.table import Table
    from rich.text import Text

    console = new_console()
    for name, catalog in data.get("catalogs", {}).items():
        table = Table(
            title=f"catalogue {name}", title_justify="left", caption=Text(catalog["source"]), caption_justify="left"
        )
        table.add_column("name", no_wrap=True)
        prices = [f"{part}\nUSD per\nGB/s" for part in ("link", "switch", "NIC")]
        for column in (*prices, "most\nNPUs", "cap\nGB/s", "latency\nns"):
            table.add_column(Text(column), justify="right", no_wrap=True)
        table.add_column("blocks", overflow="fold")
        for technology, figures in catalog["technologies"].items():
            cells = ["-" if value is None else f"{value:.7g}" for key, value in figures.items() if key != "blocks"]
            table.add_row(*map(Text, [technology, *cells, ", ".join(figures["blocks"])]))
        console.print(table)
    for name, catalog in data.get("parts_catalogs", {}).items():
        # Alone a catalogue is shown with all its figures; in the list it is one of many.
        if len(data) == 1:
            _show_parts(name, catalog, console)
        else:
            print(f"catalogue {name}, of parts; evo-libra catalog {name} shows them")
            console.print(Text(", ".join(catalog["technologies"])))
    for key in ("blocks", "models", "problems", "engines"):
        if key in data:
            console.print(Text(f"{key}: {', '.join(data[key])}"))


def _show_parts(name: str, catalog: Mapping[str, Any], console: Console) -> None:
    from rich.text import Text

    from evo_libra.network.blocks import KINDS

    table = _table(
        f"catalogue {name}: technologies", ("GB/s of\na port", "ports", "domain size", "ns", "pJ/bit"), "blocks"
    )
    for technology, row in catalog["technologies"].items():
        figures = (row["port_GBps"], row["ports"], row["domain_size"], row["latency_ns"], row["energy_pJ_per_bit"])
        table.add_row(*map(Text, [technology, *map(_figure, figures), ", ".join(row["blocks"])]))
    console.print(table)
    for kind in KINDS:
        chosen = {part: row for part, row in catalog["parts"].items() if row["kind"] == kind}
        if chosen:
            console.print(_parts_table(kind, chosen))
    print("sources of the figures")
    for kind in ("technologies", "parts"):
        for each, row in catalog[kind].items():
            console.print(Text(f"  {each} ({row['year']}): {' '.join(row['source'].split())}"), soft_wrap=False)
    console.print(Text(catalog["source"]))


def _parts_table(kind: str, parts: Mapping[str, Any]) -> Table:
    from rich.text import Text

    table = _table(f"parts: {kind}", ("low USD", "USD", "high USD", "W", "ports", "ns", "year"))
    for part, row in parts.items():
        price = [row["price_usd"][name] for name in ("low", "value", "high")]
        figures = [*price, row["power_W"], row["ports"], row["latency_ns"]]
        table.add_row(*map(Text, [part, *map(_figure, figures), str(row["year"])]))
    return table


def _table(title: str, figures: tuple[str, ...], last: str | None = None) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(title=Text(title), title_justify="left")
    table.add_column("name", overflow="fold")
    for column in figures:
        table.add_column(column, justify="right", no_wrap=True)
    if last is not None:
        table.add_column(last, overflow="fold")
    return table


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:,.7g}"
