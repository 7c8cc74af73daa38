"""Collisions of hashed flows: the closed form against a fluid simulation with fair shares, and its laws."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evo_libra.network.routing import ROUTINGS, largest_load, slowdown

Random = np.random.Generator
SHOWN, DRAWS = 0.05, 40


class Fluid:
    """Flows of equal bytes over leaves, each hashed onto a spine; all start together, and share links fairly.

    Flows of one job, such as the messages of a ring, go at one pace. An NPU sends at a rate of 1, and so does a link.
    """

    def __init__(self, leaves: int, spines: int, random: Random) -> None:
        self.leaves, self.spines, self.random = leaves, spines, random
        self.jobs: list[list[int]] = []
        self.npus = 0

    def flow(self, source: int, target: int, npu: int) -> list[int]:
        """Return the links of a message: of its NPU, up from a leaf, and down to another one."""
        up, spine = 2 * self.leaves * self.spines, int(self.random.integers(self.spines))
        self.npus = max(self.npus, npu + 1)
        if source == target:
            return [up + npu]
        return [up + npu, source * self.spines + spine, (self.leaves + target) * self.spines + spine]

    def time(self) -> float:
        """Return when the last job is done, by progressive filling; jobs that end within 3 % of it end together."""
        rows = np.concatenate([np.full(len(links), job) for job, links in enumerate(self.jobs)])
        links = np.concatenate(self.jobs).astype(np.int64)
        left, now = np.ones(len(self.jobs)), 0.0
        while (left > 0).any():
            rate = self.rates(rows, links, left > 0)
            step = (left[left > 0] / rate[left > 0]).min()
            now += step
            left = np.where(left > 0, left - rate * step, 0.0)
            left[left < 0.03] = 0.0
        return now

    def rates(self, rows: np.ndarray, links: np.ndarray, alive: np.ndarray) -> np.ndarray:
        rate = np.zeros(len(alive))
        room, open_ = np.ones(2 * self.leaves * self.spines + self.npus), alive.copy()
        while open_.any():
            used = open_[rows]
            count = np.bincount(links[used], minlength=len(room))
            share = np.where(count > 0, room / np.maximum(count, 1), np.inf)
            tight = share <= share.min() * (1 + 1e-9)
            jobs = np.unique(rows[used & tight[links]])
            rate[jobs] = share.min()
            mine = np.isin(rows, jobs) & used
            room -= np.bincount(links[mine], minlength=len(room)) * share.min()
            open_[jobs] = False
        return rate


def rings(leaves: int, npus: int, spines: int, random: Random) -> float:
    """Return the time of a ring for each place under a leaf, with one member under each leaf."""
    fluid = Fluid(leaves, spines, random)
    for place in range(npus):
        hops = [fluid.flow(leaf, (leaf + 1) % leaves, leaf * npus + place) for leaf in range(leaves)]
        fluid.jobs.append([link for hop in hops for link in hop])
    return fluid.time()


def exchanges(leaves: int, npus: int, spines: int, random: Random) -> float:
    """Return the time of an all-to-all for each place under a leaf, in messages of an NPU."""
    fluid = Fluid(leaves, spines, random)
    for place in range(npus):
        for leaf in range(leaves):
            for other in range(leaves):
                if other != leaf:
                    fluid.jobs.append(fluid.flow(leaf, other, leaf * npus + place))
    return fluid.time()


def one_exchange(leaves: int, npus: int, spines: int, random: Random) -> float:
    """Return the time of an all-to-all of all NPUs, in messages of an NPU."""
    fluid = Fluid(leaves, spines, random)
    for npu in range(leaves * npus):
        for other in range(leaves * npus):
            if other != npu:
                fluid.jobs.append(fluid.flow(npu // npus, other // npus, npu))
    return fluid.time()


def mean(run: object, *sizes: int, draws: int = DRAWS) -> float:
    return float(np.mean([run(*sizes, np.random.default_rng(seed)) for seed in range(draws)]))  # type: ignore[operator]


@pytest.mark.slow
@pytest.mark.parametrize(("spines", "said"), [(32, 4.6), (16, 3.2), (8, 2.3)])
def test_rings_take_as_long_as_in_the_fluid(spines: int, said: float) -> None:
    """32 rings of 8, one member under each leaf, at 1:1, 1:2 and 1:4."""
    found = slowdown(flows=32, links=spines, sets=8, sent=1.0, capacity=1.0)
    simulated = mean(rings, 8, 32, spines) / max(32 / spines, 1)
    assert found.expected == pytest.approx(simulated, rel=SHOWN)
    assert found.expected == pytest.approx(said, rel=SHOWN)
    assert found.low <= simulated <= found.high


@pytest.mark.slow
@pytest.mark.parametrize(
    ("spines", "said"),
    [pytest.param(32, 2.3, marks=pytest.mark.slow), pytest.param(16, 1.8, marks=pytest.mark.slow), (8, 1.5)],
)
def test_exchanges_of_experts_take_as_long_as_in_the_fluid(spines: int, said: float) -> None:
    """32 all-to-alls of 8, one member under each leaf."""
    found = slowdown(flows=32 * 7, links=spines, sets=16, sent=1 / 7, capacity=1.0)
    simulated = mean(exchanges, 8, 32, spines, draws=3) / 7 / max(32 / spines, 1)
    assert found.expected == pytest.approx(simulated, rel=SHOWN)
    assert found.expected == pytest.approx(said, rel=SHOWN)


@pytest.mark.slow
def test_an_exchange_of_all_hardly_collides() -> None:
    """One all-to-all of 256 NPUs: 32 x 224 messages leave each leaf; and the same of 64 NPUs in the fluid."""
    found = slowdown(flows=32 * 224, links=32, sets=16, sent=1 / 255, capacity=1.0)
    assert found.expected == pytest.approx(1.06, rel=0.02)
    small = slowdown(flows=8 * 56, links=8, sets=16, sent=1 / 63, capacity=1.0)
    assert small.expected == pytest.approx(mean(one_exchange, 8, 8, 8, draws=3) / 63, rel=SHOWN)


def test_more_flows_of_a_message_collide_less() -> None:
    found = [slowdown(flows=32, links=32, sets=8, sent=1.0, capacity=1.0, splits=n).expected for n in (1, 2, 4, 16)]
    assert found == sorted(found, reverse=True)
    assert found[-1] < 2


def test_two_flows_on_two_links_by_hand() -> None:
    """Two flows meet on one of two links half of the time: 1.5 expected, and the bins as if independent say 1.44.

    P(max <= 1) is P(Binomial(2, 1/2) <= 1)^2 = 0.75^2 = 0.5625.
    """
    assert largest_load(2, 2).expected == pytest.approx(1 + (1 - 0.5625) - 0.25**2, rel=1e-12)


@given(st.integers(1, 500), st.integers(1, 64), st.integers(1, 40))
def test_laws_of_the_largest_load(flows: int, links: int, sets: int) -> None:
    found = largest_load(flows, links, sets)
    assert found.low <= found.expected + 1 <= found.high + 2
    assert found.low <= found.high <= flows
    assert found.expected <= largest_load(flows + 1, links, sets).expected + 1e-9
    assert found.expected <= largest_load(flows, links, sets + 1).expected + 1e-9
    assert largest_load(flows, 1, sets).expected == flows


def test_routings_have_sources() -> None:
    assert [one.name for one in ROUTINGS.values() if one.hashed] == ["ecmp"]
    assert all(one.source and one.description.endswith(".") for one in ROUTINGS.values())
