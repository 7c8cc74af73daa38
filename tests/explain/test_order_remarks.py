"""Remarks on an order beside its figures."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from order_files import order_problem

from evo_libra.explain.order_remarks import order_remarks
from evo_libra.network.orders.catalog import load_products

WHITE = "72 hgx-h100 / 1 x 400G / th5-64 fat tree 2:1 | pp4 dp144 mb1 zero2"


def _own(folder: Path, efficiency: float) -> str:
    """Return a catalogue in which a switch has another efficiency."""
    switch = load_products("products-2026").switches["th5-64"].model_dump(mode="json", exclude_none=True)
    switch |= {"efficiency": efficiency, "efficiency_range": [0.6, 0.95]}
    path = folder / f"{efficiency}.yaml"
    own = {"kind": "products", "name": "ours", "source": "made up", "extends": "products-2026"}
    path.write_text(json.dumps({**own, "switches": {"th5-64": switch}}))
    return str(path)


def test_a_range_of_efficiency_has_the_times_of_catalogues_with_its_ends(tmp_path: Path) -> None:
    problem = order_problem(fabric={"switches": ["th5-64"]})
    (said,) = order_remarks(problem, problem.read(WHITE))
    ends = r"60 %, at which the time is (\S+ \S+), to 95 %, (.*)"
    shape = f"th5-64 reaches 80 % of the wire here; the catalogue's range is {ends}"
    matched = re.fullmatch(shape, said)
    assert matched is not None, said
    slow, fast = (float(text.split()[0]) for text in matched.groups())
    for shown, efficiency in ((slow, 0.6), (fast, 0.95)):
        own = order_problem(fabric={"switches": ["th5-64"], "catalog": _own(tmp_path, efficiency)})
        unit = 1.0 if shown < 100 else 1e-3
        assert own.evaluate(WHITE).objectives[0, 0] == pytest.approx(shown * unit, rel=1e-4)
    assert slow > fast


def test_one_system_has_no_switch_to_say_anything_of() -> None:
    problem = order_problem(npus=8, systems=["hgx-h100"])
    assert order_remarks(problem, problem.read("1 hgx-h100 | dp8 mb1 zero1")) == ()
