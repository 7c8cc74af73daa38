"""Fronts for reading in Python."""

from __future__ import annotations

import polars as pl
import pytest

import evo_libra
from evo_libra.front.front import Front
from evo_libra.front.printed import ROWS, Picture


def test_a_front_prints_as_ten_rounded_rows() -> None:
    count = 1000
    frame = pl.DataFrame({
        "id": range(count),
        "time_ms": [1000.123456 * 1.002**n for n in range(count)],
        "cost_usd": [4.0e6 * 0.99**n for n in range(count)],
        "design": ["SW(8)@nvlink4:450.0_SW(4)@ib-400g:50.0 | tp8 dp4"] * count,
    })  # fmt: skip
    front = Front(frame, ("time_ms", "cost_usd"))
    title, head, *rows, foot = repr(front).split("\n")
    assert str(front) == repr(front)
    assert title == "Front of 1,000 designs"
    assert head.split() == ["id", "time", "[ms]", "cost", "[kUSD]", "network"]
    assert len(rows) == ROWS
    assert rows[0].split() == ["0", "1000.1", "4000", "SW8_SW4"]
    assert foot == "10 of 1,000 rows in even steps along the front"


def test_an_order_prints_with_its_plan_and_an_empty_front_as_one_line() -> None:
    frame = pl.DataFrame({
        "id": [0, 1], "time_ms": [1.0, 2.0], "order_cost_usd": [2e6, 1e6], "system": ["hgx-b200"] * 2,
        "design": ["8 hgx-b200 / 8 x 400G | tp8 dp8", "8 hgx-b200 / 4 x 400G | tp4 dp8"],
    })  # fmt: skip
    front = Front(frame, ("time_ms", "order_cost_usd"))
    assert repr(front).split("\n")[2:] == [
        " 0          1                  2  8 hgx-b200 / 8 x 400G  tp8",
        " 1          2                  1  8 hgx-b200 / 4 x 400G  tp4",
    ]
    assert repr(front.where("nothing-like-that")) == "Front of 0 orders"


def test_a_front_of_a_problem_in_python_prints_its_columns() -> None:
    frame = pl.DataFrame({"id": [0], "loss": [0.123456789], "layers": [3], "name": ["wide"]})
    assert repr(Front(frame, ("loss",))).split("\n")[1:] == ["id     loss  layers  name", " 0  0.12346  3       wide"]


def test_a_picture_is_what_notebooks_show() -> None:
    assert Picture(b"\x89PNG")._repr_png_() == b"\x89PNG"
    assert repr(Picture(bytes(2000))) == "Picture: PNG of 2,000 bytes"


def test_completion_lists_the_public_names() -> None:
    assert dir(evo_libra) == sorted(evo_libra.__all__)
    for name in dir(evo_libra):
        assert getattr(evo_libra, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'frnt'"):
        _ = evo_libra.frnt  # type: ignore[attr-defined] # the point
