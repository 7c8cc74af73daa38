"""Years of the newest sources of what the catalogues have, and the figures for which they have no source."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evo_libra.ui.tables.output import print, print_table

if TYPE_CHECKING:
    from pydantic import BaseModel

_YEAR = re.compile(r"(?<![\d.,])(?:19|20)\d\d(?![\d.,]*\d)")
"""A year, and no part of an identifier of arXiv or of a larger number."""


@dataclass(frozen=True)
class Entry:
    """An entry of a catalogue.

    Attributes
    ----------
    kind, name : what it is, and what files call it.
    year : of its newest source.
    order : whether it can be ordered, or until when it was sold; empty where that is not asked.
    missing : figures for which no source was found.
    """

    kind: str
    name: str
    year: int
    order: str = ""
    missing: tuple[str, ...] = ()


def dated_entries() -> list[Entry]:
    """Return all entries of the package: accelerators, products, parts, models and lists, in this order."""
    return [*_accelerators(), *_products(), *_parts(), *_models(), *_lists()]


def stale_entries(year: int) -> list[Entry]:
    """Return the entries whose newest source is older than a year, the oldest first."""
    return sorted((entry for entry in dated_entries() if entry.year < year), key=lambda entry: entry.year)


def newest_year(texts: Mapping[str, str | None] | list[str | None]) -> int:
    """Return the newest year that some texts name; 0 for none.

    >>> newest_year(["NVIDIA H100 data sheet, 2022", "arXiv 2412.19437, 2024", None])
    2024
    """
    values = texts.values() if isinstance(texts, Mapping) else texts
    return max((int(found) for text in values for found in _YEAR.findall(text or "")), default=0)


def systems_with(npu: str) -> dict[str, str]:
    """Return the products of the package that have an accelerator, with whether they can be ordered."""
    from evo_libra.network.orders.catalog import load_products, products_names

    catalogues = map(load_products, products_names())
    return {name: one.order for each in catalogues for name, one in each.systems.items() if one.npu == npu}


_STATES = ("buy", "rent", "own", "roadmap")
"""States of sale; an accelerator has the first of those of its systems."""


def show_stale(year: int) -> None:
    """Print the entries whose newest source is older than a year."""
    rows = [(entry.kind, entry.name, entry.order, str(entry.year)) for entry in stale_entries(year)]
    columns = ("kind", "name", "order", "newest source")
    print_table(f"entries whose newest source is older than {year}", columns, rows, left=columns[:1], fold=columns[1:3])
    print(f"{len(rows)} of {len(dated_entries())} entries; catalog NAME --sources shows where figures come from.")


def _accelerators() -> Iterator[Entry]:
    from evo_libra.network.catalog.accelerators import load_accelerators

    for name, npu in load_accelerators().items():
        absent = {"price_usd": npu.price, "power_W": npu.power, "kernels.decode": npu.decode,
                  "kernels.attention": npu.attention}  # fmt: skip
        missing = [key for key, value in absent.items() if value is None]
        missing += [f"kernels.{precision}" for precision in npu.peak if precision not in npu.gemm]
        states = systems_with(name).values()
        order = next((state for state in _STATES if state in states), "")
        yield Entry("accelerator", name, newest_year(npu.sources), order, missing=tuple(missing))


def _products() -> Iterator[Entry]:
    from evo_libra.network.orders.catalog import load_products, products_names

    kinds = {"systems": "system", "nics": "NIC", "switches": "switch", "cables": "cable", "modules": "module",
             "ocs": "circuit switch", "rules": "rule"}  # fmt: skip
    for catalogue in products_names():
        for group, kind in kinds.items():
            for name, product in getattr(load_products(catalogue), group).items():
                yield _dated(kind, name, product, ("price_usd", "power_W", "kW"))


def _parts() -> Iterator[Entry]:
    from evo_libra.network.catalog.parts import load_parts_spec, parts_names

    seen = set[tuple[str, str]]()
    for group, kind in (("technologies", "link technology"), ("parts", "part")):
        for catalogue in parts_names():
            for name, part in getattr(load_parts_spec(catalogue), group).items():
                if (kind, name) not in seen:
                    yield _dated(kind, name, part)
                seen.add((kind, name))


def _models() -> Iterator[Entry]:
    from evo_libra.workload.models.decoder import load_decoders
    from evo_libra.workload.models.recommender import trainable_recommenders

    for name, model in load_decoders().items():
        yield Entry("language model", name, model.year or newest_year([model.source]))
    for name, recommender in trainable_recommenders().items():
        yield Entry("recommendation model", name, recommender.year or newest_year([recommender.source]))


def _lists() -> Iterator[Entry]:
    from evo_libra.network.catalog.clusters import reference_orders
    from evo_libra.network.catalog.designs import reference_designs
    from evo_libra.network.catalog.failures import load_failure_specs
    from evo_libra.network.catalog.hosts import load_hosts

    for name, design in reference_designs().items():
        yield _dated("reference design", name, design)
    for name, cluster in reference_orders().items():
        yield Entry("reference order", name, max(cluster.year, newest_year([cluster.source])))
    for name, host in load_hosts().items():
        yield Entry("host", name, newest_year([host.source, *host.sources.values()]))
    for name, failure in load_failure_specs().items():
        yield _dated("failure rate", name, failure)


def _dated(kind: str, name: str, spec: BaseModel, figures: tuple[str, ...] = ()) -> Entry:
    """Return an entry whose file has the year of its figures, and maybe newer ones of single figures."""
    values: dict[str, Any] = dict(spec)
    year = max(values["year"], newest_year(values.get("sources") or {}))
    missing = tuple(key for key in figures if key in values and values[key] is None)
    until = values.get("until")
    return Entry(kind, name, year, f"until {until}" if until else values.get("order", ""), missing)
