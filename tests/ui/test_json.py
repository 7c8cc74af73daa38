"""JSON that commands print: tables are the rows that they have in Python; what JSON cannot state is never printed."""

from __future__ import annotations

import json

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evo_libra.ui.tables.output import print_json

FINITE = st.floats(allow_nan=False, allow_infinity=False)
ROWS = st.lists(st.tuples(st.integers(-(2**63), 2**63 - 1), FINITE, st.text(), st.none() | FINITE, st.booleans()))
SCHEMA = {"id": pl.Int64, "time_ms": pl.Float64, 'a "design"': pl.String, "goodput": pl.Float64, "fits": pl.Boolean}


def printed(capsys: pytest.CaptureFixture[str], data: dict[str, object]) -> dict[str, object]:
    capsys.readouterr()
    print_json(data)
    text = capsys.readouterr().out
    assert text.count("\n") == 1
    found: dict[str, object] = json.loads(text)
    return found


@pytest.mark.slow
@given(ROWS)
def test_a_table_is_printed_as_its_rows_to_the_last_bit(rows: list[tuple[object, ...]]) -> None:
    table = pl.DataFrame(rows, schema=SCHEMA, orient="row")
    with pytest.MonkeyPatch.context() as patch:
        texts: list[str] = []
        patch.setattr("builtins.print", texts.append)
        print_json({"front": table, "wall_s": 0.1, "recommended": [{"id": 1}]})
    assert json.loads(texts[0]) == {"front": table.to_dicts(), "wall_s": 0.1, "recommended": [{"id": 1}]}
    assert list(json.loads(texts[0])) == ["front", "wall_s", "recommended"]


def test_a_table_without_rows_is_an_empty_list(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys, {"front": pl.DataFrame(schema=SCHEMA)}) == {"front": []}


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_what_is_not_finite_is_never_printed(capsys: pytest.CaptureFixture[str], value: float) -> None:
    for data in ({"wall_s": value}, {"front": pl.DataFrame({"time_ms": [1.0, value]})}):
        with pytest.raises(ValueError, match=r"finite|range"):
            print_json(data)
    assert capsys.readouterr().out == ""
