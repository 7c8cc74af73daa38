"""What holds of Themis, its paper's and ASTRA-sim's, on any network."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evo_libra.model.astra.queues import Policy
from evo_libra.model.astra.themis_paper import Fabrics, all_reduce_time, ideal_time, paper_time
from evo_libra.model.collective import Collective, traffic

PAPER_POLICIES = [Policy.FIFO, Policy.SMALLEST_CHUNK_FIRST]


def fabrics_of(random: np.random.Generator, depth: int, designs: int) -> Fabrics:
    """Draw networks, some of whose dimensions are not used."""
    shape = (depth, designs)
    npus = 2 ** random.integers(0, 5, shape)
    bandwidth = np.where(npus > 1, random.uniform(1, 300, shape), 0.0)
    return Fabrics(random.integers(0, 3, shape), npus, bandwidth, random.uniform(0, 2000, shape))


@given(
    seed=st.integers(0, 2**32 - 1),
    depth=st.integers(1, 4),
    collective=st.sampled_from(Collective),
    policy=st.sampled_from(PAPER_POLICIES),
    greedy=st.booleans(),
)
@settings(max_examples=60, deadline=None)
def test_paper_is_never_faster_than_the_ideal(
    seed: int, depth: int, collective: Collective, policy: Policy, *, greedy: bool
) -> None:
    random = np.random.default_rng(seed)
    fabrics, size = fabrics_of(random, depth, 8), float(10 ** random.uniform(5, 10))
    chunks = random.integers(1, 24, 8)
    time = paper_time(collective, size, fabrics, chunks=chunks, greedy=greedy, policy=policy)
    ideal = ideal_time(collective, size, fabrics)
    # Of all phases together, each is rounded to a part in 2^41 of them: half of it is lost at most; the phases are the
    # busy times and latencies of at most 8 x 24, and a collective takes no less than an eighth of them.
    assert (time >= ideal * (1 - 8 * 24 * 8 / 2**41 - 1e-12)).all()
    np.testing.assert_array_equal(ideal > 0, (fabrics.npus > 1).any(axis=0))


@given(
    seed=st.integers(0, 2**32 - 1),
    collective=st.sampled_from(Collective),
    policy=st.sampled_from(PAPER_POLICIES),
    greedy=st.booleans(),
)
@settings(max_examples=30, deadline=None)
def test_paper_of_a_population_is_that_of_its_designs(
    seed: int, collective: Collective, policy: Policy, *, greedy: bool
) -> None:
    random = np.random.default_rng(seed)
    fabrics, chunks, size = fabrics_of(random, 4, 6), random.integers(1, 20, 6), 1e8
    taking = random.random(4) < 0.8
    time = paper_time(collective, size, fabrics, taking.tolist(), chunks=chunks, greedy=greedy, policy=policy)
    for n in range(6):
        used = np.flatnonzero(taking & (fabrics.npus[:, n] > 1))
        fields = (fabrics.block, fabrics.npus, fabrics.bandwidth, fabrics.latency)
        alone = Fabrics(*(values[used, n : n + 1] for values in fields))
        found = paper_time(collective, size, alone, chunks=int(chunks[n]), greedy=greedy, policy=policy)
        assert time[n] == found[0]


@given(st.integers(0, 2**32 - 1), st.sampled_from(Collective), st.integers(1, 64))
@settings(max_examples=30, deadline=None)
def test_paper_without_latency_on_one_dimension_is_libras_time(seed: int, collective: Collective, chunks: int) -> None:
    random = np.random.default_rng(seed)
    npus, bandwidth = 2 ** random.integers(1, 6, (1, 5)), random.uniform(1, 300, (1, 5))
    fabrics = Fabrics(np.zeros((1, 5), dtype=np.int64), npus, bandwidth, np.zeros((1, 5)))
    expected = (traffic(collective, 1e9, npus) / bandwidth)[0]
    np.testing.assert_allclose(paper_time(collective, 1e9, fabrics, chunks=chunks), expected, rtol=1e-6)
    np.testing.assert_allclose(ideal_time(collective, 1e9, fabrics), expected, rtol=1e-12)


def test_papers_all_to_all_is_a_pipeline_of_the_whole_message() -> None:
    # Dimensions of 2 and 4 NPUs: 1/2 and 3/4 of a chunk of 100 bytes, at 1 and 3 bytes a ns; 5 and 2 * 7 ns of steps.
    fabrics = Fabrics(
        np.array([[1], [2]]), np.array([[2], [4]]), np.array([[1.0], [3.0]]), np.array([[5.0], [7.0]])
    )  # fmt: skip
    time = paper_time(Collective.ALL_TO_ALL, 400.0, fabrics, chunks=4)
    assert time[0] == pytest.approx(4 * 50 + 5 + 25 + 14)
    assert ideal_time(Collective.ALL_TO_ALL, 400.0, fabrics)[0] == pytest.approx(200)


def test_paper_has_two_policies() -> None:
    fabrics = fabrics_of(np.random.default_rng(0), 2, 3)
    with pytest.raises(ValueError, match="no policy smallestFirst"):
        paper_time(Collective.ALL_REDUCE, 1e6, fabrics, policy=Policy.SMALLEST_FIRST)
    np.testing.assert_array_equal(all_reduce_time(1e6, fabrics), paper_time(Collective.ALL_REDUCE, 1e6, fabrics))
