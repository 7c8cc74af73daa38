"""A catalogue of products as JSON and as tables: systems, NICs, switches and cables, and the sources of the figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from evo_libra.ui.tables.output import new_console, print, print_folded, print_narrow
from evo_libra.ui.tables.parts import figure

if TYPE_CHECKING:
    from evo_libra.network.orders.products import ProductsSpec

GROUPS = ("systems", "nics", "switches", "cables", "modules", "ocs", "rules")
_KILO = 1000


def products_json(spec: ProductsSpec) -> dict[str, Any]:
    """Return a catalogue as its file has it, with what it extends; prices are low, value and high."""
    data = spec.model_dump(mode="json", exclude={"kind", "extends"})
    data["source"] = " ".join(spec.source.split())
    entries = [entry for group in GROUPS for entry in data[group].values()]
    if data["room"] is not None:
        entries.append(data["room"]["rack"])
    for entry in entries:
        for key in entry.keys() & {"price_usd", "usd", "usd_per_npu_hour"}:
            entry[key] = _range(entry[key])
    return data


def _range(price: Any) -> Any:  # noqa: ANN401 - JSON
    if price is None or isinstance(price, dict):
        return price
    return {"low": price, "value": price, "high": price, "basis": "public"}


def show_products(name: str, catalog: Mapping[str, Any]) -> None:
    """Print the tables of a catalogue as `products_json` returns it."""
    from rich.text import Text

    nics, ports = catalog["nics"], {"ports x Gb/s": lambda entry: _modes(entry["modes"])}
    system = {"NPUs": _npus, "GB/s": _scale_up, "kW": _plain("kW"), "kUSD": _thousands}
    system["NIC ports\nx Gb/s"] = lambda entry: _modes([mode for nic in entry["nics"] for mode in nics[nic]["modes"]])
    _table(f"catalogue {name}: systems", catalog["systems"], system)
    _table("NICs", nics, {"W": _plain("power_W"), "USD": _usd, **ports})
    _table("switches", catalog["switches"], {"W": _plain("power_W"), "kUSD": _thousands, **ports})
    cable = {"kind": _text("kind"), "Gb/s": _plain("Gbps"), "links": _plain("links"), "m": _plain("reach_m"),
             "USD": _usd}  # fmt: skip
    _table("cables; modules at the ends of fibres are apart", catalog["cables"], cable)
    print_folded(
        "~ is an estimate, - is not public, /h is the rent of an NPU. "
        "--sources shows where figures come from, --json all of them."
    )
    rest = ", ".join(f"{len(catalog[group])} {group}" for group in ("modules", "ocs", "rules"))
    new_console().print(Text(f"Here, too: {rest}. {catalog['source']}"))


def _table(title: str, products: Mapping[str, Any], columns: Mapping[str, Any]) -> None:
    """Print products with their order state and year."""
    rows = [
        (name, entry["order"], str(entry["year"]), *(show(entry) for show in columns.values()))
        for name, entry in products.items()
    ]
    names, ports = ("name", "order", "year", *columns), tuple(name for name in columns if "ports" in name)
    print_narrow(title, names, rows, left=("name", "order", "kind"), fold=ports)


def _plain(key: str) -> Any:  # noqa: ANN401 - a function of an entry
    return lambda entry: figure(entry[key])


def _text(key: str) -> Any:  # noqa: ANN401 - the same
    return lambda entry: entry[key]


def _npus(entry: Mapping[str, Any]) -> str:
    npus: int | Sequence[int] = entry["npus"]
    return figure(npus) if isinstance(npus, int) else f"{min(npus):,}-{max(npus):,}"


def _scale_up(entry: Mapping[str, Any]) -> str:
    return figure(entry["scale_up"]["GBps"])


def _modes(modes: Sequence[Mapping[str, Any]]) -> str:
    return " ".join(dict.fromkeys(f"{mode['ports']}x{mode['Gbps']:g}" for mode in modes))


def _usd(entry: Mapping[str, Any], unit: int = 1) -> str:
    price = entry["price_usd"]
    if price is None:
        return "-"
    return ("~" if price["basis"] == "estimate" else "") + f"{price['value'] / unit:,.4g}"


def _thousands(entry: Mapping[str, Any]) -> str:
    """Return the price in thousands of USD, or USD per NPU and hour of a rented system."""
    rent = entry.get("usd_per_npu_hour")
    return _usd(entry, _KILO) if rent is None else f"{rent['value']:g}/h"


def show_product_sources(name: str, catalog: Mapping[str, Any]) -> None:
    """Print the source and year of each entry, and below it those of its figures from elsewhere."""
    from rich.text import Text

    console = new_console()
    room = catalog["room"]
    rooms = {} if room is None else {"room": {"room": room, "rack": room["rack"]}}
    for group, entries in ({group: catalog[group] for group in GROUPS} | rooms).items():
        print(f"sources of {group} of {name}")
        for each, entry in entries.items():
            console.print(Text(f"  {each} ({entry['year']}): {' '.join(entry['source'].split())}"), soft_wrap=False)
            for key, text in entry.get("sources", {}).items():
                named = key + _ends(entry, key)
                console.print(Text(f"    {named}: {' '.join(text.split())}"), soft_wrap=False)


def _ends(entry: Mapping[str, Any], key: str) -> str:
    """Return the ends of the range of a figure, where it has one."""
    ends = entry.get(_RANGES.get(key, ""))
    return "" if ends is None else f", {ends[0]:g} to {ends[1]:g}"


_RANGES = {"efficiency": "efficiency_range", "latency_ns": "latency_range_ns"}
"""Figures of switches with the keys of their ranges."""
