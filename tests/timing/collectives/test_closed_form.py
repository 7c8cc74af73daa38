"""Chunks without the queue model: compiled, design by design and all together they take as long as its queues say."""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
import pytest
from effort import costly
from hypothesis import given
from hypothesis import strategies as st

from evo_libra.arrays import BoolArray, FloatArray, IntArray
from evo_libra.collective import Collective
from evo_libra.timing.collectives import closed_form as module
from evo_libra.timing.collectives.closed_form import UNCLEAR, closed_form
from evo_libra.timing.collectives.collective_time import collective_time
from evo_libra.timing.collectives.phase import SWITCH, Implementation, Link, Overheads
from evo_libra.timing.collectives.queues import TooLongError, finish
from evo_libra.timing.collectives.system import Choice, Choices, System
from evo_libra.timing.names import MOST_CHUNKS

SEEDS = st.integers(0, 2**32 - 1)
DESIGNS = 24
THERE_AND_BACK = np.array([0, 1, 2, 1, 0])


def random_phases(random: np.random.Generator, depth: int, longest: int) -> tuple[FloatArray, BoolArray]:
    """Return (p, n) phases there and back over some of the dimensions, alike on both ways in a third of the designs."""
    used = random.random((depth, DESIGNS)) < 0.7
    last = depth - 1 - used[::-1].argmax(axis=0)
    before = used & (np.arange(depth)[:, None] < last)
    taken = np.vstack([before, used.any(axis=0), before[::-1]])
    times = random.integers(0, longest, taken.shape).astype(np.float64)
    alike = random.random(DESIGNS) < 1 / 3
    times[depth + 1 :, alike] = times[:depth][::-1][:, alike]
    return times * taken, taken


def by_queues(times: FloatArray, taken: BoolArray, count: IntArray, active: int) -> FloatArray:
    """Return (n,) ns of the queue model, each design alone."""
    depth, found = len(times) // 2, np.zeros(len(count))
    dims = np.array([*range(depth), depth, *reversed(range(depth))])
    for n in np.flatnonzero(taken.any(axis=0)):
        mine = np.flatnonzero(taken[:, n])
        server = np.repeat(dims[mine][:, None, None], count[n], axis=1)
        found[n] = finish(server, times[mine, n][:, None, None], np.full(depth + 1, active), compiled=False)[0]
    return found


@given(seed=SEEDS, depth=st.integers(1, 4), active=st.integers(1, 2), longest=st.sampled_from([3, 12, 10**6]))
@costly(60)
def test_what_is_clear_is_the_time_of_the_queues(seed: int, depth: int, active: int, longest: int) -> None:
    random = np.random.default_rng(seed)
    times, taken = random_phases(random, depth, longest)
    count = random.integers(1, 14, DESIGNS)
    found = closed_form(times, taken, count, active, turns=True, compiled=True)
    expected = by_queues(times, taken, count, active)
    np.testing.assert_array_equal(found, np.where(found == UNCLEAR, UNCLEAR, expected))
    many, whole = taken.sum(axis=0), (count % active == 0) | (count <= active)
    assert (found[(many <= 1) | ((many == 3) & whole)] != UNCLEAR).all()
    if longest == 10**6 and active == 1:
        assert (found[many == 5] != UNCLEAR).all()


@given(seed=SEEDS, depth=st.integers(1, 4), active=st.integers(1, 3), longest=st.sampled_from([3, 12, 10**6]))
@costly(60)
def test_compiled_alone_and_together_are_the_same(seed: int, depth: int, active: int, longest: int) -> None:
    random = np.random.default_rng(seed)
    times, taken = random_phases(random, depth, longest)
    count, turns = random.integers(1, 14, DESIGNS), bool(random.random() < 0.8)
    compiled = closed_form(times, taken, count, active, turns=turns, compiled=True)
    np.testing.assert_array_equal(compiled, closed_form(times, taken, count, active, turns=turns, compiled=False))
    few = slice(0, module._FEW_DESIGNS)  # noqa: SLF001 - the border itself is tested
    alone = closed_form(times[:, few], taken[:, few], count[few], active, turns=turns, compiled=False)
    np.testing.assert_array_equal(compiled[few], alone)


def three(times: list[float], count: int, designs: int, *, compiled: bool) -> FloatArray:
    columns = np.repeat(np.array(times)[:, None], designs, axis=1)
    taken = np.ones(columns.shape, dtype=np.bool_)
    return closed_form(columns, taken, np.full(designs, count), 1, turns=True, compiled=compiled)


