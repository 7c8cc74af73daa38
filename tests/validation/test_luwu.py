"""LuWu's tables and figures: which of them are reproduced, and on which side of 1 the others are."""

from __future__ import annotations

from evo_libra.validation.luwu import fits, luwu
from evo_libra.validation.source import PublishedRow
from evo_libra.validation.sources import chosen
from evo_libra.workload.plans.plans import NETWORK


def rows_of(name: str) -> list[PublishedRow]:
    return [row for source in chosen((name,)) for row in source.rows()]


def test_what_a_server_needs_is_table_3() -> None:
    rows = rows_of("luwu-server")
    assert len(rows) == 10
    assert all(abs(row.error) < 0.005 for row in rows), rows


def test_systems_cost_what_table_9_sums_up_to() -> None:
    rows = {row.id: row for row in rows_of("luwu-prices")}
    for name, system in luwu()["systems"].items():
        assert rows[f"{name}, 32 GPUs"].ours == system["cost"]
    assert round(rows["LuWu, published throughput per dollar over DGX"].ours, 2) == 1.96
    assert all(abs(row.error) < 0.013 for row in rows.values()), "ratios have two digits"


def test_throughput_of_the_175b_model() -> None:
    assert abs(rows_of("luwu-throughput")[0].error) < 0.03


def test_the_largest_models_and_microbatches_are_those_of_the_paper() -> None:
    assert [row.ours for row in rows_of("luwu-largest")] == [1000, 175, 1.3, 16, 8]
    assert not fits("1.0T", NETWORK, 16)


def test_ratios_are_on_the_published_side_of_1() -> None:
    rows = rows_of("luwu-ratios")
    assert len(rows) == 7
    assert all((row.published > 1) == (row.ours > 1) for row in rows), rows
