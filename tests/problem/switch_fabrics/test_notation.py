from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evo_libra.errors import InputError
from evo_libra.network.fabrics.named import parse_named
from evo_libra.problem.switch_fabrics.genes import decoded, genome
from evo_libra.problem.switch_fabrics.notation import fabric_text, parse_fabric


def test_zcube_as_text() -> None:
    text = "16384, 128, 128 | 0-1 H128/128 E1 200G | 0-2 H1/1 E1 200G | 1-2 H1/1 E128 200G"
    assert fabric_text(parse_named("zcube(128, 2)")) == text
    assert parse_fabric(text) == parse_fabric("zcube(128, 2)")


def test_parallel_links_as_text() -> None:
    text = "4096, 128, 64 | 0-1 H16/16 E1 400G | 1-2 H16/1 E8 4x400G"
    assert parse_fabric(text) == parse_named("rail-only(4096, 64)")
    assert fabric_text(parse_fabric(text)) == text


@pytest.mark.slow
@given(st.integers(0, 10**9), st.integers(4, 14))
def test_round_trip(seed: int, npus: int) -> None:
    fabrics = decoded(genome(npus).sample(np.random.default_rng(seed), 4), npus, 3)
    for design in np.flatnonzero(fabrics.joined.any(axis=0)).tolist():
        fabric = fabrics.fabric(design)
        assert parse_fabric(fabric_text(fabric)) == fabric


@pytest.mark.parametrize(("text", "said"), [
    ("zcubes(4, 2)", "unknown fabric 'zcubes'"),
    ("64, x | 0-1 H8/8 E1 200G", "'64, x' are no nodes of layers"),
    ("64, 8 | 0-1 E1 200G", "'0-1 E1 200G' are no links of two layers"),
    ("64, 8 | 0-1 H8/3 E1 200G", "3 blocks do not divide them evenly"),
    ("64, 8 | 0-2 H8/8 E1 200G", "layers 0 and 2 cannot be joined"),
])  # fmt: skip
def test_wrong_texts(text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        parse_fabric(text)


def test_links_within_a_layer_have_no_notation() -> None:
    with pytest.raises(InputError, match="links within a layer have no notation"):
        fabric_text(parse_named("dragonfly(2)"))
