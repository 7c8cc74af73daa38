"""FRED's published figures."""

from typing import Any

import pytest
from fred import communication_of_resnet_at_h100_speed

from evo_libra.validation.fabrics import figures
from evo_libra.validation.fred import (
    GROUPS,
    NETWORKS,
    WORKLOADS,
    FredWorkload,
    Group,
    alone,
    effective,
    saved,
    streaming_factor,
)

NUMBER = {"MP20": "MP of 20", "MP": "MP of 2", "DP": "DP of 5", "PP": "PP of 2"}
MICRO = [row for row in figures() if row["id"].startswith("fred.micro.")]
RUNS = [row for row in figures() if row["id"].startswith("fred.e2e.")]


@pytest.mark.parametrize("row", MICRO, ids=lambda row: row["id"])
def test_bandwidths_are_those_of_the_file(row: dict[str, Any]) -> None:
    inputs = row["inputs"]
    group = next(one for one in GROUPS if one.name == NUMBER[inputs.get("pattern") or inputs["dim"]])
    names = {"mesh": "mesh-2d", "FRED": "fred-", "FRED-C/D": "fred-c"}
    network = names.get(inputs["variant"], inputs["variant"].lower())
    found = [value for name, value in zip(NETWORKS, group.published, strict=True) if name.startswith(network)]
    assert set(found) == {row["value"]}


@pytest.mark.parametrize("row", RUNS, ids=lambda row: row["id"])
def test_speedups_are_those_of_the_file(row: dict[str, Any]) -> None:
    published = next(one.published for one in WORKLOADS if one.name == row["inputs"]["workload"])
    assert published["CD".index(row["id"].split(".")[-1][0])] == row["value"]


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
    assert streaming_factor() == 750 / 1152


@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda workload: workload.name)
def test_tree_d_follows_from_tree_c(workload: FredWorkload) -> None:
    assert 0 < workload.communication() < 1
    assert workload.speedup() == pytest.approx(workload.published[1], rel=0.01)
    assert workload.speedup() < workload.limit()


def test_what_is_readable_does_not_explain_resnet() -> None:
    assert communication_of_resnet_at_h100_speed() < WORKLOADS[0].communication() / 4
