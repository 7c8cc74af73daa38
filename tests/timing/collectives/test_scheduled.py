"""Chunks that take dimensions in an order of their own, by hand: 2 x 2 NPUs, 1 B/ns, no latency and no delay."""

from __future__ import annotations

import numpy as np
import pytest

from evo_libra.collective import Collective
from evo_libra.timing.collectives.collective_time import collective_time
from evo_libra.timing.collectives.phase import FULLY_CONNECTED, Implementation, Link, Overheads
from evo_libra.timing.collectives.system import System
from evo_libra.timing.names import Policy, Scheduler

AR, RS, AG, A2A = (
    Collective.ALL_REDUCE, Collective.REDUCE_SCATTER, Collective.ALL_GATHER, Collective.ALL_TO_ALL,
)  # fmt: skip
RINGS = {kind: [Implementation.read("ring")] * 2 for kind in Collective}


def ns(collective: Collective, size: int, scheduler: Scheduler, policy: Policy = Policy.FIFO, *, splits: int = 2,
       queues: int = 1, rates: tuple[float, float] = (1e9, 1e9)) -> float:  # fmt: skip
    links = [Link(np.array([FULLY_CONNECTED]), np.array([2]), np.array([rate]), np.array([0.0])) for rate in rates]
    system = System(RINGS, splits, 1, shrinking=True, overheads=Overheads(0.0, np.inf), queues=queues,
                    scheduler=scheduler, policy=policy)  # fmt: skip
    return float(collective_time(collective, size, links, system).item())


@pytest.mark.parametrize(("scheduler", "collective", "size", "expected"), [
    # Two chunks of 400 B take 200 ns in the dimension that is first for them and 100 ns in the other one. In order,
    # dimension 0 is busy until 400, and chunk 1 in dimension 1 until 500.
    (Scheduler.BASELINE, RS, 800, 500),
    # Chunk 1 the other way round: both begin at 0 and change places at 200.
    (Scheduler.ROUND_ROBIN, RS, 800, 300),
    (Scheduler.OFFLINE_GREEDY, RS, 800, 300),
    # Back over both: 100 and 200 ns more. Others turn once, for twice 100 ns, which keeps it a ring of two messages.
    (Scheduler.OFFLINE_GREEDY, AR, 800, 600),
    (Scheduler.ROUND_ROBIN, AR, 800, 600),
    # A shard of 200 B in two chunks of 100 B: 100 ns, then 200 ns. In order, 1 before 0: 1 until 200, 0 at 100 to 500.
    (Scheduler.BASELINE, AG, 200, 500),
    (Scheduler.ROUND_ROBIN, AG, 200, 300),
    # An all-to-all has 200 ns in both.
    (Scheduler.BASELINE, A2A, 800, 600),
    (Scheduler.ROUND_ROBIN, A2A, 800, 400),
    (Scheduler.OFFLINE_GREEDY, A2A, 800, 600),
])  # fmt: skip
def test_orders(scheduler: Scheduler, collective: Collective, size: int, expected: float) -> None:
    assert ns(collective, size, scheduler) == expected


def test_the_rest_of_a_message_is_a_chunk_of_its_size() -> None:
    # 801 B in chunks of 400, 400 and 1 B: the last one takes no time. In order it is a whole chunk: dimension 0 until
    # 600, dimension 1 until 700.
    assert ns(RS, 801, Scheduler.OFFLINE_GREEDY) == 300
    assert ns(RS, 801, Scheduler.BASELINE) == 700
    # Round robin, chunk 2 begins with dimension 0 at 200 and with dimension 1 at 400.
    assert ns(RS, 801, Scheduler.ROUND_ROBIN) == 500


def test_two_dimensions_are_busy_as_long_whoever_is_next() -> None:
    # An all-reduce in order over dimensions of 1 and 0.5 B/ns. Chunks take 200 ns there, 2 x 200 ns at the turn, and
    # 200 ns back: dimension 0 scatters until 400, and gathers chunk 0 at 600 to 800 and chunk 1 at 1000 to 1200.
    assert ns(AR, 800, Scheduler.BASELINE, Policy.FEWEST_PHASES_FIRST, rates=(1e9, 0.5e9)) == 1200
    # With four chunks of 200 B: 100 ns, 200 ns at the turn, 100 ns back. The turns go on from 100 to 900, gathering
    # between scattering or not: the last one ends at 1000.
    for policy in (Policy.FIFO, Policy.ALTERNATING, Policy.FEWEST_PHASES_FIRST, Policy.SMALLEST_FIRST):
        assert ns(AR, 800, Scheduler.BASELINE, policy, splits=4, rates=(1e9, 0.5e9)) == 1000


def test_schedulers_know_one_queue() -> None:
    with pytest.raises(ValueError, match="one queue a dimension"):
        ns(RS, 800, Scheduler.ROUND_ROBIN, queues=2)
