"""The pages on catalogues of parts say what the files say, and their examples work."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from evo_libra import load_problem, search
from evo_libra.network.blocks import Part
from evo_libra.network.blocks.conformance import faults
from evo_libra.network.blocks.registry import BLOCK_NAMES, BLOCKS
from evo_libra.network.catalog.parts import PartsCatalog, load_parts

DOCS = Path(__file__).parents[3] / "docs"
REFERENCE, OWN = (DOCS / page for page in ("reference/catalogue.md", "how-to/own-parts.md"))
NUMERIC = frozenset("0123456789.-, ")


def markdown(head: list[str], rows: list[list[str]]) -> str:
    number = [all(set(row[c]) <= NUMERIC for row in rows) for c in range(len(head))]
    rule = ["--:" if n else "---" for n in number]
    return "\n".join(f"| {' | '.join(row)} |" for row in [head, rule, *rows])


def figure(value: float) -> str:
    return f"{value:,.10g}"


def technologies(catalog: PartsCatalog) -> str:
    rows = []
    for name in catalog.technologies:
        kits = [kit for kit in catalog.kits if kit.technology == name]
        first, blocks = kits[0], ", ".join(BLOCK_NAMES[kit.block] for kit in kits)
        rows.append([
            name, figure(first.port_rate / 1e9), str(first.ports), str(first.domain_size or ""),
            figure(round(first.latency * 1e9, 6)), figure(round(first.energy * 1e12, 6)), blocks,
        ])  # fmt: skip
    return markdown(["technology", "GB/s of a port", "ports", "domain size", "ns", "pJ/bit", "blocks"], rows)


def parts(catalog: PartsCatalog) -> str:
    found: dict[str, Part] = {}
    for kit in catalog.kits:
        for part in (kit.links, kit.uplink, kit.transceiver, kit.nic, kit.switch):
            if part is not None:
                found[part.name] = part
    rows = [
        [
            part.name, part.kind, figure(part.price.low), figure(part.price.value), figure(part.price.high),
            figure(part.power), str(part.ports or ""), figure(round(part.latency * 1e9, 6)), str(part.year),
        ]
        for part in sorted(found.values(), key=lambda part: (part.kind, part.name))
    ]  # fmt: skip
    return markdown(["part", "kind", "low USD", "USD", "high USD", "W", "ports", "ns", "year"], rows)


def code(page: Path, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", page.read_text(), flags=re.DOTALL)


@pytest.mark.parametrize("name", ["parts-2024", "wafer"])
def test_tables_are_those_of_the_files(name: str) -> None:
    catalog, page = load_parts(name), REFERENCE.read_text()
    assert technologies(catalog) in page
    assert parts(catalog) in page


def test_every_block_is_explained() -> None:
    page = REFERENCE.read_text()
    assert [block.name for block in BLOCKS if f"| `{block.name}` | {block.code} |" not in page] == []


def test_the_catalogue_of_the_example_loads(tmp_path: Path) -> None:
    example, problem = code(OWN, "yaml")
    (tmp_path / "ours.yaml").write_text(example)
    (tmp_path / "problem.yaml").write_text(problem)
    assert len(search(load_problem(str(tmp_path / "problem.yaml")), evaluations=500, population=50)) > 1
    catalog = load_parts("ours.yaml", tmp_path)
    assert catalog.technologies[-1] == "board"
    assert {kit.switch.price.value for kit in catalog.kits if kit.switch and kit.switch.ports == 64} >= {33000}


def test_the_block_of_the_example_meets_the_laws(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    block, test = (text for text in code(OWN, "python") if not text.startswith(">>>"))
    package = tmp_path / "your_package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "chain.py").write_text(block)
    monkeypatch.syspath_prepend(tmp_path)
    from your_package.chain import BLOCK  # noqa: PLC0415 - it has just been written

    assert faults(BLOCK) == []
    names: dict[str, object] = {}
    exec(compile(test, "example", "exec"), names)  # noqa: S102 - of our own page
    assert "test_chain" in names
    assert BLOCK.counts(np.array([8]), load_parts("parts-2024").kits[0]).linear[0, 0] == 7 / 2
