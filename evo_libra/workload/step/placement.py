"""Where the process groups of a plan lie on a network, and what a byte of their traffic costs there."""

from __future__ import annotations

import numpy as np

from evo_libra.arrays import FloatArray, IntArray
from evo_libra.collective import Pattern, time_per_byte, unit_traffic
from evo_libra.workload.parallelism import lay_groups
from evo_libra.workload.step.plans import Plans
from evo_libra.workload.step.races import CONTEXT, DATA, EXPERT, EXPERT_DATA, PIPELINE, TENSOR, SecondsPerByte, Send


def group_extents(npus: IntArray, plans: Plans) -> dict[str, IntArray]:
    """Return the (d, n) NPUs of each dimension in a group: tensor innermost, then context, data and pipeline.

    An expert parallel group lies innermost among the NPUs of a stage, its copies around it.
    """
    stage = plans.tp * plans.cp * plans.dp
    tensor, context, data, pipeline = _laid(npus, plans.tp, plans.cp, plans.dp, plans.pp)
    expert, copies, _ = _laid(npus, plans.ep, stage // plans.ep, plans.pp)
    return {
        TENSOR: tensor,
        CONTEXT: context,
        DATA: context * data,
        PIPELINE: pipeline,
        EXPERT: expert,
        EXPERT_DATA: copies,
    }


def _laid(npus: IntArray, *degrees: IntArray) -> IntArray:
    count = npus.shape[1]
    return lay_groups(npus, np.array([np.broadcast_to(degree, count) for degree in degrees]))[0]


def seconds_per_byte(npus: IntArray, bandwidth: FloatArray, plans: Plans, experts_per_token: int = 1) -> SecondsPerByte:
    """Return (n,) seconds of a byte of each group and pattern, perfectly pipelined (LIBRA's time).

    Parameters
    ----------
    npus, bandwidth : (d, n) sizes of the dimensions and B/s of an NPU in each.
    experts_per_token : copies of a token that an expert parallel group sends.
    """
    extent = group_extents(npus, plans)
    units: dict[tuple[str, Pattern | Send], FloatArray] = {
        (group, pattern): unit_traffic(pattern, extent[group])
        for group, pattern in (
            (TENSOR, Pattern.SHRINKING),
            (CONTEXT, Pattern.SHRINKING),
            (DATA, Pattern.SHRINKING),
            (EXPERT_DATA, Pattern.SHRINKING),
        )
    }
    # A message goes through one dimension; the slowest that the group lies in sets the pace of the pipeline.
    units[PIPELINE, Send.NEXT] = np.asarray(extent[PIPELINE] > 1, dtype=np.float64)
    units[EXPERT, Pattern.ALL_TO_ALL] = dispatch_traffic(extent[EXPERT], experts_per_token)
    return {key: time_per_byte(unit, bandwidth) for key, unit in units.items()}


def dispatch_traffic(extent: IntArray, experts_per_token: int) -> FloatArray:
    """Return the (d, n) bytes that tokens send in each dimension on the way to their experts, per byte of all copies.

    A token goes through a dimension once for all its experts on the other side: from the outermost dimension inwards,
    of ``m`` places at random it reaches ``m (1 - (1 - 1/m)^k)`` with k experts.
    """
    sizes = np.asarray(extent, dtype=np.float64)
    places = np.cumprod(sizes[::-1], axis=0)[::-1]
    reached = places * (1.0 - (1.0 - 1.0 / places) ** experts_per_token)
    return np.asarray(reached * (sizes - 1.0) / sizes / experts_per_token)
