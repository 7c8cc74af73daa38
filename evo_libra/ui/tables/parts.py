"""A catalogue of parts as tables: technologies, parts by kind, and the sources of the figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from evo_libra.ui.tables.ages import dated
from evo_libra.ui.tables.output import new_console, print, print_narrow


def show_parts(name: str, catalog: Mapping[str, Any], *, whole: bool) -> None:
    """Print the technologies of a catalogue of parts, and its parts where all are asked for."""
    show_technologies(catalog["technologies"], whole=whole, title=f"catalogue {name}: technologies")
    if whole:
        show_part_kind(catalog["parts"], whole=True)
    else:
        print(f"{len(catalog['parts'])} parts: catalog {name} parts, a part by its name, or --all.")


def show_technologies(found: Mapping[str, Any], *, whole: bool, title: str = "link technologies") -> None:
    """Print link technologies; the domains that are sold and the blocks where all are asked for."""
    keys = {
        "GB/s of\na port": "port_GBps", "ports": "ports", "domain\nsize": "domain_size", "ns": "latency_ns",
        "pJ/bit": "energy_pJ_per_bit",
    }  # fmt: skip
    rows = [
        (technology, row["order"], dated(row), *(figure(row[key]) for key in keys.values()), *_wiring(row, whole))
        for technology, row in found.items()
    ]
    columns = ("name", "order", "year", *keys, *(("sold", "blocks") if whole else ()))
    print_narrow(title, columns, rows, left=columns[:2], fold=columns[8:])


def _wiring(row: Mapping[str, Any], whole: bool) -> tuple[str, ...]:  # noqa: FBT001 - of the function above
    return (_domains(row["domains"]), ", ".join(row["blocks"])) if whole else ()


def show_part_kind(found: Mapping[str, Any], *, whole: bool) -> None:
    """Print parts, those of a kind together; prices have their range where all are asked for."""
    from evo_libra.network.blocks import KINDS

    rows = [
        (row["kind"], *_part_cells(part, row, whole))
        for kind in KINDS
        for part, row in found.items()
        if row["kind"] == kind
    ]
    ends = ("low USD", "USD", "high USD") if whole else ("USD",)
    columns = ("kind", "name", "order", "year", *ends, "W", "idle W", "ports", "ns")
    print_narrow("parts", columns, rows, left=columns[:3], fold=("name",))


def show_part_sources(name: str, catalog: Mapping[str, Any]) -> None:
    """Print the source and year of each entry."""
    from rich.text import Text

    console = new_console()
    print(f"sources of {name}")
    for kind in ("technologies", "parts"):
        for each, row in catalog[kind].items():
            console.print(Text(f"  {each} ({row['year']}): {' '.join(row['source'].split())}"), soft_wrap=False)
    console.print(Text(catalog["source"]))


def _domains(sold: Mapping[str, Sequence[int]] | None) -> str:
    return "; ".join(f"{block} {', '.join(map(str, sizes))}" for block, sizes in (sold or {}).items())


def _part_cells(part: str, row: Mapping[str, Any], whole: bool) -> tuple[str, ...]:  # noqa: FBT001 - the same
    keys = ("power_W", "idle_W", "ports", "latency_ns")
    ends = ("low", "value", "high") if whole else ("value",)
    figures = [*(row["price_usd"][end] for end in ends), *(row[key] for key in keys)]
    return (part, row["order"], dated(row), *map(figure, figures))


def figure(value: float | None) -> str:
    """Return a figure with up to seven digits, and a dash for none."""
    return "-" if value is None else f"{value:,.7g}"
