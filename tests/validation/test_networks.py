"""What is claimed about networks, beside published figures and those of LIBRA and ASTRA-sim."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evo_libra.validation.astra import traces_of
from evo_libra.validation.source import DATA, PublishedSource, errors_of, published
from evo_libra.validation.sources import NETWORKS

GOLDEN = Path(__file__).parents[1] / "golden"
BY_NAME = {source.name: source for source in NETWORKS}
LARGEST = {
    "themis-baseline": 0.005,
    "themis-fifo": 0.17,
    "themis-smallest": 0.045,
    "themis-utilisation": 0.015,
    "themis-speedup": 0.025,
    "themis-training": 0.047,
    "themis-training-exposed": 0.019,
    "themis-training-mean": 0.027,
    "themis-training-v1": 0.15,
    "fred-bandwidth": 0.014,
    "fred-shared-bandwidth": 0.5,
    "fred-bisection": 0.0,
    "fred-wafer": 1e-3,
    "fred-speedup": 0.29,
    "fred-strategies": 0.3,
    "rail-only": 0.07,
    "rail-only-fitted": 0.014,
    "rail-only-all-to-all": 0.005,
    "fat-trees": 0.0,
    "super-pods": 0.0,
    "optical-rails": 4e-3,
    "direct-links": 0.07,
    "libra-time": 1e-12,
    "libra-cost": 1e-12,
    "astra-sim-shared-links": 1e-6,
    "roce": 0.12,
    "roce-training": 0.09,
    "roce-training-fluid": 0.68,
}
"""Largest relative errors; of the others, times are those of ASTRA-sim to the nanosecond."""
TO_THE_NANOSECOND = ("astra-sim-collectives", "astra-sim-traces")


def golden(name: str) -> Any:
    return json.loads((GOLDEN / name).read_text())


def test_every_source_has_a_name_of_its_own_and_an_expected_error() -> None:
    assert len(BY_NAME) == len(NETWORKS)
    assert set(BY_NAME) == {*LARGEST, *TO_THE_NANOSECOND}
    assert {source.group for source in NETWORKS} == {"networks"}


@pytest.mark.parametrize("source", NETWORKS, ids=lambda source: source.name)
def test_rows_have_names_of_their_own(source: PublishedSource) -> None:
    names = [row.id for row in source.rows()]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("name", LARGEST)
def test_largest_errors(name: str) -> None:
    assert errors_of(BY_NAME[name].rows()).maximum <= LARGEST[name]


@pytest.mark.parametrize("name", TO_THE_NANOSECOND)
def test_times_of_astra_sim_to_the_nanosecond(name: str) -> None:
    for row in BY_NAME[name].rows():
        assert abs(row.ours - row.published) <= 1, row.id


@pytest.mark.parametrize(("name", "error"), [("baseline", 0.01), ("fifo", 0.12), ("smallest", 0.03)])
def test_mean_errors_of_themis(name: str, error: float) -> None:
    assert errors_of(BY_NAME[f"themis-{name}"].rows()).mean < error


def test_the_sample_of_libra_is_libras() -> None:
    sample, whole = published("libra_sample.json"), golden("libra_model.json")
    cases = {case["id"]: case for case in whole["cases"]}
    assert sample["cost_tables"] == whole["cost_tables"]
    assert sample["workload_tables"] == whole["workload_tables"]
    for case in sample["cases"]:
        assert {name: cases[case["id"]][name] for name in case} == case


def test_the_sample_of_collectives_is_astra_sims() -> None:
    cases = {case["id"]: case for case in golden("astra_collectives.json")}
    for case in published("astra_collectives_sample.json"):
        assert {**case, "wall_s": cases[case["id"]]["wall_s"]} == cases[case["id"]]


def test_the_sample_of_traces_is_astra_sims() -> None:
    sample, whole = published("astra_traces_sample.json"), golden("astra_graphs.json")
    cases = {case["id"]: case for case in whole["cases"]}
    for case in sample["cases"]:
        assert case == cases[case["id"]]
        assert traces_of(sample, case) == traces_of(whole, case)


def test_figures_are_few() -> None:
    """Rows of kernels of 8 chips are half of them; bars of figures are rows, and whole tables stay out."""
    assert sum(file.stat().st_size for file in DATA.iterdir()) < 440_000
