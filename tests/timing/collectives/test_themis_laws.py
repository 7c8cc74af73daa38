"""What holds of Themis, its paper's and ASTRA-sim's, on any network."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evo_libra.arrays import FloatArray
from evo_libra.collective import Collective
from evo_libra.timing.collectives.collective_time import collective_time
from evo_libra.timing.collectives.phase import IMPLEMENTATIONS, RING, Implementation, Link, Overheads
from evo_libra.timing.collectives.system import Choice, System
from evo_libra.timing.collectives.themis_paper import Fabrics, paper_time
from evo_libra.timing.names import ASTRA_SCHEDULERS, CollectiveAlgorithm, Scheduler

MEBI = 2**20
AR = Collective.ALL_REDUCE
Ideal = Callable[[Collective, float, Fabrics], FloatArray]


def rings(npus: list[int], bandwidth: list[float]) -> list[Link]:
    """Return rings of one design, of GB/s (bytes a ns)."""
    rows = zip(npus, bandwidth, strict=True)
    return [Link(np.array([RING]), np.array([n]), np.array([b * 1e9]), np.zeros(1)) for n, b in rows]


def ring_time(npus: list[int], bandwidth: list[float], chunks: int, scheduler: Scheduler) -> float:
    """Return the ns of an all-reduce over rings, 1 MiB a chunk, without latency or other overheads."""
    rows = [Implementation(CollectiveAlgorithm.RING)] * len(npus)
    system = System({AR: rows}, chunks, 1, True, Overheads(0.0, np.inf), scheduler=scheduler)  # noqa: FBT003
    return float(collective_time(AR, chunks * MEBI, rings(npus, bandwidth), system)[0])


@pytest.mark.slow
@given(
    seed=st.integers(0, 2**32 - 1),
    scheduler=st.sampled_from(ASTRA_SCHEDULERS),
    collective=st.sampled_from(Collective),
    shrinking=st.booleans(),
    endpoint=st.sampled_from([0.0, 1.0, 10.0]),
)
@settings(max_examples=80)
def test_astra_sim_is_never_faster_than_the_ideal(
    ideal_time: Ideal, seed: int, scheduler: Scheduler, collective: Collective, endpoint: float, *, shrinking: bool
) -> None:
    """The ideal has all the bytes per ns that an NPU can send, which makes GB of 1e9 bytes.

    That is one link with ring and halving-doubling algorithms, ``n - 1`` links with direct ones, and as much again for
    each chunk that a dimension runs at a time. What a phase takes beyond its bytes over that bandwidth (latency,
    endpoint delay, reductions, a ring's detours in an all-to-all) only adds. Two roundings take away:

    * bytes: ``floor(floor(x / a) / b)`` is ``floor(x / (a b))``, and of a chunk of x bytes among N NPUs every message
      is at least as large as that of a chunk of ``N floor(x / N)`` bytes. A collective is never faster than one of N
      bytes less in each of its chunks, of which there are the splits and one more at most. An all-gather loses none.
    * nanoseconds: each message loses less than one, which an endpoint delay of 1 ns or more makes up for. With less, a
      dimension loses at most 1 ns for each of its messages one after the other: 2 (n - 1) of a chunk, or n (n - 1) / 2
      of a ring's all-to-all.
    """
    random, designs, depth = np.random.default_rng(seed), 6, int(np.random.default_rng(seed).integers(1, 4))
    options = IMPLEMENTATIONS
    index = random.integers(0, 2 if collective is Collective.ALL_TO_ALL else 3, (depth, designs))
    npus = np.where(index == 2, 2 ** random.integers(1, 4, index.shape), random.integers(2, 9, index.shape))
    block, bandwidth = random.integers(0, 3, index.shape), random.uniform(1, 300, index.shape)
    latency = random.choice([0.0, 500.0], index.shape)
    links = [Link(*fields) for fields in zip(block, npus, bandwidth * 1e9, latency, strict=True)]
    size, splits, active = random.integers(2**10, 2**26, designs), random.integers(1, 24, designs), int(seed % 3) + 1
    system = System(
        {collective: [Choice(options, row) for row in index]}, splits, active, shrinking,
        Overheads(endpoint, np.inf), scheduler=scheduler,
    )  # fmt: skip
    time = collective_time(collective, size, links, system)
    lost = 0 if collective is Collective.ALL_GATHER else (splits + 1) * npus.prod(axis=0)
    per_npu = active * np.where(index == 1, (npus - 1) * bandwidth, bandwidth)
    fabrics = Fabrics(block, npus, per_npu, latency)
    ideal = np.concatenate([
        ideal_time(collective, float(max(left, 0)), fabrics.packed(np.array([n]), depth))
        for n, left in enumerate(size - lost)
    ])  # fmt: skip
    messages = npus * (npus - 1) / 2 if collective is Collective.ALL_TO_ALL else 2.0 * (npus - 1)
    rounds = -(-(splits + 1) // active)
    floors = messages.max(axis=0) * rounds if endpoint < 1 else 0.0
    assert (time + floors >= ideal * (1 - 1e-14)).all()


CLOSED = [
    (Collective.REDUCE_SCATTER, True, 4), (Collective.ALL_GATHER, True, 4), (Collective.ALL_TO_ALL, True, 4),
    (AR, False, 4), (AR, True, 2),
]  # fmt: skip
"""Collective, whether an all-reduce shrinks, and most dimensions, of what has closed forms."""


@given(seed=st.integers(0, 2**32 - 1), form=st.sampled_from(CLOSED))
@settings(max_examples=80)
def test_more_bandwidth_is_never_slower_where_there_is_a_closed_form(
    seed: int, form: tuple[Collective, bool, int]
) -> None:
    """A message takes ``floor(h latency + m / B)``: no more with a larger B, as dividing and rounding keep order.

    The bytes of a phase do not depend on B, and its time is a sum of such messages and of constants. A closed form is
    made of sums and maxima of phases, times numbers that are not negative, so it grows with none of its phases less.
    """
    random, designs = np.random.default_rng(seed), 16
    collective, shrinking, most = form
    depth, active = int(random.integers(1, most + 1)), int(random.integers(1, 4))
    options = IMPLEMENTATIONS
    rows = [options[i] for i in random.integers(0, 2 if collective is Collective.ALL_TO_ALL else 3, depth)]
    blocks = [random.integers(1 if row.algorithm is CollectiveAlgorithm.DIRECT else 0, 3, designs) for row in rows]
    widths, delays = (1e9, 300e9), (0, 900)
    slow = [
        Link(block, 2 ** random.integers(0, 4, designs), *(random.uniform(*ends, designs) for ends in (widths, delays)))
        for block in blocks
    ]
    widened, factor = random.integers(depth), random.uniform(1, 4, designs)
    fast = [replace(link, bandwidth=link.bandwidth * factor) if d == widened else link for d, link in enumerate(slow)]
    splits = active * random.integers(1, 16, designs)
    system = System({collective: rows}, splits, active, shrinking, Overheads(10.0, 1600.0))
    size = splits * 4096 * random.integers(1, 99, designs)
    before, after = (collective_time(collective, size, links, system) for links in (slow, fast))
    assert (after <= before).all()


def test_more_bandwidth_may_be_slower_in_the_queue_model() -> None:
    """Chunks that come back wait behind chunks that go in; a phase that ends earlier may let the wrong one first.

    Two dimensions have a closed form and no such case; with three there are, and with four even of three chunks.
    """
    baseline = Scheduler.BASELINE
    before, after = (ring_time([2, 8, 8], [200.0, 200.0, b], 8, baseline) for b in (100.0, 125.0))
    assert (before, after) == (42862, 43194)
    before, after = (ring_time([2, 2, 8, 4], [75.0, b, 50.0, 150.0], 3, baseline) for b in (100.0, 125.0))
    assert (before, after) == (47704, 48413)


def test_more_bandwidth_may_be_slower_under_themis() -> None:
    """Other loads are other orders: 16 % slower in ASTRA-sim's, 5 % in the paper's; so are other numbers of chunks."""
    before, after = (ring_time([4, 8, 8], [50.0, b, 150.0], 64, Scheduler.OFFLINE_GREEDY) for b in (200.0, 250.0))
    assert (before, after) == (365393, 425402)
    npus, bandwidth = np.array([[8], [4], [4]]), np.array([[50.0], [200.0], [300.0]])
    slow, fast = (
        paper_time(AR, 2.0**30, Fabrics(0 * npus, npus, bandwidth * [[f], [1], [1]], 0 * bandwidth))[0]
        for f in (1, 1.25)
    )
    assert fast > 1.05 * slow
    few, more = (ring_time([4, 4], [400.0, 200.0], chunks, Scheduler.OFFLINE_GREEDY) / chunks for chunks in (18, 20))
    assert 1.09 * few < more


def test_two_dimensions_are_no_exception_but_for_the_baseline() -> None:
    for scheduler, npus, slow, fast, chunks in (
        (Scheduler.OFFLINE_GREEDY, [16, 8], [400.0, 75.0], [400.0, 100.0], 8),
        (Scheduler.OFFLINE_GREEDY_FLEX, [8, 16], [200.0, 300.0], [250.0, 300.0], 2),
    ):
        assert ring_time(npus, fast, chunks, scheduler) > 1.4 * ring_time(npus, slow, chunks, scheduler)
        baseline = [ring_time(npus, bandwidth, chunks, Scheduler.BASELINE) for bandwidth in (slow, fast)]
        assert baseline[1] <= baseline[0]
    few, more = (ring_time([16, 2], [400.0, 50.0], chunks, Scheduler.ROUND_ROBIN) / chunks for chunks in (1, 8))
    assert more > 1.7 * few
