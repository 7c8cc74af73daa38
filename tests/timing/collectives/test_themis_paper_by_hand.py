"""Themis as in its paper (Rashidi et al., ISCA 2022), chunk by chunk: 2 x 2 NPUs of 1 B/ns, then with latency."""

from __future__ import annotations

import numpy as np
import pytest

from evo_libra.collective import Collective
from evo_libra.timing.collectives.phase import FULLY_CONNECTED, LINE, RING, SWITCH
from evo_libra.timing.collectives.themis_paper import Fabrics, _orders, ideal_time, paper_time, sent, utilisation
from evo_libra.timing.names import Policy

AR, RS, AG, A2A = (
    Collective.ALL_REDUCE, Collective.REDUCE_SCATTER, Collective.ALL_GATHER, Collective.ALL_TO_ALL,
)  # fmt: skip


def fabrics(*dimensions: tuple[int, float, float], block: int = FULLY_CONNECTED) -> Fabrics:
    """Return one network of sizes, bytes per ns and ns of a step."""
    npus, rate, latency = (np.array(values)[:, None] for values in zip(*dimensions, strict=True))
    return Fabrics(np.full_like(npus, block), npus, rate, latency)


SQUARE = fabrics((2, 1.0, 0.0), (2, 1.0, 0.0))


@pytest.mark.parametrize(("block", "npus", "steps"), [
    (RING, 6, 5), (FULLY_CONNECTED, 6, 1), (SWITCH, 6, 3), (SWITCH, 8, 3), (SWITCH, 2, 1),
    # A message on a line passes two links; of two NPUs one.
    (LINE, 6, 10), (LINE, 2, 1),
])  # fmt: skip
def test_steps_have_a_fixed_latency(block: int, npus: int, steps: int) -> None:
    assert fabrics((npus, 1.0, 7.0), block=block).fixed_latency().tolist() == [[7.0 * steps]]


def ns(collective: Collective, size: float, on: Fabrics = SQUARE, **given: object) -> float:
    return float(paper_time(collective, size, on, **given).item())


@pytest.mark.parametrize(("collective", "size", "chunks", "greedy", "expected"), [
    # One chunk of 800 B: 1/2 of 800 B, then 1/2 of 400 B; an all-reduce back over both.
    (RS, 800, 1, True, 600), (AR, 800, 1, True, 1200), (AG, 200, 1, True, 600), (A2A, 800, 1, True, 800),
    # Two chunks of 400 B take 200 and 100 ns: one begins with either dimension, and they change places at 200.
    (RS, 800, 2, True, 300), (AR, 800, 2, True, 600), (AG, 200, 2, True, 300),
    # In order, dimension 0 is busy until 400, and chunk 1 in dimension 1 until 500. Back: chunk 0 gathers in 1 at 300
    # to 400, chunk 1 scatters there at 400 to 500 and gathers until 600; in 0 they gather at 400 to 600 and to 800.
    (RS, 800, 2, False, 500), (AR, 800, 2, False, 800),
    # An all-to-all has 200 ns of each chunk in both, in order.
    (A2A, 800, 2, True, 600),
])  # fmt: skip
def test_chunks(collective: Collective, size: float, chunks: int, *, greedy: bool, expected: float) -> None:
    assert ns(collective, size, chunks=chunks, greedy=greedy, policy=Policy.FIFO) == pytest.approx(expected, rel=1e-9)


def test_latency_delays_a_chunk_and_not_its_dimension() -> None:
    # Two chunks of 400 B on one dimension of two: 200 ns each, one behind the other, and 50 ns on the way.
    one = fabrics((2, 1.0, 50.0))
    assert ns(RS, 800, one, chunks=2) == pytest.approx(450.0, rel=1e-9)
    # There and back: chunk 0 scatters until 200, is there at 250, and gathers at 400 to 600 behind chunk 1; that
    # gathers until 800 and is there at 850.
    assert ns(AR, 800, one, chunks=2, policy=Policy.FIFO) == pytest.approx(850.0, rel=1e-9)


@pytest.mark.parametrize(("collective", "size", "expected"), [
    # Dimensions of 4 and 2 NPUs with 3 and 1 B/ns. Of 800 B an NPU sends 7/8, an all-reduce twice: 700 and 1400 over 4.
    (RS, 800, 175.0), (AR, 800, 350.0),
    # Shards of 100 B are gathered to 800; an all-to-all sends 3/4 and 1/2 of its message.
    (AG, 100, 175.0), (A2A, 800, 250.0),
])  # fmt: skip
def test_an_ideal_collective_fills_all_bandwidth(collective: Collective, size: float, expected: float) -> None:
    on = fabrics((4, 3.0, 500.0), (2, 1.0, 500.0))
    assert ideal_time(collective, size, on).tolist() == [expected]
    assert ideal_time(collective, np.array([size]), on).tolist() == [expected]
    # A dimension of one NPU has no bandwidth to fill, and where there is no other, nothing is sent.
    assert ideal_time(AR, 800, fabrics((4, 3.0, 0.0), (1, 9.0, 0.0))).tolist() == [400.0]
    assert ideal_time(AR, 800, fabrics((1, 9.0, 0.0))).tolist() == [0.0]


