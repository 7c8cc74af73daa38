"""Parts of a front: filters, orders, units."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evo_libra import load_problem, search
from evo_libra.errors import InputError
from evo_libra.front.front import Front
from evo_libra.front.selection import chosen, in_unit_of, ordered


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


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("tiem<5", "unknown column 'tiem'.*did you mean 'time"),
        ("time<5USD", "'5USD' is no time; its units are s, ms, us"),
        ("time<soon", "'soon' is no number, such as 5ms"),
        ("id<5s", "'5s' has a unit, and id has none"),
        ("family<5", "family has texts; write family:5"),
        ("SW8", "'SW8' is no filter"),
    ],
)
def test_what_is_no_filter_is_said(front: Front, query: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        chosen(front, query)


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
