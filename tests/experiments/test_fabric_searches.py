"""The scripts of searches of fabrics, made quick."""

from __future__ import annotations

import numpy as np
import pytest
from fabric_plans import row as row_of_plans
from fabric_seeds import Settings, cheaper, row, volumes


def test_volumes_are_shares_of_the_union() -> None:
    """Of the corners (1, 10), (10, 1) and (3, 3), the union has all three; a front without the middle has less."""
    whole, ends = np.array([[1.0, 3.0, 10.0], [10.0, 3.0, 1.0]]), np.array([[1.0, 10.0], [10.0, 1.0]])
    shares = volumes([whole, ends])
    assert shares[0] == pytest.approx(1.0)
    assert 0.0 < shares[1] < 0.9


def test_cheaper_is_of_designs_that_are_not_slower() -> None:
    front = np.array([[1.0, 2.0, 3.0], [9.0, 6.0, 1.0]])
    assert cheaper(front, time=2.0, cost=8.0) == pytest.approx(0.25)
    assert cheaper(front, time=0.5, cost=8.0) == -1.0


@pytest.mark.slow
def test_a_row_of_seeds() -> None:
    found = row("fabric-256", ("striped", "server"), Settings(2, 150, None, 50))
    assert found[:3] == ["fabric-256", "striped server", "zcube(16, 2)"]
    assert int(found[3]) + int(found[4]) == 2


@pytest.mark.slow
def test_a_row_of_plans() -> None:
    found = row_of_plans("striped", "published", 300)
    assert found[:2] == ["striped", "published"]
    assert float(found[2]) > 2000
