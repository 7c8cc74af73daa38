"""What is sent to a worker: plain data in, a report out, everything else in the run's folder.

A task is a pure function of the run and its last checkpoint, so it may be sent again, to any worker, at any time.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evo_libra.experiment.execution.messages import Report

ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "POLARS_MAX_THREADS"), "1"
)
"""Environment of a worker: it is one of many, each on a core of its own."""


def run_task(run: Mapping[str, Any], job: Mapping[str, Any]) -> Report:
    """Execute a run.

    Parameters
    ----------
    run : from `RunSpec.data`.
    job : the fields of `evo_libra.experiment.execution.messages.Job`.
    """
    for name, value in ONE_THREAD.items():
        os.environ.setdefault(name, value)
    # Only now: NumPy and Polars count their threads when they are imported.
    from evo_libra.experiment.execution.epochs import on_workers  # noqa: PLC0415
    from evo_libra.experiment.execution.messages import Job  # noqa: PLC0415
    from evo_libra.experiment.execution.worker import execute  # noqa: PLC0415

    return execute(run, Job(**job), place=on_workers)
