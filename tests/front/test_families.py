"""Families of a front, and their names."""

from __future__ import annotations

import re

import numpy as np
import polars as pl
import pytest
from effort import costly
from hypothesis import given
from hypothesis import strategies as st

from evo_libra import load_problem, search
from evo_libra.front.families import drawn_families, families_of, family_rows, short_network, short_plans, structures_of
from evo_libra.front.front import ALL, Front
from evo_libra.network.fabric import parse_fabric


def front_of(*designs: str, **columns: list[str]) -> Front:
    count = len(designs)
    figures = {"time_ms": [1.0 + n for n in range(count)], "cost_usd": [float(count - n) for n in range(count)]}
    frame = pl.DataFrame({"id": range(count), **figures, "design": designs, **columns})
    return Front(frame, ("time_ms", "cost_usd"))


@pytest.fixture(scope="module")
def searched() -> Front:
    return search(load_problem("gpt3-4k"), evaluations=3000)


def test_designs_of_a_family_differ_in_bandwidths_alone(searched: Front) -> None:
    families = families_of(searched)
    columns = [name for name in searched.frame.columns if name.startswith(("npus[", "block[", "technology["))]
    keys = list(searched.frame.select(columns).iter_rows())
    assert len(families) == len(set(keys))
    assert len(set(zip(keys, families.of.tolist(), strict=True))) == len(families)
    assert families.sizes.sum() == len(searched)


def test_families_come_in_the_order_of_the_front_and_have_the_first_topology(searched: Front) -> None:
    families = families_of(searched)
    first = [families.of.tolist().index(place) for place in range(len(families))]
    assert first == sorted(first)
    for place, row in enumerate(first):
        fabric = parse_fabric(searched.frame["design"][row])
        bare = "_".join(str(one).split(":")[0] for one in fabric.dimensions)
        assert families.topologies[place] == bare


def test_rows_say_where_on_the_front_a_family_is(searched: Front) -> None:
    families = families_of(searched)
    for place, row in enumerate(family_rows(searched)):
        mine = searched.frame.filter(pl.Series(families.of == place))
        assert (row["designs"], row["first_id"], row["last_id"]) == (mine.height, mine["id"][0], mine["id"][-1])
        assert row["min_time_ms"] == mine["time_ms"].min()
        assert row["max_cost_usd"] == mine["cost_usd"].max()


def test_structures_leave_blocks_out(searched: Front) -> None:
    families, structures = families_of(searched), structures_of(searched)
    assert 1 < len(structures) < len(families)
    keys = [tuple(re.sub(r"[A-Z]+\(", "(", topology).split("_")) for topology in families.topologies]
    assert len(structures) == len(set(keys))
    assert structures.names[0] == "4 x 8 x 4 x 32"
    assert len(drawn_families(searched, len(families))) == len(families)
    assert drawn_families(searched, len(families) - 1).names == structures.names


def test_a_name_has_what_tells_it_from_others_and_no_more() -> None:
    found = families_of(
        front_of("RI(4)@a:1_SW(8)@b:2", "RI(4)@a:1.5_SW(8)@c:2", "RI(4)@a:3_SW(8)@b:4 chunks=4", "FC(32)@a:1")
    )
    assert found.names == ("RI4_SW8@b", "RI4_SW8@c", "FC32")
    assert found.of.tolist() == [0, 1, 0, 2]


def test_accelerators_make_families_and_names() -> None:
    found = families_of(
        front_of("SW(8)@a:1 npu=h100 | tp8", "SW(8)@a:2 npu=b200 | tp8", "SW(4)@a:2_SW(2)@a:1 npu=b200 | tp8",
                 npu=["h100", "b200", "b200"])
    )  # fmt: skip
    assert found.names == ("SW8 h100", "SW8 b200", "SW4_SW2")
    assert found.topologies[1] == "SW(8)@a npu=b200"


def test_designs_without_notation_are_one_family() -> None:
    front = Front(pl.DataFrame({"id": [0, 1], "hops": [1.0, 2.0], "cost_usd": [3.0, 1.0]}), ("hops", "cost_usd"))
    found = families_of(front)
    assert (found.names, found.of.tolist(), structures_of(front).names) == ((ALL,), [0, 0], (ALL,))


def test_an_empty_front_has_no_family() -> None:
    empty = Front(front_of("SW(8)@a:1").frame.clear(), ("time_ms", "cost_usd"))
    assert len(families_of(empty)) == 0
    assert family_rows(empty) == []


_DIMENSIONS = st.tuples(st.sampled_from(("RI", "SW")), st.sampled_from((2, 4)), st.sampled_from("ab"))


@given(st.lists(st.lists(_DIMENSIONS, min_size=1, max_size=3), min_size=1, max_size=12))
@costly(100)
def test_names_are_different_where_topologies_are(networks: list[list[tuple[str, int, str]]]) -> None:
    designs = ["_".join(f"{block}({npus})@{name}:1" for block, npus, name in one) for one in networks]
    found = families_of(front_of(*designs))
    assert len(set(found.names)) == len(found) == len(set(designs))
    np.testing.assert_array_equal(found.of, [list(dict.fromkeys(designs)).index(design) for design in designs])


@given(st.lists(st.lists(st.sampled_from(["tp8", "dp4", "mb1", "zero1", "pp2"]), unique=True), max_size=5))
def test_short_plans_lose_nothing(plans: list[list[str]]) -> None:
    texts = [" ".join(plan) for plan in plans]
    short, shared = short_plans(texts)
    assert [sorted([*one.split(), *shared.split()]) for one in short] == [sorted(text.split()) for text in texts]


def test_shared_words_come_in_the_order_of_the_first_plan() -> None:
    assert short_plans(["tp8 dp4 zero1", "zero1 dp2 tp8"]) == (["dp4", "dp2"], "tp8 zero1")
    assert short_plans(["tp8 dp4", "tp8 dp4"]) == (["", ""], "tp8 dp4")
    assert short_plans([]) == ([], "")


def test_a_ratio_of_one_digit_stays_apart_from_the_size() -> None:
    assert short_network("SW(8)@a:1_CL4(64)@b:2 | tp8") == "SW8_CL4(64)"
