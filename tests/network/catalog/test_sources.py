"""Every figure of every catalogue has a source that names something, and a year."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evo_libra.files.yaml_reader import read_yaml
from evo_libra.network import catalog
from evo_libra.network.bill import bill
from evo_libra.network.blocks import ITEMS
from evo_libra.network.blocks.registry import BLOCK_NAMES
from evo_libra.network.catalog.accelerator import covering_key, leaves
from evo_libra.network.catalog.designs import reference_designs
from evo_libra.network.catalog.parts import load_parts
from evo_libra.validation.training import training_rows

FILES = sorted(Path(catalog.__file__).parent.glob("*.yaml"))
YEAR = re.compile(r"\b(19|20)[0-9]{2}\b")
DOCUMENT = re.compile(
    r"arXiv|\w\.(com|net|org|io|ai|ch|es|de)\b|data ?sheet|documentation|reference architecture|newsletter|user manual"
    r"|support matri|\w/\w|ISPASS|ISCA|SIGCOMM|SC 20\d\d|Hot Chips|Computex|MLPerf|LIBRA|LuWu|Opus|TeraRack|FRED"
)
"""What a source that says something names: a paper, a site, a document of a maker, a repository, a study."""

DERIVED = re.compile(r"\bas (of|the|NVLink)\b|A fibre, and|Paid for with|A substrate|this program", re.IGNORECASE)
"""What a source says instead that derives a figure from another one of the same file."""

Found = Iterator[tuple[str, str]]
"""Place of a figure, and what is wrong with its source."""


def unsourced(data: Mapping[str, Any]) -> Found:
    """Yield the figures of a file that have no source which says something, or no year."""
    if "source" in data:
        # In a catalogue of parts each entry has its own source, and that of the file is none.
        yield from _below({key: data[key] for key in data if key != "source" or "kind" not in data}, "", "", None)
        return
    for name, entry in data.items():
        yield from _entry(entry, name)


def _entry(entry: Mapping[str, Any], name: str) -> Found:
    """Yield those of an accelerator, whose sources are by figure, or of a design."""
    if "sources" not in entry:
        yield from _below(entry, name, "", None)
        return
    for key, _ in leaves({key: value for key, value in entry.items() if key not in ("sources", "order", "generation")}):
        source = covering_key(key, entry["sources"])
        text = "" if source is None else str(entry["sources"][source])
        yield from ((f"{name}.{key}", wrong) for wrong in _wrong(text, None))


def _below(data: Mapping[str, Any], place: str, source: str, year: int | None) -> Found:
    """Yield those of a mapping, whose own source and year hold for it and all in it."""
    source, year = str(data.get("source", source)), data.get("year", year)
    for key, value in data.items():
        where = f"{place}.{key}".lstrip(".")
        if isinstance(value, Mapping):
            yield from _below(value, where, source, year)
        elif isinstance(value, int | float | list) and key != "year":
            yield from ((where, wrong) for wrong in _wrong(source, year))


def _wrong(source: str, year: int | None) -> Iterator[str]:
    if not DOCUMENT.search(source) and not DERIVED.search(source):
        yield f"a source that says nothing: '{source}'"
    if year is None and not YEAR.search(source):
        yield "no year"


def read(path: Path) -> dict[str, Any]:
    data, _ = read_yaml(path.read_text(), path.name)
    assert isinstance(data, dict)
    return data


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_figure_has_a_source_and_a_year(path: Path) -> None:
    assert list(unsourced(read(path))) == []


SAYS_NOTHING = ("known", "from the internet", "set here", "")


@pytest.mark.slow
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_source_that_is_gone_or_says_nothing_is_found(path: Path) -> None:
    entries = [{name: entry} for name, entry in read(path).items()]
    places = [(one, *found) for one in entries for found in sourced(one)]
    assert places
    for whole, place, key in places:
        for text in SAYS_NOTHING:
            data = copy.deepcopy(whole)
            at(data, place)[key] = text
            assert list(unsourced(data)), (place, key, text)
        if "year" in at(whole, place) and key == "source":
            data = copy.deepcopy(whole)
            del at(data, place)["year"]
            assert list(unsourced(data)) or YEAR.search(str(at(whole, place)["source"])), place


def sourced(data: Mapping[str, Any], place: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield where a file has sources, without that of a whole catalogue of parts, which no figure relies on."""
    for key, value in data.items():
        if key == "source" and (place or "kind" not in data):
            yield place, key
        elif key == "sources":
            yield from (((*place, key), each) for each in value)
        elif isinstance(value, Mapping):
            yield from sourced(value, (*place, key))


def at(data: Any, place: tuple[str, ...]) -> Any:
    for key in place:
        data = data[key]
    return data


@pytest.mark.parametrize(
    ("technology", "npus", "switches"), [("nvlink3", 8, 6), ("nvlink4", 8, 4), ("nvlink5", 8, 2), ("nvlink5", 72, 18)]
)
def test_a_domain_has_as_many_switches_as_the_product(technology: str, npus: int, switches: int) -> None:
    kits = [kit for kit in load_parts("parts-2024").kits if kit.technology == technology]
    kit = next(kit for kit in kits if BLOCK_NAMES[kit.block] == "switch")
    items = bill([kit], np.array([[0]]), np.array([[npus]]), np.array([[kit.ports]]))
    assert items[ITEMS.index("switch")].sum() == switches


def test_sizes_of_the_a100_cluster_are_those_that_were_trained_on() -> None:
    sizes = reference_designs()["dgx-a100-superpod"].npus
    assert set(sizes) == {row["npus"] for row in training_rows("sc21")}


@pytest.mark.parametrize("name", ["nic-100g", "nic-200g", "nic-400g", "nic-800g"])
def test_a_nic_draws_power(name: str) -> None:
    part = next(kit.nic for kit in load_parts("parts-2024").kits if kit.nic is not None and kit.nic.name == name)
    assert 10 < part.power < 75
    assert part.idle_power is None or 0 < part.idle_power < part.power
