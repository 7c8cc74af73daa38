from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evo_libra.network.fabrics.named import parse_named
from evo_libra.network.fabrics.population import fabrics_of
from evo_libra.problem.switch_fabrics.genes import MAX_PARALLEL, Fields, decoded, encoded, genome, repaired
from evo_libra.problem.switch_fabrics.seeds import named_fabrics


@pytest.mark.slow
@given(st.integers(0, 10**9), st.integers(4, 14))
def test_any_genes_are_a_fabric(seed: int, npus: int) -> None:
    """What is decoded can be wired evenly, as `LayeredFabric` checks, and decodes to itself again."""
    genes = genome(npus).sample(np.random.default_rng(seed), 5)
    fabrics = decoded(genes, npus, 3)
    for design in np.flatnonzero(fabrics.joined.any(axis=0)):
        fabric = fabrics.fabric(int(design))
        assert fabric.npus == 1 << npus
        assert len(fabric.between) == fabrics.joined[:, design].sum()
    once = repaired(Fields.of(genes), npus).genes()
    assert np.array_equal(repaired(Fields.of(once), npus).genes(), once)


@pytest.mark.parametrize("npus", [256, 1024, 4096, 16384])
def test_named_fabrics_come_back_from_genes(npus: int) -> None:
    named = named_fabrics(npus, 8)
    assert any(name.startswith("zcube") for name in named)
    for fabric in named.values():
        if max(one.parallel for one in fabric.between) > 1 << MAX_PARALLEL:
            continue
        genes = encoded(fabrics_of([fabric]))
        assert decoded(genes, npus.bit_length() - 1, 3).fabric(0) == fabric


def test_layers_without_a_way_to_the_npus_are_left_out() -> None:
    """Layers 2 and 3 are joined to each other only; of ZCube(16, 2) the first layer alone is left."""
    fields = Fields.of(encoded(fabrics_of([parse_named("zcube(16, 2)")])))
    joined = np.array([[1], [0], [0], [0], [0], [1]])
    alone = Fields(**{**vars(fields), "joined": joined})
    found = decoded(alone.genes(), 8, 3)
    assert found.joined[:, 0].tolist() == [1, 0, 0, 0, 0, 0]
    assert found.layers[:, 0].tolist() == [4, 0, 0]
