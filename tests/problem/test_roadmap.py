"""Products of a roadmap: said wherever an order with one of them is shown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from order_files import order_data

from evo_libra import load_problem, search
from evo_libra.explain.system_views import system_rows
from evo_libra.network.orders.catalog import load_products
from evo_libra.problem.designs import warnings_of
from evo_libra.problem.problem import Problem
from evo_libra.ui.commands.application import run

SAID = "soon-8 is a roadmap product: it is announced and cannot be ordered yet, so figures and price may change"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with a file that may order H100 servers, and the same servers as an announced product."""
    server = load_products("products-2026").systems["hgx-h100"].model_dump(mode="json", exclude_unset=True)
    soon = server | {"order": "roadmap", "price_usd": 200000}
    catalogue = {
        "kind": "products",
        "name": "mine",
        "source": "made up",
        "extends": "products-2026",
        "systems": {"soon-8": soon},
    }
    (tmp_path / "mine.yaml").write_text(json.dumps(catalogue))
    fabric = {"catalog": "mine.yaml", "switches": ["qm9700"]}
    data = order_data(systems=["hgx-h100", "soon-8"], fabric=fabric, limits={"order": ["buy", "roadmap"]})
    (tmp_path / "buy.yaml").write_text(json.dumps(data))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.slow
def test_an_order_says_what_of_it_is_announced(folder: Path) -> None:
    problem = load_problem(str(folder / "buy.yaml"))
    assert isinstance(problem, Problem)
    designs = [str(design) for design in search(problem).frame["design"]]
    bought = next(one.design for one in system_rows(problem) if one.system == "hgx-h100")
    soon = next(design for design in designs if "soon-8" in design)
    assert warnings_of(problem, [bought]) == []
    assert [str(one) for one in warnings_of(problem, [soon])] == [f"warning: {SAID} [roadmap]"]
    assert [str(one) for one in warnings_of(problem, [bought, soon])] == [
        f"warning for 1 of 2 designs: {SAID} [roadmap]"
    ]


@pytest.mark.slow
def test_each_command_says_so(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["search", "buy.yaml", "--no-plot"]) == 0
    assert SAID in " ".join(capsys.readouterr().out.split())
    for command in ("recommend last", "evaluate last#fastest", "explain last#fastest"):
        assert run(command.split()) == 0
        assert SAID in " ".join(capsys.readouterr().out.split()), command
        assert run([*command.split(), "--json"]) == 0
        assert SAID in capsys.readouterr().out, command
    assert run(["report", "last", "-o", "page.html", "--seconds", "0"]) == 0
    assert SAID in (folder / "page.html").read_text(encoding="utf-8")
