"""Watches of long proofs: whether to end with the bounds of the moment, and news of how far they are."""

from __future__ import annotations

import time as clock
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Progress:
    """The state of a proof on its way.

    Attributes
    ----------
    evaluated : designs so far; `waiting` : bounds that stand for others, those on their way included.
    factor : returns the factor of the front, as in `FrontProof`, by what is known so far; None before there are bounds.
    seen : share of the space that the factor is of.
    """

    evaluated: int
    waiting: int
    factor: Callable[[], float] | None = None
    seen: float = 1.0


Watch = Callable[[Progress], bool]
"""Takes how far a proof is; returns whether it is to end."""


def never(_progress: Progress) -> bool:
    """Return that a proof is not to end early."""
    return False


def watch_of(
    seconds: float | None,
    stopped: Callable[[], bool] = lambda: False,
    report: Callable[[Progress], None] = lambda _progress: None,
) -> Watch:
    """Return the watch that ends a proof after some seconds from now, or once it is stopped.

    Parameters
    ----------
    seconds : None for no end.
    report : is called with what the watch takes.
    """
    until = None if seconds is None else clock.monotonic() + seconds

    def watch(progress: Progress) -> bool:
        report(progress)
        return stopped() or (until is not None and clock.monotonic() > until)

    return watch