def test_the_least_loaded_dimension_is_first() -> None:
    # Loads begin at the fixed latency, of an all-reduce twice: 0 and 200 ns. Chunk 0 of 400 B goes from dimension 0 to
    # 1, and adds 200 and 100 ns: 200 and 300. Chunk 1 likewise: 400 and 400, as even as can be; chunk 2 is in order.
    slow = fabrics((2, 1.0, 0.0), (2, 1.0, 200.0))
    assert _orders(np.array([400.0]), slow, 3, times=1.0)[:, :, 0].tolist() == [[0, 0, 0], [1, 1, 1]]
    # With the latency in dimension 0, chunk 0 goes the other way: loads 200 + 100 and 200; chunk 1, too: 400 and 400.
    fast = fabrics((2, 1.0, 200.0), (2, 1.0, 0.0))
    assert _orders(np.array([400.0]), fast, 3, times=1.0)[:, :, 0].tolist() == [[1, 1, 0], [0, 0, 1]]
    # Twice: loads 400 and 0; then 400 + 200 and 400; then 800 and 800.
    assert _orders(np.array([400.0]), fast, 3, times=2.0)[:, :, 0].tolist() == [[1, 1, 0], [0, 0, 1]]


def test_loads_that_are_nearly_even_count_as_even() -> None:
    # The threshold is the time of a sixteenth of a chunk, 1/2 of 25 B, 12.5 ns, where the least load is.
    for latency, first in ((12.0, 0), (12.5, 1), (13.0, 1)):
        one = fabrics((2, 1.0, latency), (2, 1.0, 0.0))
        assert _orders(np.array([400.0]), one, 1, times=1.0)[0, 0, 0] == first
    # At half of the rate there, 25 ns.
    assert _orders(np.array([400.0]), fabrics((2, 1.0, 24.0), (2, 0.5, 0.0)), 1, times=1.0)[0, 0, 0] == 0
    assert _orders(np.array([400.0]), fabrics((2, 1.0, 26.0), (2, 0.5, 0.0)), 1, times=1.0)[0, 0, 0] == 1
    # Of four NPUs 3/4 of it: 18.75 ns.
    assert _orders(np.array([400.0]), fabrics((2, 1.0, 18.0), (4, 1.0, 0.0)), 1, times=1.0)[0, 0, 0] == 0
    assert _orders(np.array([400.0]), fabrics((2, 1.0, 19.0), (4, 1.0, 0.0)), 1, times=1.0)[0, 0, 0] == 1


def test_the_chunk_with_the_fewest_bytes_is_first() -> None:
    # In order, three chunks of 400 B; dimension 0 scatters until 600 under first come, and gathers chunk 0, which is
    # there at 400, behind the others: at 600, 800 and 1,000, until 1,200. Fewest bytes first: 200 B gather before 400 B
    # scatter. Chunk 0 gathers at 400 to 600, chunk 2 scatters until 800, and in dimension 1 until 900 and 1,000; chunk
    # 1 is back at 800 at the latest and gathers until 1,000, and chunk 2 until 1,200.
    for policy in (Policy.FIFO, Policy.SMALLEST_CHUNK_FIRST):
        assert ns(AR, 1200, chunks=3, greedy=False, policy=policy) == pytest.approx(1200.0, rel=1e-9)
    with pytest.raises(ValueError, match="Themis' paper has no policy RG"):
        ns(AR, 800, policy=Policy.ALTERNATING)


def test_what_is_sent_and_used() -> None:
    # Of 800 B, an all-reduce among 4 sends 2 x 3/4, a reduce-scatter 3/4; an all-gather of 200 B shards 3 x 200 B, and
    # an all-to-all 1/2 in each dimension.
    assert [float(sent(kind, size, SQUARE).item()) for kind, size in ((AR, 800), (RS, 800), (AG, 200), (A2A, 800))] == [
        1200.0, 600.0, 600.0, 800.0,
    ]  # fmt: skip
    # 600 B in 300 ns over 2 B/ns are all of it; a dimension of one NPU does not count.
    assert utilisation(RS, 800, SQUARE, np.array([300.0])).tolist() == [1.0]
    assert utilisation(RS, 800, fabrics((2, 1.0, 0.0), (1, 5.0, 0.0)), np.array([500.0])).tolist() == [0.8]


def test_dimensions_that_take_no_part() -> None:
    assert ns(RS, 800, fabrics((2, 1.0, 0.0), (1, 0.0, 9.0)), chunks=1) == pytest.approx(400.0, rel=1e-9)
    assert ns(RS, 800, involved=[False, True], chunks=1) == pytest.approx(400.0, rel=1e-9)
    assert ns(RS, 800, involved=[False, False], chunks=1) == 0.0
    both = Fabrics(
        *(np.repeat(values, 2, axis=1) for values in (SQUARE.block, SQUARE.npus, SQUARE.bandwidth, SQUARE.latency))
    )
    both.npus[0, 1] = 1
    assert paper_time(RS, 800, both, chunks=np.array([2, 1])).tolist() == pytest.approx([300.0, 400.0], rel=1e-9)
    packed = both.packed(np.array([1]), 1)
    assert (packed.npus.tolist(), packed.bandwidth.tolist()) == ([[2]], [[1.0]])
