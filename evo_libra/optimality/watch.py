"""Watches of long proofs: whether to end with the bounds of the moment, and news of how far they are."""

from __future__ import annotations

import time as clock
from collections.abc import Callable

Watch = Callable[[int, int], bool]
"""Takes the designs that were evaluated, and those that bounds stand for; returns whether the proof is to end."""


def never(_evaluated: int, _waiting: int) -> bool:
    """Return that a proof is not to end early."""
    return False


def watch_of(
    seconds: float | None,
    stopped: Callable[[], bool] = lambda: False,
    report: Callable[[int, int], None] = lambda _evaluated, _waiting: None,
) -> Watch:
    """Return the watch that ends a proof after some seconds from now, or once it is stopped.

    Parameters
    ----------
    seconds : None for no end.
    report : is called with what the watch takes.
    """
    until = None if seconds is None else clock.monotonic() + seconds

    def watch(evaluated: int, waiting: int) -> bool:
        report(evaluated, waiting)
        return stopped() or (until is not None and clock.monotonic() > until)

    return watch
