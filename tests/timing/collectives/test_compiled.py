"""Phases and greedy schedulers: compiled and in NumPy they are the same, in a population as of one design alone."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from effort import costly
from hypothesis import given
from hypothesis import strategies as st

from evo_libra.arrays import BoolArray, FloatArray
from evo_libra.collective import Collective
from evo_libra.timing.collectives import phase_compiled, system, themis
from evo_libra.timing.collectives.collective_time import collective_time
from evo_libra.timing.collectives.phase import (
    FULLY_CONNECTED,
    LINE,
    RING,
    SWITCH,
    UPPER,
    Implementation,
    Link,
    Overheads,
)
from evo_libra.timing.collectives.phase_compiled import UNTIMED, can_compile, compiled_phases
from evo_libra.timing.collectives.system import Choice, DesignGroup, System
from evo_libra.timing.names import ASTRA_POLICIES, ASTRA_SCHEDULERS, Scheduler

SEEDS = st.integers(0, 2**32 - 1)
DESIGNS = 24
PLAIN = ("ring", "direct", "halvingDoubling")
AR, A2A = Collective.ALL_REDUCE, Collective.ALL_TO_ALL


@pytest.fixture(autouse=True)
def _numba() -> None:
    pytest.importorskip("numba")


def of_numpy(run: Any) -> Any:
    """Return what a call returns where numba is not installed, but for the queues, or its error."""
    with pytest.MonkeyPatch.context() as without:
        without.setattr(system, "can_compile", lambda _: False)
        without.setattr(themis, "compiled_greedy", lambda: None)
        return of(run)


def of(run: Any) -> Any:
    try:
        return run()
    except ValueError as error:
        return str(error)


def same(first: Any, second: Any) -> bool:
    if isinstance(first, str) or isinstance(second, str):
        return bool(first == second)
    return np.array_equal(first, second)


def random_link(random: np.random.Generator, depth: int, *, blocks: tuple[int, ...]) -> Link:
    """Return (d, n) links of groups of 1 to 32 NPUs, some with the levels of fat trees."""
    shape = (depth, DESIGNS)
    npus = 2 ** random.integers(0, 6, shape)
    if random.random() < 0.3:
        npus = random.integers(1, 20, shape)
    link = Link(
        random.choice(blocks, shape), npus, random.uniform(1e9, 300e9, shape), random.choice([0.0, 12.5, 700.0], shape)
    )
    leaf = np.minimum(npus, 2 ** random.integers(0, 4, shape))
    link = replace(link, leaf=leaf, leaf_latency=link.latency / 2)
    if random.random() < 0.5:
        pod = np.minimum(npus, leaf * 2 ** random.integers(0, 3, shape))
        link = replace(link, pod=pod, upper=random.uniform(0.2, 1, shape), top=random.uniform(0.1, 1, shape))
    return link


def random_overheads(random: np.random.Generator) -> Overheads:
    memory = float(random.choice([np.inf, 1600.0, random.uniform(1, 100)]))
    return Overheads(float(random.choice([0.0, 1.0, 10.0, 7.5])), memory, bool(random.random() < 0.3))


def random_system(random: np.random.Generator, collective: Collective, depth: int, names: tuple[str, ...]) -> System:
    options = tuple(map(Implementation.read, names))
    rows = [Choice(options, random.integers(0, len(options), DESIGNS)) for _ in range(depth)]
    return System(
        {collective: rows}, random.integers(1, 20, DESIGNS), int(random.integers(1, 4)), bool(random.random() < 0.8),
        random_overheads(random), scheduler=ASTRA_SCHEDULERS[random.integers(len(ASTRA_SCHEDULERS))],
        policy=ASTRA_POLICIES[random.integers(len(ASTRA_POLICIES))],
    )  # fmt: skip


def one_by_one(link: Link) -> list[Link]:
    """Return the links of each dimension."""
    return [link.select((np.array([d]), np.arange(DESIGNS))) for d in range(len(link.npus))]


@given(seed=SEEDS, collective=st.sampled_from(Collective), depth=st.integers(1, 5))
@costly(60)
def test_compiled_collectives_take_as_long_as_in_numpy(seed: int, collective: Collective, depth: int) -> None:
    random = np.random.default_rng(seed)
    names = PLAIN[:2] if collective is A2A or random.random() < 0.3 else PLAIN
    if random.random() < 0.3:
        names = (*names, "direct2")
    tree = int(np.flatnonzero(UPPER > 0)[0])
    link = random_link(random, depth, blocks=(RING, FULLY_CONNECTED, SWITCH, *((LINE, tree) if seed % 3 == 0 else ())))
    rules, size = random_system(random, collective, depth, names), random.integers(2**20, 2**28, DESIGNS)
    compiled = of(lambda: collective_time(collective, size, link, rules))
    assert same(compiled, of_numpy(lambda: collective_time(collective, size, link, rules)))
    assert same(compiled, of(lambda: collective_time(collective, size, one_by_one(link), rules)))


@given(seed=SEEDS, collective=st.sampled_from(Collective), depth=st.integers(1, 4))
@costly(30)
def test_a_design_takes_as_long_among_others_as_alone(seed: int, collective: Collective, depth: int) -> None:
    random = np.random.default_rng(seed)
    link = random_link(random, depth, blocks=(RING, FULLY_CONNECTED, SWITCH, LINE))
    link = replace(link, npus=2 ** random.integers(0, 4, link.npus.shape))
    rules = random_system(random, collective, depth, PLAIN[:2] if collective is A2A else PLAIN)
    size = random.integers(2**20, 2**26, DESIGNS)
    together = collective_time(collective, size, link, rules)
    for n in range(0, DESIGNS, 5):
        own, rows = np.array([n]), rules.implementations[collective]
        choices = [replace(row, index=row.index[own]) for row in rows if isinstance(row, Choice)]
        alone = replace(rules, implementations={collective: choices}, splits=np.asarray(rules.splits)[own])
        mine = link.select((np.arange(depth)[:, None], own))
        assert collective_time(collective, size[own], mine, alone) == together[n]


@given(seed=SEEDS, kind=st.sampled_from(Collective))
@costly(60)
def test_every_compiled_phase_is_that_of_numpy(seed: int, kind: Collective) -> None:
    """Single phases: those that are not compiled are marked, and all others are the same to the last bit."""
    random = np.random.default_rng(seed)
    link, overheads = random_link(random, 3, blocks=(RING, FULLY_CONNECTED, SWITCH, LINE)), random_overheads(random)
    index, size = random.integers(0, 3, link.npus.shape), np.floor(2 ** random.uniform(0, 40, link.npus.shape))
    options = tuple(map(Implementation.read, PLAIN))
    used = link.npus > 1
    dims = np.arange(3)[:, None]
    found, is_left = compiled_phases(dims, [kind] * 3, size, link, index, used, overheads)
    around = (link.block == RING) & (index == 1) & (kind is AR)
    uneven = (index == 2) & ((kind is A2A) | ((link.npus & (link.npus - 1)) != 0))
    left: BoolArray = used & ((link.block == LINE) | around | uneven)
    np.testing.assert_array_equal(found == UNTIMED, left)
    assert is_left == left.any()
    group = DesignGroup(np.arange(DESIGNS), dims + 0 * index, link, options, index, used, overheads, compiled=False)
    np.testing.assert_array_equal(group.time(dims, [kind] * 3, size, used & ~left), np.where(left, 0.0, found))


def test_a_chain_is_its_phases_one_after_the_other() -> None:
    random = np.random.default_rng(3)
    link = replace(random_link(random, 2, blocks=(SWITCH,)), npus=np.full((2, DESIGNS), 8))
    kinds, dims = [Collective.REDUCE_SCATTER, AR, Collective.ALL_GATHER], np.array([[0], [1], [0]])
    size = random.integers(2**20, 2**26, DESIGNS).astype(np.float64)
    entering, taken = np.array([size, np.floor(size / 8), np.floor(size / 8)]), np.ones((3, DESIGNS), dtype=np.bool_)
    taken[0, :5] = False
    entering[1:, :5] = size[:5]
    index, options = np.zeros((2, DESIGNS), dtype=np.int64), (Implementation.read("ring"),)
    for compiled in (False, True):
        group = DesignGroup(
            np.arange(DESIGNS), np.arange(2)[:, None] + 0 * index, link, options, index, link.npus > 1,
            Overheads(10.0, 1600.0), compiled,
        )  # fmt: skip
        chain = group.chain(np.repeat(dims, DESIGNS, axis=1), kinds, size, taken)
        np.testing.assert_array_equal(chain, group.time(dims, kinds, entering, taken))
        assert (chain[0, :5] == 0).all()
        assert (chain[:, 5:] > 0).all()


@given(seed=SEEDS, scheduler=st.sampled_from([Scheduler.OFFLINE_GREEDY, Scheduler.OFFLINE_GREEDY_FLEX]))
@costly(60)
def test_compiled_greedy_schedulers_plan_as_in_numpy(seed: int, scheduler: Scheduler) -> None:
    random = np.random.default_rng(seed)
    depth, collective = int(random.integers(1, 6)), (AR, Collective.ALL_GATHER)[seed % 2]
    involved = random.random(depth) < 0.8
    involved[random.integers(depth)] = True
    network = themis.Network(
        2 ** random.integers(1, 6, (depth, DESIGNS)), random.choice([1.0, 2.0, random.uniform(1, 9)], (depth, DESIGNS)),
        involved.tolist(),
    )  # fmt: skip
    size = random.integers(2**16, 2**30, DESIGNS)
    chunk = np.maximum(size // random.integers(1, 40, DESIGNS), 1)
    compiled, plain = (run(lambda: themis.plan(scheduler, collective, size, chunk, network)) for run in (of, of_numpy))
    np.testing.assert_array_equal(compiled.count, plain.count)
    np.testing.assert_array_equal(compiled.size, plain.size)
    issued = np.arange(len(plain.size))[:, None] < plain.count
    np.testing.assert_array_equal(compiled.order * issued, plain.order * issued)
    assert plain.count.max() == len(compiled.size)


def test_only_many_designs_load_numba(monkeypatch: pytest.MonkeyPatch) -> None:
    shape = (2, phase_compiled._FEW_DESIGNS)  # noqa: SLF001 - the border itself is tested
    few = Link(*(np.ones(shape, dtype=np.int64) for _ in range(2)), *(np.ones(shape) for _ in range(2)))
    wide: FloatArray = np.ones((2, shape[1] + 1))
    many = replace(few, npus=wide.astype(np.int64))
    assert can_compile(many)
    assert can_compile(few), "numba is there by now"
    monkeypatch.delitem(sys.modules, "numba")
    assert not can_compile(few)
    assert can_compile(many)
    assert not can_compile(replace(many, shared=True))
