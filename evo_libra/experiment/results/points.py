"""The points of fronts as they can be had without a data frame, which takes a while to import."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from typing import TYPE_CHECKING

from evo_libra.errors import InputError
from evo_libra.experiment.results.index import load_points, save_points
from evo_libra.experiment.run.record import RunInfo, file_stamp
from evo_libra.experiment.store.folder import FRONT, MANIFEST, RunFolder

if TYPE_CHECKING:
    from evo_libra.arrays import FloatArray


def checkpoint_points(folder: RunFolder) -> dict[str, FloatArray] | None:
    """Return objective column -> values of the best designs at the last checkpoint, or None when there is none yet.

    Raises
    ------
    InputError : the checkpoint or the manifest is damaged.
    """
    from evo_libra.experiment.store.sealed import read_objectives  # noqa: PLC0415 - the index needs no arrays

    values = read_objectives(folder)
    if values is None:
        return None
    objectives = folder.read_json(MANIFEST)["objectives"]
    return {one["column"]: row / one["scale"] for one, row in zip(objectives, values, strict=True)}


def known_points(index: sqlite3.Connection, run: RunInfo) -> dict[str, FloatArray] | None:
    """Return the points of a run's front: those of its checkpoint, or once there is a file of it those of the index.

    Returns
    -------
    Objective column -> values; None when they are not known, or damaged.
    """
    stamp = file_stamp(run.folder / FRONT)
    if run.status == "damaged":
        return None
    if not stamp:
        try:
            return checkpoint_points(RunFolder(run.folder))
        except InputError:
            return None
    found = load_points(index, run.id, stamp)
    if found is None:
        return None
    import numpy as np  # noqa: PLC0415 - the index needs no arrays

    columns, values = found
    return dict(zip(columns, np.frombuffer(values).reshape(len(columns), -1), strict=True))


def keep_points(index: sqlite3.Connection, run: RunInfo, points: Mapping[str, FloatArray]) -> None:
    """Keep the points of a front that there is a file of."""
    stamp = file_stamp(run.folder / FRONT)
    if stamp and points:
        save_points(
            index, run.id, stamp, list(points), b"".join(row.astype(float).tobytes() for row in points.values())
        )
