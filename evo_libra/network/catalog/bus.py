"""Collectives of a server: small ones take a latency, large ones the bytes that their NPUs' ports carry."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from pydantic import Field

from evo_libra.arrays import FloatArray
from evo_libra.collective import Collective
from evo_libra.network.catalog.constants import MEGA, MICRO, Constants, Positive, Share, Time

_MEASURED_NPUS = 8
_PASSES: Mapping[Collective, float] = {Collective.ALL_REDUCE: 2.0}
"""Times that the bytes of a collective pass the ports of an NPU; others pass once."""


class SmallCollectives(Constants):
    """Speed of collectives that latency decides: among n NPUs ``start + n x NPU + port bytes / (share x wire rate)``.

    Reduce-scatters take as long as all-gathers.
    """

    share: Share = Field(description="share of the wire rate that small collectives reach")
    all_gather_us: Time = Field(description="time of an all-gather or reduce-scatter beyond NPUs and bytes")
    all_gather_npu_us: Time = Field(description="its time for each NPU")
    all_reduce_us: Time = Field(description="time of an all-reduce beyond NPUs and bytes")
    all_reduce_npu_us: Time = Field(description="its time for each NPU")
    all_to_all_us: Time = Field(description="time of an all-to-all beyond NPUs and bytes")
    all_to_all_npu_us: Time = Field(description="its time for each NPU")

    def latency(self, collective: Collective, npus: FloatArray | float) -> FloatArray | float:
        """Return the seconds of a collective among NPUs beyond its bytes.

        >>> constants = dict.fromkeys(SmallCollectives.model_fields, 1.0) | {"all_gather_npu_us": 0.5}
        >>> round(SmallCollectives(**constants).latency(Collective.REDUCE_SCATTER, 8) * 1e6, 6)
        5.0
        """
        kind = "all_gather" if collective is Collective.REDUCE_SCATTER else collective.value.replace("-", "_")
        start, each = (float(getattr(self, f"{kind}{end}")) for end in ("_us", "_npu_us"))
        return MICRO * (start + each * npus)


class BusConstants(Constants):
    """Speed of collectives over a link technology: S bytes take ``(S + half_message) / (efficiency x wire rate)``.

    Both were fitted to collectives among 8 NPUs, whose ports carry 7/8 of S.
    """

    efficiency: Positive = Field(description="bytes per second of a large collective over the wire rate")
    half_message_MB: Time = Field(description="size of a collective that runs at half of that")
    all_reduce: Positive = Field(1.0, description="time of a large all-reduce over the time of the other two")
    small: SmallCollectives | None = Field(None, description="collectives whose time is mostly latency")

    def figures(self) -> dict[str, float | None]:
        """Return the constants of large collectives in SI units, by name."""
        return {"efficiency": self.efficiency, "half_message": self.half_message, "all_reduce": self.all_reduce}

    @property
    def half_message(self) -> float:
        """Bytes of the collective that runs at half of the rate of a large one."""
        return self.half_message_MB * MEGA

    @property
    def large_share(self) -> float:
        """The share of the wire rate that the ports carry in large collectives."""
        return self.efficiency * (_MEASURED_NPUS - 1) / _MEASURED_NPUS

    def counted(self, size: FloatArray, npus: FloatArray, wire_rate: float) -> FloatArray:
        """Return the bytes that a reduce-scatter or all-gather of some bytes counts for at the rate of large ones.

        Parameters
        ----------
        npus : (n,) NPUs of the group; one alone sends nothing, and counts as two.
        wire_rate : B/s that the ports of an NPU carry.
        """
        npus = np.maximum(npus, 2.0)
        seconds = self.seconds(Collective.REDUCE_SCATTER, size, npus, wire_rate)
        return np.asarray(seconds * self.large_share * wire_rate * npus / (npus - 1))

    def seconds(
        self, collective: Collective, size: FloatArray | float, npus: FloatArray | float, wire_rate: float
    ) -> FloatArray:
        """Return the seconds of a collective of some bytes among NPUs whose ports carry `wire_rate` B/s.

        It is the lesser of that of small and of large ones. For an all-gather, the bytes are those of all shards.
        """
        carried = _PASSES.get(collective, 1.0) * (npus - 1) / npus
        factor = self.all_reduce if collective is Collective.ALL_REDUCE else 1.0
        large = np.asarray(factor * carried * (size + self.half_message) / (self.large_share * wire_rate))
        if self.small is None:
            return large
        small = self.small.latency(collective, npus) + carried * size / (self.small.share * wire_rate)
        return np.asarray(np.minimum(small, large))
