"""A max-min fair event simulation: flows share links, until one ends, and so on.

All flows grow alike until a link is full; those that it carries stay, and the others grow on (progressive filling,
Bertsekas and Gallager, Data Networks, section 6.5.2). A flow may be spread over links in fixed parts.
"""

from __future__ import annotations

import numpy as np

from evo_libra.arrays import FloatArray


def fair_rates(parts: FloatArray, capacity: FloatArray) -> FloatArray:
    """Return B/s of each flow.

    Parameters
    ----------
    parts : (links, flows) part of a flow that a link carries.
    capacity : (links,) B/s.
    """
    rates, growing, free = np.zeros(parts.shape[1]), np.ones(parts.shape[1], dtype=bool), capacity.copy()
    while growing.any():
        used = parts @ growing
        room = np.full(len(free), np.inf)
        np.divide(free, used, out=room, where=used > 1e-12)
        step = room.min()
        rates[growing] += step
        free = free - step * used
        full = room <= step * (1 + 1e-9)
        growing &= ~(parts[full] > 1e-12).any(axis=0)
    return rates


def finish(sent: FloatArray, parts: FloatArray, capacity: FloatArray) -> float:
    """Return when the last flow ends, in seconds."""
    left, now = sent.astype(np.float64), 0.0
    while len(left):
        rates = fair_rates(parts, capacity)
        step = (left / rates).min()
        now, left = now + step, left - rates * step
        alive = left > 1e-9 * sent.max()
        left, parts = left[alive], parts[:, alive]
    return now
