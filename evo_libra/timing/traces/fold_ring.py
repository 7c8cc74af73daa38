"""A ring whose members begin at different times or have different links: each ends at a time of its own.

A member sends what it has got on to the next one, step by step; it takes a step when it has done the one before and
has got the message of it. Without the times that all members spend alike, the end of a member is the largest sum of
another one's start and the links in between, taken around the ring as often as there are steps: a maximum over as
many origins as there are members.
"""

from __future__ import annotations

import numpy as np

from evo_libra.arrays import FloatArray


def ring_ends(starts: FloatArray, links: FloatArray, steps: int, own: float) -> FloatArray:
    """Return when the members of a ring end.

    Parameters
    ----------
    starts : (m,) when each begins; m is at least 2.
    links : (m,) time of a message to the next member, and from the last to the first.
    steps : messages that each sends, at least ``m - 1``.
    own : time that each spends besides, all steps together.
    """
    members = len(starts)
    around = np.concatenate([[0.0], np.cumsum(links)])
    before, lap = around[:-1], around[-1]
    lead = starts - before
    # The farthest origin is as many places before a member as there are steps; the others follow it around the ring.
    first = (np.arange(members) - steps) % members
    laps = (np.arange(members) - steps) // members
    from_here = np.maximum.accumulate(lead[::-1])[::-1][first]
    beyond = np.concatenate([[-np.inf], np.maximum.accumulate(lead)])[first] - lap
    return np.asarray(before + np.maximum(from_here, beyond) - laps * lap + own)
