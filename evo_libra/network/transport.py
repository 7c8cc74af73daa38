"""Congestion control of RoCE: what part of an Ethernet link each scheme fills (after HOTI 2022, arXiv 2207.10898).

An approximation for comparing schemes: the factors follow from bytes of headers and from the utilisation that a scheme
aims at. `evo_libra.validation.roce.rows` simulates the control laws to see how far that holds.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

PAYLOAD, HEADERS = 1000, 62
"""Bytes of a packet: payload, and headers of Ethernet, IP, UDP and InfiniBand's transport around it."""

APPROXIMATION = "approximation; ordering only; no figures of the paper were read"
"""Note of every output on designs with a transport."""

LABEL = f"times under a congestion control of RoCE: {APPROXIMATION}"
"""The same as a line next to times."""


@dataclass(frozen=True)
class Transport:
    """A scheme of congestion control.

    Attributes
    ----------
    telemetry : bytes that switches write into each packet.
    target : part of the link that it aims at.
    lossless : whether its switches pause links, and need buffers for what is under way until then.
    source : its publication.
    """

    name: str
    telemetry: int
    target: float
    lossless: bool
    source: str

    @property
    def factor(self) -> float:
        """Payload per time over that of PFC alone, at most 1.

        >>> [round(TRANSPORTS[name].factor, 3) for name in ("pfc", "dcqcn", "hpcc-pint", "hpcc")]
        [1.0, 1.0, 0.949, 0.909]
        """
        return self.target * (PAYLOAD + HEADERS) / (PAYLOAD + HEADERS + self.telemetry)


TRANSPORTS = {
    scheme.name: scheme
    for scheme in (
        Transport("pfc", 0, 1.0, lossless=True, source="IEEE 802.1Qbb"),
        Transport("dcqcn", 0, 1.0, lossless=True, source="Zhu et al., SIGCOMM 2015"),
        Transport("dctcp", 0, 1.0, lossless=False, source="Alizadeh et al., SIGCOMM 2010"),
        Transport("timely", 0, 1.0, lossless=True, source="Mittal et al., SIGCOMM 2015"),
        Transport("hpcc", 48, 0.95, lossless=False, source="Li et al., SIGCOMM 2019"),
        Transport("hpcc-pint", 1, 0.95, lossless=False, source="Ben Basat et al., SIGCOMM 2020"),
    )
}
"""Every scheme, by its name. Those after PFC are end to end; DCQCN and TIMELY run on links that PFC pauses."""

_USED = re.compile(rf"@[^@:_\s]+\.({'|'.join(map(re.escape, TRANSPORTS))})(?:\.[a-z]+)?:")


def approximation(designs: Iterable[str]) -> dict[str, str]:
    """Return what an output says of designs in the notation under ``approximation``, where one has a transport.

    >>> approximation(["SW(8)@nvlink4:450_SW(16)@roce-400g.dcqcn:50"])["approximation"][:50]
    'times under a congestion control of RoCE: approxim'
    >>> approximation(["SW(8)@nvlink4:450"])
    {}
    """
    used = any(_USED.search(design) for design in designs)
    return {"approximation": LABEL} if used else {}
