"""Watches of proofs: they end them after a time or once stopped, and hear how far they are."""

from __future__ import annotations

from evo_libra.optimality.watch import never, watch_of


def test_a_watch_ends_a_proof_once_it_is_stopped_or_late() -> None:
    stops = iter([False, True])
    heard: list[tuple[int, int]] = []
    watch = watch_of(None, lambda: next(stops), lambda *counts: heard.append(counts))
    assert [watch(1, 2), watch(3, 4)] == [False, True]
    assert heard == [(1, 2), (3, 4)]
    assert watch_of(0.0)(0, 0)
    assert not watch_of(1e9)(0, 0)
    assert not never(0, 0)
