"""Effect of the failure of a part on a dimension: the places that it cuts off, or the bandwidth that it takes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evo_libra.arrays import FloatArray, IntArray

STATED = ("link", "uplink", "nic", "switch")
"""Items whose failures blocks know, in the order of the first axis; a transceiver is lost with the link it ends."""


@dataclass(frozen=True)
class Blast:
    """Effects of failures until their repair: (item, n) each, in the order of `STATED`, the mean over all pieces.

    A place is an NPU of the dimension with all NPUs that are inside it. A failure that cuts off a place stops the job;
    one that only takes bandwidth does not.

    Attributes
    ----------
    one, many : part of the pieces whose failure cuts off one place, and several places.
    slowed : part of the network of one port of each NPU that the failure of a piece takes; of all ports, it takes
        that over their number from the bandwidth of the dimension.
    """

    one: FloatArray
    many: FloatArray
    slowed: FloatArray


def direct_blast(npus: IntArray) -> Blast:
    """Return what failures do where NPUs are linked to each other: a link takes the bandwidth of one port.

    A ring without one of its links is a line, which one ring there and back goes through at half of the bandwidth of
    the two that the port carried. If there are several ways, traffic goes around the link that is lost.
    """
    none, whole = np.zeros(np.shape(npus)), np.ones(np.shape(npus))
    return Blast(
        one=np.stack([none, none, whole, none]),
        many=np.zeros((len(STATED), *none.shape)),
        slowed=np.stack([whole, whole, none, none]),
    )


def switched_blast(
    npus: IntArray, *, leaves: FloatArray | float, uplink: FloatArray | float, upper: FloatArray | float
) -> Blast:
    """Return what failures do where NPUs are linked to switches: a link or a NIC cuts its NPU off.

    Parameters
    ----------
    leaves : part of the switches that have NPUs, which a failure cuts off.
    uplink, upper : what an uplink and one of the other switches carry of the network of one port; the mean over all
        of them.
    """
    none, whole = np.zeros(np.shape(npus)), np.ones(np.shape(npus))
    return Blast(
        one=np.stack([whole, none, whole, none]),
        many=np.stack([none, none, none, none + leaves]),
        slowed=np.stack([none, none + uplink, none, (1.0 - leaves) * upper + none]),
    )
