"""Remarks on an order beside its figures."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from order_files import order_problem

from evo_libra.explain.order_remarks import order_remarks
from evo_libra.network.orders.catalog import load_products

WHITE = "72 hgx-h100 / 1 x 400G / th5-64 fat tree 2:1 | pp4 dp144 mb1 zero2"


def _own(folder: Path, **figures: Any) -> str:
    """Return a catalogue in which a switch has other figures."""
    switch = load_products("products-2026").switches["th5-64"].model_dump(mode="json", exclude_none=True) | figures
    path = folder / f"{'-'.join(map(str, figures.values()))}.yaml"
    own = {"kind": "products", "name": "ours", "source": "made up", "extends": "products-2026"}
    path.write_text(json.dumps({**own, "switches": {"th5-64": switch}}))
    return str(path)


EFFICIENCY = "th5-64 reaches 80 % of the wire here; the catalogue's range is 60 %, at which the time is {}, to 95 %, {}"
LATENCY = (
    "th5-64 passes a message on in 600 ns here; the catalogue's range is 560 ns, at which the time is {}, to 1,000 ns, "
    "{}"
)


@pytest.mark.slow
@pytest.mark.parametrize(("model", "key", "ends", "shape"), [
    ("libra", "efficiency", (0.6, 0.95), EFFICIENCY), ("astra", "efficiency", (0.6, 0.95), EFFICIENCY),
    ("astra", "latency_ns", (560, 1000), LATENCY),
])  # fmt: skip
def test_a_range_has_the_times_of_catalogues_with_its_ends(
    tmp_path: Path, model: str, key: str, ends: tuple[float, float], shape: str
) -> None:
    few = {"systems": ["hgx-h100"], "npus": 576, "time": {"model": model}}
    problem = order_problem(fabric={"switches": ["th5-64"]}, **few)
    asked = re.compile(re.escape(shape).replace(r"\{\}", r"(\S+ \S+)"))
    (matched,) = filter(None, map(asked.fullmatch, order_remarks(problem, problem.read(WHITE))))
    for shown, end in zip(matched.groups(), ends, strict=True):
        fabric = {"switches": ["th5-64"], "catalog": _own(tmp_path, **{key: end})}
        own = order_problem(fabric=fabric, **few).evaluate(WHITE).objectives[0, 0]
        assert own == pytest.approx(float(shown.split()[0]) * (1e-3 if shown.endswith("ms") else 1.0), rel=1e-5)
    assert len(set(matched.groups())) == 2


def test_latency_is_said_where_it_counts_alone() -> None:
    problem = order_problem(fabric={"switches": ["th5-64"]})
    assert not any("passes a message on" in said for said in order_remarks(problem, problem.read(WHITE)))


def test_one_system_has_no_switch_to_say_anything_of() -> None:
    problem = order_problem(npus=8, systems=["hgx-h100"])
    assert order_remarks(problem, problem.read("1 hgx-h100 | dp8 mb1 zero1")) == ()
