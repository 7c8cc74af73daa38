"""Years of the newest sources of what the catalogues have, and the figures for which they have no source."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from evo_libra.ui.tables.output import print, print_table

if TYPE_CHECKING:
    from pydantic import BaseModel

_YEAR = re.compile(r"(?<![\d.,])(?:19|20)\d\d(?![\d.,]*\d)")
"""A year, and no part of an identifier of arXiv or of a larger number."""
_NO_SOURCE = re.compile(r"\b[Ee]stimate of (19|20)\d\d|looked for [^;)]*")
"""Parts of the text of a source with a year that is of no source: of an estimate, or a search."""
_OWN = re.compile(r"\bthis program\b")
"""Words of a part that is of figures of our own."""
_LOOKED_FOR = re.compile(r"[^.]*\(looked for [^()]*\)")


@dataclass(frozen=True)
class Entry:
    """An entry of a catalogue.

    Attributes
    ----------
    kind, name : what it is, and what files call it.
    year : of its newest source; 0 for an estimate from nothing that has a year.
    order : its order state, one of `STATES`; ``until`` has the year or the month after it.
    missing : figures for which no source was found.
    reasons : where these were looked for, or who has them, by key.
    """

    kind: str
    name: str
    year: int
    order: str
    missing: tuple[str, ...] = ()
    reasons: Mapping[str, str] = field(default_factory=dict)


def dated_entries() -> list[Entry]:
    """Return all entries of the package: accelerators, products, parts, models and lists, in this order."""
    return [*_accelerators(), *_products(), *_parts(), *_models(), *_lists()]


def stale_entries(year: int) -> list[Entry]:
    """Return the entries whose newest source is older than a year, the oldest first."""
    return sorted((entry for entry in dated_entries() if entry.year < year), key=lambda entry: entry.year)


def newest_year(texts: Mapping[str, str | None] | list[str | None]) -> int:
    """Return the newest year of the sources that some texts name; 0 for none.

    The year of an estimate is that of what it is made from. A search that found nothing is no source.

    >>> newest_year(["NVIDIA H100 data sheet, 2022", "arXiv 2412.19437, 2024", None])
    2024
    >>> newest_year(["Estimate of 2026, as of a DGX H100 (docs.nvidia.com, 2023)", "Estimate of 2026, above a DR8"])
    2023
    >>> newest_year(["No public price was found, looked for at sellers of NICs, Nov 2026"])
    0
    """
    values = texts.values() if isinstance(texts, Mapping) else texts
    sources = (_NO_SOURCE.sub("", _of_others(" ".join((text or "").split()))) for text in values)
    return max((int(found) for text in sources for found in _YEAR.findall(text)), default=0)


def year_of(entry: Mapping[str, Any]) -> int:
    """Return the year of the newest source of an entry as data; 0 for an estimate from nothing that has a year.

    >>> year_of({"source": "data sheet", "year": 2020, "sources": {"price_usd": "a shop, 2026"}})
    2026
    """
    estimate = entry.get("basis") == "estimate"
    own = (not estimate and entry.get("year")) or newest_year([entry.get("source")])
    return max(own, newest_year(entry.get("sources") or {}))


def dated(entry: Mapping[str, Any]) -> str:
    """Return the year of the newest source of an entry as text; a dash for an estimate."""
    return str(year_of(entry) or "-")


def state_of(entry: Mapping[str, Any]) -> str:
    """Return the order state of an entry as its file has it; of what is no longer sold, the year in which that ended.

    >>> state_of({"order": "buy", "until": "2023-10"}), state_of({"order_state": "built"}), state_of({"per": "NPU"})
    ('until 2023', 'built', 'buy')
    """
    if entry.get("until"):
        return f"until {str(entry['until'])[:4]}"
    return str(entry.get("order_state") or entry.get("order") or ("observed" if "per_year" in entry else "buy"))


def systems_with(npu: str) -> dict[str, str]:
    """Return the products of the package that have an accelerator, with whether they can be ordered."""
    from evo_libra.network.orders.catalog import load_products, products_names

    catalogues = map(load_products, products_names())
    return {name: _state_of(one) for each in catalogues for name, one in each.systems.items() if one.npu == npu}


_SALE = ("buy", "rent", "own", "roadmap")
"""States of sale; an accelerator has the first of those of its systems."""

STATES: Mapping[str, str] = {
    "buy": "sold, alone or within a product",
    "rent": "only rented, in the data centres of its maker",
    "own": "only its owner has it",
    "until": "sold until that year or month",
    "roadmap": "announced",
    "research": "of papers and prototypes",
    "open": "a model whose weights anyone can have",
    "closed": "a model that is described, and whose weights are not public",
    "built": "a cluster that a user runs",
    "drawn": "a cluster that its maker draws as a reference architecture",
    "observed": "a rate of failures, of what is in service",
}
"""Meanings of the order states of entries."""


def show_stale(year: int) -> None:
    """Print the entries whose newest source is older than a year."""
    rows = [(entry.kind, entry.name, entry.order, str(entry.year or "estimate")) for entry in stale_entries(year)]
    columns = ("kind", "name", "order", "newest source")
    print_table(f"entries whose newest source is older than {year}", columns, rows, left=columns[:1], fold=columns[1:3])
    print(f"{len(rows)} of {len(dated_entries())} entries; --sources shows where figures come from.")


def _accelerators() -> Iterator[Entry]:
    from evo_libra.network.catalog.accelerators import load_accelerator_specs, load_accelerators

    specs = load_accelerator_specs()
    for name, npu in load_accelerators().items():
        absent = {"price_usd": npu.price, "power_W": npu.power, "kernels.attention": npu.attention}
        missing = [key for key, value in absent.items() if value is None]
        states = systems_with(name).values()
        order = next((state for state in _SALE if state in states), next(iter(states), specs[name].order))
        assert order is not None, f"{name} has neither a system nor a state of its own"  # noqa: S101 - internal error
        reasons = {key: _in_systems(name, key) for key in missing}
        yield Entry("accelerator", name, newest_year(npu.sources), order, missing=tuple(missing), reasons=reasons)


def _in_systems(npu: str, key: str) -> str:
    """Return which systems of the package have the price of an accelerator, or why no source has its figure."""
    from evo_libra.network.orders.catalog import load_products, products_names

    catalogues = map(load_products, products_names())
    found = {name: one for each in catalogues for name, one in each.systems.items() if one.npu == npu}
    if not found:
        return "it is rented alone"
    if key != "price_usd":
        texts = [one.sources.get("kW", "") for one in found.values() if one.kW is None]
        return next((text for text in texts if text), "in the power of its systems, and not public alone")
    priced = [name for name, one in found.items() if (one.price_usd, one.usd_per_npu_hour) != (None, None)]
    if not priced:
        return next(one.sources.get("price_usd") or _searched(one.source) for one in found.values())
    return f"in the {'rent' if found[priced[0]].order == 'rent' else 'price'} of {', '.join(priced)}"


def _products() -> Iterator[Entry]:
    from evo_libra.network.orders.catalog import load_products, products_names

    kinds = {"systems": "system", "nics": "NIC", "switches": "switch", "cables": "cable", "modules": "module",
             "ocs": "circuit switch", "rules": "rule"}  # fmt: skip
    for catalogue in products_names():
        for group, kind in kinds.items():
            for name, product in getattr(load_products(catalogue), group).items():
                yield _dated(kind, name, product, ("price_usd", "power_W", "kW"), state=_state_of(product))


def _parts() -> Iterator[Entry]:
    from evo_libra.network.catalog.parts import load_parts_spec, parts_names

    seen = set[tuple[str, str]]()
    for group, kind in (("technologies", "link technology"), ("parts", "part")):
        for catalogue in parts_names():
            for name, part in getattr(load_parts_spec(catalogue), group).items():
                if (kind, name) not in seen:
                    yield _dated(kind, name, part, state=part.order)
                seen.add((kind, name))


def _models() -> Iterator[Entry]:
    from evo_libra.workload.layers.generators import load_models
    from evo_libra.workload.models.decoder import load_decoders
    from evo_libra.workload.models.recommender import trainable_recommenders

    for name, model in load_decoders().items():
        yield Entry("language model", name, model.year or newest_year([model.source]), model.order)
    for name, recommender in trainable_recommenders().items():
        year = recommender.year or newest_year([recommender.source])
        yield Entry("recommendation model", name, year, recommender.order)
    for name, layers in load_models().items():
        yield Entry("model of layers", name, newest_year([layers.source]), "research")


def _lists() -> Iterator[Entry]:
    from evo_libra.network.catalog.clusters import reference_orders
    from evo_libra.network.catalog.designs import reference_designs
    from evo_libra.network.catalog.failures import load_failure_specs
    from evo_libra.network.catalog.hosts import load_hosts

    for name, design in reference_designs().items():
        yield _dated("reference design", name, design, state=design.order_state)
    for name, cluster in reference_orders().items():
        yield _dated("reference order", name, cluster, state=cluster.order_state)
    for name, host in load_hosts().items():
        yield _dated("host", name, host, state=host.order)
    for name, failure in load_failure_specs().items():
        yield _dated("failure rate", name, failure, state="observed")


def _state_of(product: BaseModel) -> str:
    """Return whether a product is sold, or until when; a rule of a bill is of what is sold."""
    until = getattr(product, "until", None)
    return f"until {until}" if until else getattr(product, "order", "buy")


def _dated(kind: str, name: str, spec: BaseModel, figures: tuple[str, ...] = (), *, state: str) -> Entry:
    """Return an entry whose file has the year of its figures, and maybe newer ones of single figures."""
    values: dict[str, Any] = dict(spec)
    rented = values.get("usd_per_npu_hour") is not None
    sought = [key for key in figures if not (rented and key == "price_usd")]
    missing = tuple(key for key in sought if key in values and values[key] is None)
    texts = {key: (values.get("sources") or {}).get(key) or _searched(values["source"]) for key in missing}
    reasons = {key: text for key, text in texts.items() if text}
    return Entry(kind, name, year_of(values), state, missing, reasons=reasons)


def _of_others(text: str) -> str:
    """Return the text of a source without the parts that are of figures of our own: each up to its semicolon.

    >>> _of_others("a data sheet, 2024; a run (ours: by this program, 2026); 2025")
    'a data sheet, 2024; a run (; 2025'
    """
    parts = text.split(";")
    for place, part in enumerate(parts):
        if (own := _OWN.search(part)) is not None:
            parts[place] = part[: part.rfind("(", 0, own.start()) + 1]
    return ";".join(parts)


def _searched(source: str) -> str:
    """Return the sentence of a source that says where a figure was looked for; empty where there is none.

    >>> _searched("MI325X (wiaix.com). No public price was found (looked for in the press, Nov 2026)")
    'No public price was found (looked for in the press, Nov 2026)'
    """
    sentences = " ".join(source.split()).split("No public")[1:]
    return next((f"No public{found[0]}" for one in sentences if (found := _LOOKED_FOR.match(one))), "")


def why_missing(entry: Entry) -> str:
    """Return where the figures that an entry lacks were looked for, each reason once."""
    return "; ".join(dict.fromkeys(entry.reasons.get(key, "") for key in entry.missing if entry.reasons.get(key)))
