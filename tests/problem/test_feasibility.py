"""Which structures can meet the constraints."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from evo_libra.problem.constraint_parser import parse_constraint
from evo_libra.problem.constraints import Constraint
from evo_libra.problem.pricing.per_bandwidth import _meet_together, _solvable

TEXTS = (
    "sum(bw) == {} GB/s", "sum(bw) <= {} GB/s", "sum(bw) >= {} GB/s", "bw[0] - 2*bw[1] <= -{} GB/s",
    "bw[0] - 2*bw[2] == {} GB/s", "cost <= {} kUSD", "cost >= {} kUSD", "bw[a] >= {} GB/s",
)  # fmt: skip
NUMBERS = st.floats(0.1, 3000)
SIZES = st.floats(0.01, 500)  # Where sizes are far apart, a linear program has no answer that means anything.


def moved(constraint: Constraint, by: float) -> Constraint:
    return replace(constraint, limit=constraint.limit * (1 + by))


@pytest.mark.slow
@given(
    text=st.sampled_from(TEXTS), limit=NUMBERS, low=st.lists(st.just(0.0) | SIZES, min_size=3, max_size=3),
    wide=st.lists(st.sampled_from([0.0, np.inf]) | SIZES, min_size=3, max_size=3),
    kind=st.lists(st.integers(-1, 1), min_size=3, max_size=3),
)  # fmt: skip
def test_one_constraint_is_met_where_a_linear_program_says_so(
    text: str, limit: float, low: list[float], wide: list[float], kind: list[int]
) -> None:
    (constraint,) = parse_constraint(text.format(limit), 3, ("a", "b"))
    least, technology = np.array(low) * 1e9, np.array(kind)
    box = least, least + np.array(wide) * 1e9, np.array([3e-6, 1e-6, 2e-6])
    found = _solvable(technology, box, [constraint])
    # The program has tolerances of 1e-7 of its own: what hangs on the last digits may go either way.
    near = [_solvable(technology, box, [moved(constraint, by)]) for by in (-1e-6, 1e-6)]
    assume(len({found, *near}) == 1)
    assert found == _meet_together(technology, box, [constraint])
