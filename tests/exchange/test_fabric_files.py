from __future__ import annotations

import csv
import io

import pytest

from evo_libra.errors import InputError
from evo_libra.exchange.fabric_files import cable_list, fabric_dot
from evo_libra.network.fabrics.named import parse_named


def test_cables_of_a_small_zcube() -> None:
    """ZCube(2, 2): NPUs 0 to 3 are on switches 0, 0, 1, 1 of layer 1, and on 0, 1, 0, 1 of layer 2."""
    rows = list(csv.DictReader(io.StringIO(cable_list(parse_named("zcube(2, 2)")))))
    ends = [tuple(int(row[key]) for key in ("lower_layer", "lower_node", "upper_layer", "upper_node")) for row in rows]
    assert ends[:8] == [
        (0, 0, 1, 0), (0, 1, 1, 0), (0, 2, 1, 1), (0, 3, 1, 1), (0, 0, 2, 0), (0, 1, 2, 1), (0, 2, 2, 0), (0, 3, 2, 1),
    ]  # fmt: skip
    assert sorted(ends[8:]) == [(1, 0, 2, 0), (1, 0, 2, 1), (1, 1, 2, 0), (1, 1, 2, 1)]
    assert {(row["cables"], row["Gbps"]) for row in rows} == {("1", "200")}


def test_servers_have_no_cables() -> None:
    rows = list(csv.DictReader(io.StringIO(cable_list(parse_named("rail-only(256, 16)")))))
    assert len(rows) == 256 + 32 * 2
    assert sum(int(row["cables"]) for row in rows) == 256 + 32 * 8


def test_too_many_cables_are_refused() -> None:
    with pytest.raises(InputError, match="3,145,728 cables; a list of them has"):
        cable_list(parse_named("zcube(1024, 2)"))


def test_layers_as_a_graph() -> None:
    text = fabric_dot(parse_named("zcube(16, 2)"), "zcube(16, 2)")
    assert text.startswith('graph "zcube(16, 2)" {')
    assert 'layer0 -- layer1 [label="256 x 200G"];' in text
    assert text.count("--") == 3
