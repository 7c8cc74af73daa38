"""Parts of a front: filters, orders, units."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evo_libra import load_problem, search
from evo_libra.errors import InputError
from evo_libra.files.query import parse_query
from evo_libra.front.front import Front
from evo_libra.front.selection import chosen, in_unit_of, ordered
from evo_libra.problem.constraint_parser import UNITS


@pytest.fixture(scope="module")
def front() -> Front:
    return search(load_problem("gpt3-4k"), evaluations=2000)


def test_words_hold_together_and_ids_stay(front: Front) -> None:
    found = chosen(front, "time<1s cost>=500kUSD").frame
    kept = front.frame.filter((pl.col("time_ms") < 1000) & (pl.col("cost_usd") >= 5e5))
    assert 0 < found.height < len(front)
    assert found["id"].to_list() == kept["id"].to_list()
    assert found.drop("family").equals(kept)


def test_a_dash_negates(front: Front) -> None:
    for word in ("time<1s", "family:RI4*", "technology:package", "id>=7"):
        assert len(chosen(front, word)) + len(chosen(front, f"-{word}")) == len(front)


def test_texts_have_patterns_and_alternatives(front: Front) -> None:
    found = chosen(front, "family:FC*,ri4_*").frame["family"]
    assert len(found) > 0
    assert all(name.startswith(("FC", "RI4_")) for name in found)
    assert chosen(front, "block:switch").frame.height == len(front)
    assert chosen(front, "technology[0]:chiplet").frame["design"].str.contains("@chiplet").all()


def test_order_is_by_a_column_either_way(front: Front) -> None:
    assert ordered(front, "cost").frame["cost_usd"].is_sorted()
    assert ordered(front, "-bandwidth[0]").frame["bandwidth[0]_GBps"].is_sorted(descending=True)


CASES = json.loads((Path(__file__).parent / "query_cases.json").read_text())


@pytest.fixture(scope="module")
def table() -> Front:
    """The front of the table of cases, which the page of a report reads, too."""
    return Front(pl.DataFrame(CASES["columns"]), tuple(CASES["objectives"]))


@pytest.mark.parametrize("case", CASES["cases"], ids=lambda case: case[0] or "empty")
def test_queries_choose_designs_or_name_the_position_of_a_mistake(table: Front, case: list[Any]) -> None:
    query, expected, *place = case
    if not place:
        assert table.where(query).frame["id"].to_list() == expected
        return
    with pytest.raises(InputError) as error:
        table.where(query)
    assert str(error.value).startswith(f"character {place[0]} of '{query}': {expected}")


@pytest.mark.slow
@given(st.text(max_size=30))
def test_any_text_is_a_query_or_is_refused_in_a_sentence(text: str) -> None:
    try:
        words = parse_query(text, UNITS)
    except InputError as error:
        assert str(error).startswith("character ")
    else:
        assert all(word.value and text[word.value_start :].startswith(word.value.split(" ")[0]) for word in words)


@given(st.floats(1e-3, 1e6), st.sampled_from(["<", ">="]), st.sampled_from(["", "-"]))
def test_spaces_around_signs_and_units_change_nothing(value: float, sign: str, dash: str) -> None:
    spaced, dense = (
        parse_query(text, UNITS) for text in (f"{dash}time  {sign} {value!r}  ms", f"{dash}time{sign}{value!r}ms")
    )
    assert [(one.name, one.sign, one.negated) for one in spaced] == [(one.name, one.sign, one.negated) for one in dense]
    assert [in_unit_of("time_ms", one.value) for one in (*spaced, *dense)] == pytest.approx([value, value])


@given(st.floats(1e-3, 1e6))
def test_units_are_those_of_problem_files(value: float) -> None:
    assert in_unit_of("time_ms", f"{value!r}s") == pytest.approx(value * 1e3, rel=1e-12)
    assert in_unit_of("cost_usd", f"{value!r} MUSD") == pytest.approx(value * 1e6, rel=1e-12)
    assert in_unit_of("bandwidth[2]_GBps", f"{value!r}TB/s") == pytest.approx(value * 1e3, rel=1e-12)
    assert in_unit_of("time_ms", repr(value)) == value


def test_equal_values_stay_in_the_order_of_the_front_either_way() -> None:
    count = 40
    frame = pl.DataFrame({"id": range(count), "time_ms": [1.0 + n for n in range(count)], "cost_usd": [7.0] * count})
    same = Front(frame, ("time_ms", "cost_usd"))
    for order in ("cost", "-cost"):
        assert ordered(same, order).frame["id"].to_list() == list(range(count))


def test_a_limit_is_kept_to_the_digit() -> None:
    found = Front(pl.DataFrame({"id": [0, 1, 2], "time_ms": [1.0, 2.0, 3.0]}), ("time_ms",))
    kept = {
        word: chosen(found, word).frame["id"].to_list() for word in ("time<2", "time<=2", "time>2ms", "time>=0.002s")
    }
    assert kept == {"time<2": [0], "time<=2": [0, 1], "time>2ms": [2], "time>=0.002s": [1, 2]}
    assert chosen(found, "-time<2").frame["id"].to_list() == [1, 2]
