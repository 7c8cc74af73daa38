"""The bandwidths that the LIBRA authors published, all 21 sets at 100 GB/s."""

import pytest
from published_allocations import Comparison, comparisons


@pytest.fixture(scope="module")
def found() -> list[Comparison]:
    return comparisons()


@pytest.mark.slow
def test_sets_are_complete(found: list[Comparison]) -> None:
    assert sum(one.objective == "time" for one in found) == 12
    assert sum(one.objective == "time-cost" for one in found) == 9


@pytest.mark.slow
def test_time_optimal_bandwidths_are_those_published(found: list[Comparison]) -> None:
    assert max(one.difference for one in found if one.objective == "time") < 0.04


def test_none_is_worse_than_those_published(found: list[Comparison]) -> None:
    assert all(one.excess >= 0 for one in found)
