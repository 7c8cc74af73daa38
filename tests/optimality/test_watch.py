"""Watches of proofs: they end them after a time or once stopped, and hear how far they are."""

from __future__ import annotations

from evo_libra.optimality.watch import Progress, never, watch_of


def test_a_watch_ends_a_proof_once_it_is_stopped_or_late() -> None:
    stops = iter([False, True])
    heard: list[Progress] = []
    watch = watch_of(None, lambda: next(stops), heard.append)
    assert [watch(Progress(1, 2)), watch(Progress(3, 4))] == [False, True]
    assert heard == [Progress(1, 2), Progress(3, 4)]
    assert watch_of(0.0)(Progress(0, 0))
    assert not watch_of(1e9)(Progress(0, 0))
    assert not never(Progress(0, 0))
