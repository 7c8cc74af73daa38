"""Tables of the page about the years of the catalogues' sources, and about what no source gives."""

from __future__ import annotations

from collections import Counter

from layout import table

from evo_libra.network.catalog.accelerators import load_accelerators
from evo_libra.ui.tables.ages import STATES, Entry, dated_entries, why_missing
from evo_libra.ui.tables.missing import missing_entries


def ages() -> str:
    """Return a table of the kinds of entries, with the years of their newest sources."""
    rows = []
    for kind in dict.fromkeys(entry.kind for entry in dated_entries()):
        years = Counter(entry.year for entry in _of(kind))
        counts = [sum(count for year, count in years.items() if low <= year <= high) for low, high in _SPANS]
        rows.append([kind, str(years.total()), *map(str, counts), str(years[0]), str(max(years))])
    return table(
        ["kind", "entries", "until 2021", "2022 and 2023", "2024", "2025 and later", "estimates alone", "newest"], rows
    )


_SPANS = ((1, 2021), (2022, 2023), (2024, 2024), (2025, 9999))
_KINDS = (
    "accelerator",
    "system",
    "NIC",
    "switch",
    "cable",
    "module",
    "circuit switch",
    "link technology",
    "part",
    "host",
)
"""Kinds of entries that are products."""


def orders() -> str:
    """Return a table of the products that cannot be bought today."""
    rows = [
        [f"`{entry.name}`", entry.kind, entry.order, str(entry.year or "estimate")]
        for entry in dated_entries()
        if entry.kind in _KINDS and entry.order != "buy"
    ]
    return table(["product", "kind", "state", "newest source"], rows)


def states() -> str:
    """Return a table of the order states, with the number of entries of each."""
    counts = Counter(entry.order.partition(" ")[0] for entry in dated_entries())
    return table(
        ["state", "meaning", "entries"], [[f"`{one}`", text, str(counts[one])] for one, text in STATES.items()]
    )


def gaps() -> str:
    """Return a table of the figures for which no source was found, by the entries that lack them, and why."""
    rows = [
        [f"`{entry.name}`", entry.kind, ", ".join(f"`{key}`" for key in entry.missing), why_missing(entry)]
        for entry in dated_entries()
        if entry.missing
    ]
    return table(["entry", "kind", "without a source", "looked for in, or who has it"], rows)


def missing(*subject: str) -> str:
    """Return a table of what the catalogues do not have of one subject, with the reason."""
    rows = [[name, str(entry.year), entry.why] for name, entry in missing_entries(" ".join(subject)).items()]
    return table(["missing", "year", "why"], rows)


def defaults() -> str:
    """Return a table of the constants of kernels that are a class default, by accelerator."""
    rows = [
        [f"`{name}`", ", ".join(f"`{key}`" for key in keys), npu.source_of(f"kernels.{_measured_last(keys)}")]
        for name, npu in load_accelerators().items()
        if (keys := npu.class_defaults())
    ]
    return table(["accelerator", "kernels, or one constant of them", "source of the last of them"], rows)


def _measured_last(keys: tuple[str, ...]) -> str:
    """Return the last constant, that of whole kinds of kernels before one constant of a kind."""
    whole = [key for key in keys if "." not in key]
    return (whole or list(keys))[-1]


def unchecked() -> str:
    """Return a table of the kinds of kernels that were measured, and that no row tries which the fit has not seen."""
    rows = [
        [f"`{name}`", ", ".join(f"`{kind}`" for kind in kinds), npu.source_of_kernels(kinds[0])]
        for name, npu in load_accelerators().items()
        if (kinds := npu.unchecked_kernels())
    ]
    return table(["accelerator", "kernels", "source of the first of them"], rows)


def _of(kind: str) -> list[Entry]:
    return [entry for entry in dated_entries() if entry.kind == kind]
