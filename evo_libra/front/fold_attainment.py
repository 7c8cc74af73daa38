"""What a search with chance in it finds how often: the empirical attainment function of fronts over seeds."""

from __future__ import annotations

from collections.abc import Sequence

import moocore
import numpy as np

from evo_libra.arrays import FloatArray

QUARTILES = (25, 50, 75)
_NOWHERE = 1e300


def attainment_surfaces(fronts: Sequence[FloatArray], percentages: Sequence[int] = QUARTILES) -> list[FloatArray]:
    """Return what at least some share of the fronts attains (Grunert da Fonseca et al. 2001).

    A point is attained by a front that has a design no worse in every objective.

    Parameters
    ----------
    fronts : (m, k_i) values of what each search found, m is 2 or 3; a search that found nothing has none, and counts.
    percentages : of the fronts.

    Returns
    -------
    A surface for each percentage: its (m, k) corners, the first objective ascending; none where so many fronts attain
    nothing.
    """
    objectives = len(fronts[0])
    # A search that found nothing attains a point that no other attains.
    sets = [front if front.shape[1] else np.full((objectives, 1), _NOWHERE) for front in fronts]
    points = np.concatenate(sets, axis=1).T
    owner = np.repeat(np.arange(len(sets)), [front.shape[1] for front in sets])
    found = moocore.eaf(np.ascontiguousarray(points), owner, percentiles=list(percentages))
    surfaces = [found[found[:, -1] == percentage, :-1].T for percentage in percentages]
    kept = [surface[:, (surface < _NOWHERE).all(axis=0)] for surface in surfaces]
    return [surface[:, np.lexsort(surface[::-1])] for surface in kept]


def staircase(corners: FloatArray, worst: FloatArray) -> FloatArray:
    """Return the (2, s) line that bounds what a surface of two objectives attains.

    Parameters
    ----------
    corners : (2, k) the first objective ascending.
    worst : (2,) where the line begins and ends, in the second and in the first objective.
    """
    if not corners.shape[1]:
        return np.empty((2, 0))
    first, second = corners
    across = np.append(np.repeat(first, 2), max(worst[0], first[-1]))
    up = np.insert(np.repeat(second, 2), 0, max(worst[1], second[0]))
    return np.stack([across, up])
