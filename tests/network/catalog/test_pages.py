"""The examples of the page on own parts work."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from designs import design_file

from evo_libra import load_problem, search
from evo_libra.files.source import read_source
from evo_libra.network.blocks.conformance import faults
from evo_libra.network.catalog.parts import load_parts
from evo_libra.problem.problem import Problem

OWN = Path(__file__).parents[3] / "docs" / "how-to" / "own-parts.md"


def code(page: Path, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", page.read_text(), flags=re.DOTALL)


@pytest.mark.slow
def test_the_catalogue_of_the_example_loads(tmp_path: Path) -> None:
    example, asked, problem = code(OWN, "yaml")
    (tmp_path / "ours.yaml").write_text(example)
    (tmp_path / "problem.yaml").write_text(problem)
    assert len(search(load_problem(str(tmp_path / "problem.yaml")), evaluations=500, population=50)) > 1
    catalog = load_parts("ours.yaml", tmp_path)
    assert catalog.technologies[-1] == "board"
    (tmp_path / "asked.yaml").write_text(asked)
    fabric = json.dumps(read_source(tmp_path / "asked.yaml").data["fabric"])
    larger = load_problem(design_file("mixed-models-4k"), [f"fabric={fabric}"])
    assert isinstance(larger, Problem)
    assert {kit.domains for kit in larger.pricing.kits if kit.technology == "nvlink4"} == {(8, 256)}
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
