"""How far this program is from what others have published or measured, at most."""

from __future__ import annotations

import numpy as np
import pytest

from evo_libra.errors import InputError
from evo_libra.validation.fit import refit
from evo_libra.validation.rail_only import ONE_TIER, TWO_TIERS
from evo_libra.validation.reliability import network_stops
from evo_libra.validation.source import PublishedRow, errors_of
from evo_libra.validation.sources import SOURCES, chosen, groups_of

WITH_SOFTWARE = ("korthikanti", "megatron-table-1", "megatron-table-2", "llama-3")


def rows_of(*names: str) -> list[PublishedRow]:
    return [row for source in chosen(names) for row in source.rows()]


def test_two_constants_explain_the_27_rows() -> None:
    errors = errors_of(rows_of("two-constants"))
    assert errors.count == 27
    assert errors.mean <= 0.028
    assert errors.maximum <= 0.09


def test_a_factor_of_each_software_explains_them_better() -> None:
    errors = errors_of(rows_of(*WITH_SOFTWARE))
    assert errors.count == 27
    assert errors.mean <= 0.020
    assert errors.maximum <= 0.052


def test_nearer_to_korthikanti_than_anybody() -> None:
    assert errors_of(rows_of("korthikanti")).mean < 0.0365


def test_zero_3_with_the_two_figures_of_its_software() -> None:
    assert errors_of(rows_of("zero-3")).mean <= 0.05


def test_footprints_are_those_that_are_printed() -> None:
    rows = rows_of("memory")
    assert len(rows) == 12
    for row in rows:
        digits = len(np.format_float_positional(row.published, trim="-").partition(".")[2])
        assert round(row.ours, digits) == row.published, row


@pytest.mark.parametrize("source", [one.name for one in SOURCES if one.name.startswith("nccl")])
def test_collectives_of_a_server(source: str) -> None:
    assert errors_of(rows_of(source)).mean < 0.10


@pytest.mark.slow
def test_a_fit_finds_the_constants_again() -> None:
    found = refit()
    assert [one.name for one in found.constants] == ["GEMM_OF_ISOLATED", "MEMORY_OF_PEAK"]
    assert all(abs(one.moved) < 0.02 for one in (*found.constants, *found.software))
    assert sum(half.errors.count for half in found.halves) == 27
    assert all(half.errors.mean <= 0.036 for half in found.halves)


@pytest.mark.slow
def test_no_name_is_that_of_another_source_or_group_and_every_source_has_rows() -> None:
    names = [source.name for source in SOURCES]
    assert len({*names, *groups_of(SOURCES)}) == len(names) + len(groups_of(SOURCES))
    for source in SOURCES:
        rows = list(source.rows())
        assert rows, source.name
        assert np.isfinite([row.error for row in rows]).all(), source.name


def test_a_name_chooses_a_source_or_all_of_a_group() -> None:
    assert chosen(()) == SOURCES
    assert [source.name for source in chosen(("llama-3",))] == ["llama-3"]
    assert {source.group for source in chosen(("kernels",))} == {"kernels"}
    assert [source.name for source in chosen(("zero-3", "korthikanti"))] == ["korthikanti", "zero-3"]


def test_an_unknown_name_suggests_the_nearest() -> None:
    with pytest.raises(InputError, match=r"unknown group or source 'llama3'.*; did you mean 'llama-3'\?"):
        chosen(("llama3",))


FAILURES = {
    "llama-interruptions": 0.52,
    "llama-effective-time": 0.02,
    "meta-mean-times": 2.66,
    "meta-node-rates": 0.56,
    "meta-effective-time": 0.015,
    "rail-only-failures": 1e-12,
}
"""Largest relative errors; what they come from is on the page about failures."""


def test_failures_are_as_far_from_published_ones_as_the_page_says() -> None:
    assert tuple(FAILURES) == tuple(source.name for source in SOURCES if source.group == "failures")
    for name, largest in FAILURES.items():
        assert errors_of(rows_of(name)).maximum <= largest, name


def test_llama_3_is_interrupted_as_often_as_its_paper_says() -> None:
    *causes, everything = rows_of("llama-interruptions")
    assert sum(row.published for row in causes) == everything.published == 419
    assert abs(everything.error) < 0.05
    for row in causes[:-1]:
        # Rates of the catalogue have four digits at most.
        assert abs(row.error) < 1e-3, row
    assert rows_of("llama-effective-time")[0].ours > 90


def test_rails_have_fewer_points_of_failure_with_fewer_switches() -> None:
    assert network_stops("switch", ONE_TIER) < network_stops("switch", TWO_TIERS)
    assert network_stops("switch", TWO_TIERS) == pytest.approx(network_stops("fat-tree", TWO_TIERS))
