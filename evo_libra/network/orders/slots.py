"""Slots of systems, and the NICs that they carry."""

from __future__ import annotations

import re

_PCIE = re.compile(r"pcie[1-9]-x([1-9]\d*)")


def fits_bus(card: str, slot: str) -> bool:
    """Return whether a slot carries a card: as many lanes of PCIe, of whichever generation, or the same bus.

    Generations of PCIe are compatible with each other; the rate is that of the slower one.

    >>> fits_bus("pcie6-x16", "pcie5-x16"), fits_bus("pcie6-x32", "pcie6-x16"), fits_bus("on chip", "pcie5-x16")
    (True, False, False)
    """
    lanes = [_PCIE.fullmatch(bus) for bus in (card, slot)]
    needed, there = (0 if found is None else int(found[1]) for found in lanes)
    return 0 < needed <= there or card == slot
