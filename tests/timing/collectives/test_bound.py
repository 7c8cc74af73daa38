"""The bound of an all-reduce in closed form, beside the exact time of its queues."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from effort import costly
from hypothesis import given, settings
from hypothesis import strategies as st

from evo_libra.collective import Collective
from evo_libra.timing.collectives.collective_time import all_reduce_bound, collective_time
from evo_libra.timing.collectives.phase import Implementation, Link, Overheads
from evo_libra.timing.collectives.system import Choice, System
from evo_libra.timing.names import Policy, Scheduler

AR = Collective.ALL_REDUCE
OPTIONS = tuple(map(Implementation.read, ("ring", "direct", "halvingDoubling")))


def population(seed: int, depth: int, active: int, designs: int = 8) -> tuple[list[Link], System]:
    """Return networks of powers of two, a dimension of one NPU among them, and how their all-reduces run."""
    random = np.random.default_rng(seed)
    links = [
        Link(*fields)
        for fields in zip(
            random.integers(1, 3, (depth, designs)), 2 ** random.integers(0, 4, (depth, designs)),
            random.uniform(1e9, 300e9, (depth, designs)), random.choice([0.0, 500.0], (depth, designs)), strict=True,
        )
    ]  # fmt: skip
    rows = [Choice(OPTIONS, row) for row in random.integers(0, 3, (depth, designs))]
    return links, System({AR: rows}, random.integers(1, 40, designs), active, True, Overheads(10.0, 1600.0))  # noqa: FBT003


@given(
    seed=st.integers(0, 2**32 - 1), depth=st.integers(1, 5), active=st.integers(1, 5), policy=st.sampled_from(Policy)
)
@costly(80)
def test_no_all_reduce_is_faster_than_its_bound(seed: int, depth: int, active: int, policy: Policy) -> None:
    links, system = population(seed, depth, active)
    system = replace(system, policy=policy)
    assert (all_reduce_bound(2**26, links, system) <= collective_time(AR, 2**26, links, system) * (1 + 1e-14)).all()


@given(seed=st.integers(0, 2**32 - 1), depth=st.integers(1, 2))
@settings(max_examples=30)
def test_in_two_dimensions_the_bound_is_the_time(seed: int, depth: int) -> None:
    links, system = population(seed, depth, 1)
    assert all_reduce_bound(2**26, links, system) == pytest.approx(collective_time(AR, 2**26, links, system), rel=1e-14)


def test_most_all_reduces_in_three_dimensions_reach_the_bound() -> None:
    links, system = population(0, 3, 1, designs=2000)
    exact = collective_time(AR, 2**26, links, system)
    ratio = all_reduce_bound(2**26, links, system)[exact > 0] / exact[exact > 0]
    assert (ratio > 1 - 1e-14).mean() > 0.9
    assert ratio.min() > 0.85


@pytest.mark.parametrize(
    ("field", "value", "why"),
    [
        ("shrinking", False, "exact closed form"),
        ("queues", 2, "one queue"),
        ("scheduler", Scheduler.ROUND_ROBIN, "baseline"),
    ],
)
def test_what_has_no_such_bound_is_refused(field: str, value: object, why: str) -> None:
    links, system = population(0, 3, 1)
    with pytest.raises(ValueError, match=why):
        all_reduce_bound(2**26, links, replace(system, **{field: value}))
