"""A catalogue of products as JSON and as tables: systems, NICs, switches and cables, and the sources of the figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from evo_libra.ui.tables.ages import dated, state_of, year_of
from evo_libra.ui.tables.output import new_console, print, print_folded, print_narrow
from evo_libra.ui.tables.parts import figure

if TYPE_CHECKING:
    from evo_libra.network.orders.products import ProductsSpec

GROUPS = ("systems", "nics", "switches", "cables", "modules", "ocs", "rules")
_KILO = 1000
_LEGEND = "~ is an estimate, - is not public, /h is the rent of an NPU."
_TITLES = {
    "systems": "systems: servers, racks and slices", "nics": "NICs", "switches": "packet switches",
    "cables": "cables; modules at the ends of fibres are apart", "modules": "optical modules",
    "ocs": "optical circuit switches", "rules": "rules: lines of a bill that follow from others",
}  # fmt: skip


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


def show_products(name: str, catalog: Mapping[str, Any], *, whole: bool) -> None:
    """Print the kinds of products of a catalogue with their states of sale; all tables where all are asked for."""
    if whole:
        for group in GROUPS:
            if catalog[group]:
                show_group(group, catalog[group], nics=catalog["nics"])
        return
    rows = [(group, *_summary(list(catalog[group].values()))) for group in GROUPS if catalog[group]]
    columns = ("kind", "entries", *_STATES, "until", "estimated\nprices", "no price", "years")
    print_narrow(f"catalogue {name}", columns, rows, left=columns[:1])
    print(f"catalog {name} KIND shows a kind, NAME a product, --all all of them.")
    print_folded(catalog["source"])


_STATES = ("buy", "rent", "own", "roadmap")


def _summary(entries: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """Return the numbers of entries: of all, of each state of sale, of prices that are estimates or missing; years."""
    states = Counter(state_of(entry).partition(" ")[0] for entry in entries)
    prices = [entry.get("price_usd", entry.get("usd")) for entry in entries if entry.get("order") != "rent"]
    estimates = sum(price is not None and price["basis"] == "estimate" for price in prices)
    years = sorted(filter(None, map(year_of, entries)))
    counts = [len(entries), *(states[one] for one in (*_STATES, "until")), estimates, sum(map(_is_none, prices))]
    return (
        *(str(count) if count else "-" for count in counts),
        "-".join(dict.fromkeys((str(years[0]), str(years[-1])))),
    )


def _is_none(price: Any) -> bool:  # noqa: ANN401 - JSON
    return price is None


def show_group(group: str, products: Mapping[str, Any], *, nics: Mapping[str, Any] | None = None, **_: bool) -> None:
    """Print the products of a kind, with their states of sale and years."""
    if nics is None and group == "systems":
        nics = _packaged_nics()
    rows = [(name, state_of(entry), dated(entry), *_cells(group, entry, nics)) for name, entry in products.items()]
    columns = ("name", "order", "year", *_COLUMNS[group], *(("NIC ports\nx Gb/s",) if group == "systems" else ()))
    fold = tuple(name for name in columns if "ports" in name)
    print_narrow(_TITLES[group], columns, rows, left=("name", "order", "kind", "per", "section"), fold=fold)
    if group != "rules":
        print_folded(_LEGEND)


def _packaged_nics() -> Mapping[str, Any]:
    """Return the NICs of the catalogues of the package, which their systems name."""
    from evo_libra.network.orders.catalog import load_products, products_names

    return {name: nic for each in products_names() for name, nic in products_json(load_products(each))["nics"].items()}


def _cells(group: str, entry: Mapping[str, Any], nics: Mapping[str, Any] | None) -> Iterator[str]:
    for show in _COLUMNS[group].values():
        yield show(entry)
    if group == "systems":
        known = nics or {}
        yield _modes([mode for nic in entry["nics"] if nic in known for mode in known[nic]["modes"]])


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


def _rule_usd(entry: Mapping[str, Any]) -> str:
    return _usd({"price_usd": entry["usd"]})


def _thousands(entry: Mapping[str, Any]) -> str:
    """Return the price in thousands of USD, or USD per NPU and hour of a rented system."""
    rent = entry.get("usd_per_npu_hour")
    return _usd(entry, _KILO) if rent is None else f"{rent['value']:g}/h"


_PORTS = {"ports x Gb/s": lambda entry: _modes(entry["modes"])}
_COLUMNS: Mapping[str, Mapping[str, Any]] = {
    "systems": {"NPUs": _npus, "GB/s": _scale_up, "kW": _plain("kW"), "kUSD": _thousands},
    "nics": {"W": _plain("power_W"), "USD": _usd, **_PORTS},
    "switches": {"W": _plain("power_W"), "kUSD": _thousands, **_PORTS},
    "cables": {"kind": _text("kind"), "Gb/s": _plain("Gbps"), "links": _plain("links"), "m": _plain("reach_m"),
               "USD": _usd},
    "modules": {"Gb/s": _plain("Gbps"), "links": _plain("links"), "W": _plain("power_W"), "USD": _usd},
    "ocs": {"ports": _plain("ports"), "W": _plain("power_W"), "kUSD": _thousands},
    "rules": {"units": _plain("units"), "per": _text("per"), "USD": _rule_usd, "section": _text("section")},
}  # fmt: skip
"""Columns of the table of each kind; that of systems has the ports of their NICs after these."""


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
