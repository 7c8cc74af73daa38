"""A catalogue of parts as tables: technologies, parts by kind, and the sources of the figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from evo_libra.ui.tables.output import new_console, print, print_narrow, print_table


def show_parts(name: str, catalog: Mapping[str, Any]) -> None:
    """Print all figures of a catalogue of parts."""
    from evo_libra.network.blocks import KINDS

    keys = {
        "GB/s of\na port": "port_GBps", "ports": "ports", "domain\nsize": "domain_size", "ns": "latency_ns",
        "pJ/bit": "energy_pJ_per_bit",
    }  # fmt: skip
    rows = [
        (
            technology,
            *(figure(row[key]) for key in keys.values()),
            _domains(row["domains"]),
            ", ".join(row["blocks"]),
            row["order"],
            str(row["year"]),
        )
        for technology, row in catalog["technologies"].items()
    ]
    columns = ("name", *keys, "sold", "blocks", "order", "year")
    print_narrow(f"catalogue {name}: technologies", columns, rows, fold=("name", "sold", "blocks"))
    for kind in KINDS:
        rows = [_part_cells(part, row) for part, row in catalog["parts"].items() if row["kind"] == kind]
        if rows:
            columns = ("name", "low USD", "USD", "high USD", "W", "idle W", "ports", "ns", "order", "year")
            print_table(f"parts: {kind}", columns, rows, fold=("name",))


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


def _part_cells(part: str, row: Mapping[str, Any]) -> tuple[str, ...]:
    keys = ("power_W", "idle_W", "ports", "latency_ns")
    figures = [*(row["price_usd"][end] for end in ("low", "value", "high")), *(row[key] for key in keys)]
    return (part, *map(figure, figures), row["order"], str(row["year"]))


def figure(value: float | None) -> str:
    """Return a figure with up to seven digits, and a dash for none."""
    return "-" if value is None else f"{value:,.7g}"
