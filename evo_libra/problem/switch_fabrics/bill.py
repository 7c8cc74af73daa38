"""Parts of many fabrics and their prices, those of `evo_libra.network.fabrics.parts` for arrays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from pydantic import Field

from evo_libra.arrays import BoolArray, FloatArray, IntArray
from evo_libra.files.fields import NotNegative, PositiveFloat
from evo_libra.files.source import StrictModel
from evo_libra.network.fabrics.bits import LAYERS, LOWER, PAIRS, UPPER
from evo_libra.network.fabrics.parts import (
    COPPER_REACH,
    NEIGHBOURING,
    OTHER,
    TO_ONE_SWITCH,
    TO_SWITCHES,
    Limits,
)
from evo_libra.network.fabrics.population import Fabrics

_TERABITS, _GIGABITS = 1e12 / 8, 1e9 / 8
_LOWER, _UPPER = np.array(LOWER), np.array(UPPER)


class FabricPrices(StrictModel):
    """Prices of parts; by default those of the catalogue `products-2026`."""

    switch_Tbps: tuple[PositiveFloat, ...] = Field(
        (8.0, 12.8, 25.6, 51.2), min_length=1, description="Tb/s of the switches that are sold, those of ATOP"
    )
    switch_usd_per_Tbps: NotNegative = Field(
        1750.0,
        description="USD of a switch per Tb/s: 1,400 USD per port of 800 Gb/s (MixNet, SIGCOMM 2025)",
    )
    nic_Gbps: PositiveFloat = Field(400.0, description="Gb/s of a NIC, over all its ports")
    nic_usd: NotNegative = Field(1499.0, description="USD of a NIC")
    copper_usd: NotNegative = Field(250.0, description="USD of a copper cable, which reaches 3 m")
    fibre_usd: NotNegative = Field(100.0, description="USD of a fibre")
    module_usd_per_Gbps: NotNegative = Field(
        1.5, description="USD of an optical module per Gb/s, one at each end of a fibre"
    )


@dataclass(frozen=True)
class FabricParts:
    """Parts of n fabrics.

    Attributes
    ----------
    switches : (3, n) of each layer.
    ports, throughput : (4, n) links of a node of each layer, and B/s of them, one way; the NPUs first.
    cables : (6, n) of each pair of layers.
    copper : (6, n) whether they are copper.
    """

    switches: IntArray
    ports: IntArray
    throughput: FloatArray
    cables: IntArray
    copper: BoolArray

    @property
    def fibre_cables(self) -> IntArray:
        """(n,) cables of fibre."""
        return np.asarray((self.cables * ~self.copper).sum(axis=0))

    @property
    def copper_cables(self) -> IntArray:
        """(n,) cables of copper."""
        return np.asarray((self.cables * self.copper).sum(axis=0))


def fabric_parts(fabrics: Fabrics) -> FabricParts:
    """Return the parts of many fabrics."""
    bits, joined = fabrics.bits, fabrics.joined
    down = joined * fabrics.parallel << fabrics.links
    up = down << bits[_LOWER] >> bits[_UPPER]
    ports, throughput = np.zeros_like(bits), np.zeros(bits.shape)
    for pair in range(PAIRS):
        for layer, links in ((LOWER[pair], down[pair]), (UPPER[pair], up[pair])):
            ports[layer] += links
            throughput[layer] += links * fabrics.rate[pair]
    used = np.array([joined[(layer == _LOWER) | (layer == _UPPER)].any(axis=0) for layer in range(1, LAYERS)])
    return FabricParts((1 << bits[1:]) * used, ports, throughput, down << bits[_LOWER], copper_cables(fabrics))


def copper_cables(fabrics: Fabrics) -> BoolArray:
    """Return (6, n) whether the cables of a pair of layers are short enough."""
    bits, lengths = fabrics.bits, np.full((PAIRS, len(fabrics)), OTHER)
    for pair, (lower, upper) in enumerate(zip(LOWER, UPPER, strict=True)):
        if lower == 0:
            block = bits[0] - fabrics.lower_blocks[pair]
            whole = (block >= fabrics.server) | (fabrics.upper_blocks[pair] == 0)
            one = (fabrics.upper_blocks[pair] == bits[upper]) & whole
            lengths[pair] = np.where(one, TO_ONE_SWITCH, TO_SWITCHES)
        elif upper == lower + 1:
            lengths[pair] = NEIGHBOURING
    return lengths <= COPPER_REACH


def cost_of(parts: FabricParts, fabrics: Fabrics, prices: FabricPrices) -> FloatArray:
    """Return (n,) USD of switches, NICs, cables and modules."""
    switches = switch_cost(parts.switches, parts.throughput[1:], prices).sum(axis=0)
    nics = nic_cost(parts.throughput[0], prices) * (1 << fabrics.npus)
    return np.asarray(switches + nics + cable_cost(parts.cables, parts.copper, fabrics.rate, prices).sum(axis=0))


def switch_cost(switches: IntArray, throughput: FloatArray, prices: FabricPrices) -> FloatArray:
    """Return USD of switches of some B/s, one way; a switch beyond all sizes costs by its Tb/s."""
    classes, needed = np.sort(np.array(prices.switch_Tbps)), throughput / _TERABITS
    place = np.searchsorted(classes, needed * (1 - 1e-12))
    sold = np.where(place < len(classes), classes[np.minimum(place, len(classes) - 1)], needed)
    return np.where(switches > 0, switches * sold * prices.switch_usd_per_Tbps, 0.0)


def nic_cost(throughput: FloatArray, prices: FabricPrices) -> FloatArray:
    """Return USD of the NICs of an NPU of some B/s."""
    return np.asarray(np.ceil(throughput / (prices.nic_Gbps * _GIGABITS) * (1 - 1e-12)) * prices.nic_usd)


def cable_cost(cables: IntArray, copper: BoolArray, rate: FloatArray, prices: FabricPrices) -> FloatArray:
    """Return USD of cables and modules, by the kind and the B/s of a cable."""
    module = 2 * prices.module_usd_per_Gbps * rate / _GIGABITS
    return np.asarray(cables * np.where(copper, prices.copper_usd, prices.fibre_usd + module))


def excess(parts: FabricParts, limits: Limits) -> FloatArray:
    """Return (n,) by how much switches and NPUs exceed their limits, relative to these and summed."""
    switches = np.maximum(parts.throughput[1:] / limits.switch_throughput - 1.0, 0.0).sum(axis=0)
    ports = np.maximum(parts.ports[0] / limits.nic_ports - 1.0, 0.0)
    return np.asarray(switches + ports + np.maximum(parts.throughput[0] / limits.npu_throughput - 1.0, 0.0))
