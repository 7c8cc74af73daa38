"""The chains of races, worked by hand on one race of two chains and one of a single chain."""

from __future__ import annotations

import numpy as np

from evo_libra.bandwidth.chains import NO_CHAINS, Chains, chains_of, joined_chains, total
from evo_libra.workload.layers.iteration_time import Overlap

# Twice the longer of 1 s + 4 bytes of the first pattern and 3 s; once 2 s + 5 bytes of the second.
TWO = Overlap(2.0, (1.0, 3.0), np.array([[4.0, 0.0], [0.0, 0.0]]))
ONE = Overlap(1.0, (2.0,), np.array([[0.0, 5.0]]))
TIMES = np.array([[0.25, 1.0], [2.0, 0.0]])
"""Seconds per byte of both patterns, for two designs."""


def test_seconds_of_each_chain() -> None:
    table = chains_of([(TWO, ONE)], 2)
    assert (len(table), table.shape) == (2, (2, 2))
    # 2 x (1 + 4 / 4) and 2 x 3; 2 + 5 x 2, and no second chain. With the other times 2 x (1 + 4), 6 and 2.
    assert table.seconds(TIMES).tolist() == [[[4.0, 10.0], [6.0, 6.0]], [[12.0, 2.0], [-np.inf, -np.inf]]]
    assert table.longest(TIMES).tolist() == [[[0.0, 1.0], [1.0, 0.0]], [[1.0, 1.0], [0.0, 0.0]]]
    assert NO_CHAINS.seconds(TIMES).shape == (0, 1, 2)


def test_a_mixture_of_the_chains() -> None:
    shares = np.array([[[0.25], [0.75]], [[1.0], [0.0]]])
    seconds, size = chains_of([(TWO, ONE)], 2).mixed(shares)
    # A quarter of 2 s and three quarters of 6 s, and 2 s; a quarter of 8 bytes of the first pattern, 5 of the second.
    assert (seconds.tolist(), size.tolist()) == ([7.0], [[2.0], [5.0]])
    each, sizes = chains_of([(TWO, ONE), (ONE,)], 2).mixed(np.repeat(shares, 2, axis=2))
    # The second design has the one race first, a quarter of which counts.
    assert (each.tolist(), sizes.tolist()) == ([7.0, 0.5], [[2.0, 0.0], [5.0, 1.25]])


def test_tables_are_joined_with_room_for_the_longer_races() -> None:
    both = joined_chains([chains_of([(ONE,)], 2), NO_CHAINS, chains_of([(TWO,)], 2)])
    assert both.seconds(TIMES).tolist() == [[[12.0, 2.0], [-np.inf, -np.inf]], [[4.0, 10.0], [6.0, 6.0]]]
    assert joined_chains([NO_CHAINS]) is NO_CHAINS
    assert joined_chains([]) is NO_CHAINS
    alone = chains_of([(TWO,)], 2)
    assert joined_chains([NO_CHAINS, alone]) is alone


def test_what_has_no_bytes_takes_no_time_without_bandwidth() -> None:
    size = np.array([[3.0], [0.0]])
    assert total(size, np.array([[2.0, 2.0], [np.inf, 5.0]])).tolist() == [6.0, 6.0]
    assert total(size + 1.0, np.array([[2.0], [np.inf]])).tolist() == [np.inf]


def test_what_all_designs_share_is_of_none_where_there_are_none() -> None:
    shared, own = chains_of([(ONE,)], 2), chains_of([(ONE,), (TWO,)], 2)
    none = Chains(own.compute[..., :0], own.size[..., :0], own.present[..., :0])
    assert joined_chains([shared, none]).compute.shape[-1] == 0
    assert joined_chains([shared, own]).compute.shape[-1] == 2
