"""The factor of large fronts is that of all pairs, to the last bit."""

from __future__ import annotations

import moocore
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evo_libra.arrays import FloatArray
from evo_libra.front import indicators
from evo_libra.front.indicators import hypervolume, largest_factor


def sets(seed: int, objectives: int, most: int, values: int) -> list[FloatArray]:
    """Two random sets, which share some designs; few values make ties and repeats, none draws them at will."""
    random = np.random.default_rng(seed)
    found = [random.uniform(1, max(values, 2), (objectives, int(random.integers(1, most)))) for _ in range(2)]
    if values:
        found = [np.ceil(each) for each in found]
    shared = found[0][:, : int(random.integers(0, found[0].shape[1] + 1))]
    return [found[0], np.concatenate([found[1], shared], axis=1)]


@pytest.mark.slow
@settings(max_examples=80)
@given(st.integers(0, 10**6), st.integers(1, 5), st.sampled_from([0, 3, 9]), st.sampled_from([1.0, 0.9, 1.1]))
def test_factor_is_that_of_all_pairs(seed: int, objectives: int, values: int, scale: float) -> None:
    one, other = sets(seed, objectives, 300, values)
    for front, reference in ((one, other * scale), (other * scale, one), (one, one * scale)):
        pairs = (front[:, :, None] / reference[:, None, :]).max(axis=0)
        assert largest_factor(front, reference) == pairs.min(axis=0).max()


@settings(max_examples=60)
@given(st.integers(0, 10**6), st.sampled_from([4, 5]), st.sampled_from([0, 3, 9]))
def test_hypervolume_in_parts_is_the_whole(seed: int, objectives: int, values: int) -> None:
    points, _ = sets(seed, objectives, 60, values)
    ideal, nadir = points.min(axis=1), points.max(axis=1)
    rows = np.ascontiguousarray(indicators.scaled(points, ideal, nadir).T)
    whole = moocore.hypervolume(rows[(rows < 1.1).all(axis=1)], ref=np.full(objectives, 1.1))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(indicators, "_MANY", 2)
        assert hypervolume(points, ideal, nadir) == pytest.approx(whole, rel=1e-13)
