"""FRED's published figures."""

from typing import Any

import pytest

from evo_libra.validation.fabrics import figures
from evo_libra.validation.fred import (
    GROUPS,
    NETWORKS,
    Group,
    alone,
    effective,
    hottest_link,
    saved,
)
from evo_libra.validation.fred_runs import RUNS, SWEEPS

NUMBER = {"MP20": "MP of 20", "MP": "MP of 2", "DP": "DP of 5", "PP": "PP of 2"}
MICRO = [row for row in figures() if row["id"].startswith("fred.micro.")]
SPEEDUPS = [row for row in figures() if row["id"].startswith("fred.e2e.")]


@pytest.mark.parametrize("row", MICRO, ids=lambda row: row["id"])
def test_bandwidths_are_those_of_the_file(row: dict[str, Any]) -> None:
    inputs = row["inputs"]
    group = next(one for one in GROUPS if one.name == NUMBER[inputs.get("pattern") or inputs["dim"]])
    names = {"mesh": "mesh-2d", "FRED": "fred-", "FRED-C/D": "fred-c"}
    network = names.get(inputs["variant"], inputs["variant"].lower())
    found = [value for name, value in zip(NETWORKS, group.published, strict=True) if name.startswith(network)]
    assert set(found) == {row["value"]}


@pytest.mark.parametrize("row", SPEEDUPS, ids=lambda row: row["id"])
def test_speedups_are_those_of_the_file(row: dict[str, Any]) -> None:
    published = next(one.published for one in RUNS if one.name == row["inputs"]["workload"])
    assert published["CD".index(row["id"].split(".")[-1][0])] == row["value"]


def test_averages_are_those_of_the_file() -> None:
    values = {row["id"]: row["value"] for row in figures()}
    for sweep, name in zip(SWEEPS, ("T17B", "T1T"), strict=True):
        assert sweep.speedup == values[f"fred.speedup.{name}.avg"]
        assert sweep.exposed == values[f"fred.exposed.{name}.avg"]
        assert sweep.best == values[f"fred.best.{name}"]


@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group.name)
def test_effective_bandwidths_are_those_published(group: Group) -> None:
    for network, published in zip(NETWORKS, group.published, strict=True):
        if published is not None:
            assert alone(network, group) == published
        assert effective(network, group) <= alone(network, group)


def test_only_two_are_less_with_all_groups_at_a_time() -> None:
    pairs = [(group, network) for group in GROUPS for network in NETWORKS]
    less = [(group.name, network) for group, network in pairs if effective(network, group) < alone(network, group)]
    assert less == [("MP of 20", "fred-a"), ("PP of 2", "mesh-2d")]


def test_what_switches_save() -> None:
    assert [round(100 * saved(npus), 1) for npus in (2, 4, 5, 20)] == [0, 33.3, 37.5, 47.4]


def test_io_of_the_mesh() -> None:
    assert hottest_link() == pytest.approx(1152)