@pytest.mark.parametrize(("designs", "compiled"), [(1, False), (DESIGNS, False), (DESIGNS, True)])
def test_only_the_queue_model_knows_who_is_first_of_those_that_began_together(designs: int, compiled: bool) -> None:  # noqa: FBT001 - a parameter
    # Chunk 2 leaves the first dimension at 30, when chunk 0 leaves the last one, and both phases began at 20.
    assert (three([10.0, 10.0, 10.0, 4.0, 1.0], 4, designs, compiled=compiled) == UNCLEAR).all()
    # Here that of the first dimension began before.
    times = [10.0, 13.0, 7.0, 4.0, 1.0]
    expected = finish(
        np.repeat(THERE_AND_BACK[:, None, None], 4, axis=1), np.array(times)[:, None, None], np.ones(3, dtype=np.int64)
    )
    np.testing.assert_array_equal(three(times, 4, designs, compiled=compiled), np.repeat(expected, designs))


@pytest.mark.parametrize(("designs", "compiled"), [(1, False), (DESIGNS, False), (DESIGNS, True)])
def test_what_the_queue_model_may_refuse_is_left_to_it(designs: int, compiled: bool) -> None:  # noqa: FBT001 - a parameter
    assert (three([2.0**38, 1.0, 2.0, 3.0, 4.0], 4, designs, compiled=compiled) == UNCLEAR).all()
    assert (three([1.0, 2.0, 3.0, 4.0, 5.0], MOST_CHUNKS + 1, designs, compiled=compiled) == UNCLEAR).all()


def test_no_designs_take_no_time() -> None:
    assert not len(closed_form(np.zeros((5, 0)), np.ones((5, 0), dtype=np.bool_), np.zeros(0, dtype=np.int64), 1,
                               turns=True, compiled=True))  # fmt: skip


def all_reduce(designs: int) -> tuple[list[Link], System]:
    links = [
        Link(np.full(designs, SWITCH), np.full(designs, size), np.full(designs, 50e9 * size), np.full(designs, 500.0))
        for size in (4, 8, 2)
    ]
    rows = {Collective.ALL_REDUCE: [Implementation.read("ring")] * 3}
    return links, System(rows, 64, 1, shrinking=True, overheads=Overheads(10.0, np.inf))


def test_few_designs_over_three_dimensions_do_not_load_numba(monkeypatch: pytest.MonkeyPatch) -> None:
    many = collective_time(Collective.ALL_REDUCE, 2**28, *all_reduce(DESIGNS))
    monkeypatch.delitem(sys.modules, "numba", raising=False)
    few = collective_time(Collective.ALL_REDUCE, 2**28, *all_reduce(2))
    assert "numba" not in sys.modules
    assert set(few) == set(many)


def test_choices_of_all_dimensions_are_those_of_each() -> None:
    random = np.random.default_rng(1)
    links, system = all_reduce(DESIGNS)
    options = tuple(map(Implementation.read, ("ring", "direct", "halvingDoubling")))
    choices = Choices(options, random.integers(0, 3, (3, DESIGNS)))
    assert len(choices) == 3
    np.testing.assert_array_equal(choices[1:][0].index, choices[1].index)
    rows = [Choice(options, row) for row in choices.chosen]
    systems = [replace(system, implementations={Collective.ALL_REDUCE: some}) for some in (choices, rows)]
    together, apart = (collective_time(Collective.ALL_REDUCE, 2**28, links, each) for each in systems)
    np.testing.assert_array_equal(together, apart)
    assert len(set(together)) > 1


@pytest.mark.parametrize("longest", [1e13, 1e20, 1e300])
@pytest.mark.parametrize("phases", [1, 3, 5])
def test_phases_beyond_64_bits_are_left_to_the_queue_model(longest: float, phases: int) -> None:
    taken = np.zeros((5, DESIGNS), dtype=np.bool_)
    taken[sorted((2, 1, 3, 0, 4)[:phases])] = True
    times, count = np.where(taken, longest, 0.0), np.full(DESIGNS, 7)

    def seconds(designs: int, *, compiled: bool) -> FloatArray:
        return closed_form(times[:, :designs], taken[:, :designs], count[:designs], 1, turns=True, compiled=compiled)

    found = [seconds(2, compiled=False), seconds(2, compiled=True), seconds(DESIGNS, compiled=False)[:2]]
    assert (found[0] == found[1]).all()
    assert (found[0] == found[2]).all()
    assert (found[0] == UNCLEAR).all() == (phases == 5)


@pytest.mark.parametrize("longest", [1e18, 1e20, np.inf])
def test_the_queue_model_refuses_phases_beyond_64_bits(longest: float) -> None:
    with pytest.raises(TooLongError):
        finish(np.zeros((1, 1, 1), dtype=np.int64), np.full((1, 2, 1), longest), np.array([1]))
