"""The reference pages: what is made from the program when they are built is all that the program has."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from generated import GENERATORS, PLACES, expanded, help_of, named
from layout import cell

from evo_libra.files.fields import CompleteSchema
from evo_libra.network.blocks.registry import BLOCKS
from evo_libra.network.catalog.parts import load_parts, load_parts_spec
from evo_libra.problem.objectives import PLAIN

DOCS = Path(__file__).parents[1] / "docs"
PAGES = sorted(
    path for folder in ("", "how-to", "reference", "studies", "why") for path in (DOCS / folder).glob("*.md")
)
FILES = {
    "problem-file": ["problem file"],
    "experiment-file": ["experiment file"],
    "catalogue": ["catalogue of prices", "catalogue of parts"],
}


def page(name: str) -> str:
    return expanded((DOCS / "reference" / f"{name}.md").read_text())


def models_of(schema: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield schema
    yield from schema["$defs"].values()


@pytest.mark.slow
@pytest.mark.parametrize(("name", "kind"), [(name, kind) for name, kinds in FILES.items() for kind in kinds])
def test_every_key_of_every_file_is_listed_with_its_meaning(name: str, kind: str) -> None:
    text = page(name)
    for model in models_of(named(kind).model_json_schema(schema_generator=CompleteSchema)):
        for key, field in model["properties"].items():
            meaning = cell(field.get("description", ""))
            assert re.search(rf"^\| \[`{key}`\]\{{#\S+\}} \|.*\| {re.escape(meaning)} \|$", text, re.MULTILINE), key


SLOW = ("validation",)
"""Pages that are made of all rows of all sources."""


@pytest.mark.slow
@pytest.mark.parametrize(
    "path", [pytest.param(path, marks=[pytest.mark.slow] if path.stem in SLOW else []) for path in PAGES],
    ids=lambda path: path.stem,
)  # fmt: skip
def test_anchors_are_unique_and_links_to_them_exist(path: Path) -> None:
    text = expanded(path.read_text())
    anchors = Counter(re.findall(r"\{#([^}]+)\}|^\(([^)]+)\)=$", text, re.MULTILINE))
    assert [anchor for anchor, count in anchors.items() if count > 1] == []
    known = {name for pair in anchors for name in pair}
    assert [link for link in re.findall(r"\]\(#([^)]+-keys)\)", text) if link not in known] == []


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_a_page_says_first_for_whom_it_is(path: Path) -> None:
    title, _, first = path.read_text().partition("\n\n")
    assert title.startswith("# ")
    assert first.startswith("For ")


def test_the_page_on_development_names_what_is_there() -> None:
    paths = re.findall(r"`((?:evo_libra|tests|docs|problems)/?[\w/.]*)`", (DOCS / "development.md").read_text())
    assert len(paths) > 20
    assert [path for path in paths if not (DOCS.parent / path).exists()] == []


def test_every_list_is_asked_for_and_every_place_exists() -> None:
    asked = {word for path in PAGES for word in re.findall(r"^```\{generated\} (\w+)", path.read_text(), re.MULTILINE)}
    assert asked == set(GENERATORS)
    assert all(named(place) is not None for place in PLACES)


def test_names_are_those_of_the_program() -> None:
    blocks, objectives, results = page("catalogue"), page("problem-file"), page("results")
    assert [block.name for block in BLOCKS if f"| `{block.name}` | `{block.code}` |" not in blocks] == []
    assert "| 1:1 | 7:1 | `fat-tree-1-7` | `CL17` | `switch-1-7` | `SW17` |" in blocks
    for name, measure in PLAIN.items():
        assert f"| `{name}` | `{measure.objective.column}` |" in objectives
        assert f"| `{name}` | `{measure.objective.column}` |" in results


@pytest.mark.parametrize("name", ["parts-2024", "products-2025", "wafer"])
def test_catalogues_are_those_of_the_files(name: str) -> None:
    text, spec = page("catalogue"), load_parts_spec(name)
    for kit in load_parts(name).kits:
        assert re.search(rf"^\| {kit.technology} \| {kit.port_rate / 1e9:,.10g} \| {kit.ports} \|", text, re.MULTILINE)
    assert [part for part, one in spec.parts.items() if f"\n| {part} | {one.kind} |" not in text] == []


@pytest.mark.slow
def test_every_option_of_every_command_is_listed() -> None:
    text = page("command-line")
    for name in named("commands"):
        words = [name] if name != "workload" else [name, "show"]
        section = text.partition(f"\n## `{' '.join(words)}`\n")[2].partition("\n## ")[0]
        options = set(re.findall(r"^ +(?:[A-Z]+, )?(--[a-z-]+)", help_of(words), re.MULTILINE))
        assert options <= set(re.findall(r"--[a-z-]+", section)), name


def test_json_files_are_listed_with_every_key() -> None:
    text = page("results")
    for name in named("JSON files"):
        assert f"### `{name}`" in text
