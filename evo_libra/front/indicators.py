"""Quality of a front."""

from __future__ import annotations

import moocore
import numpy as np

from evo_libra.model.arrays import FloatArray

REFERENCE = 1.1
_POINT = 1e-9


def hypervolume(objectives: FloatArray, ideal: FloatArray, nadir: FloatArray) -> float:
    """Return the hypervolume of a front on log10 axes.

    Parameters
    ----------
    objectives : (m, k) values above 0.
    ideal, nadir : (m,) the points that are scaled to 0 and 1; the reference point is 1.1 in each objective.
    """
    low, high = np.log10(ideal)[:, None], np.log10(nadir)[:, None]
    # A front of one point has no extent but for rounding.
    scaled = (np.log10(objectives) - low) / np.where(high - low > _POINT, high - low, 1.0)
    inside = scaled[:, (scaled < REFERENCE).all(axis=0)]
    if not inside.shape[1]:
        return 0.0
    return float(moocore.hypervolume(np.ascontiguousarray(inside.T), ref=np.full(len(ideal), REFERENCE)))
