"""Optical circuit switches (OCS) as the switches of an order: the ports that a link takes, and those of NPUs.

Light goes from NIC to NIC by way of the circuit switch, which has no modules. Each fibre of a NIC's module takes a
port: half of them lead to the next NPU of a ring, and half come from the one before. Modules are of single mode, and of
those that fit a NIC the ones with the fewest fibres are taken.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import ceil
from typing import Literal

from evo_libra.errors import InputError, unknown
from evo_libra.network.orders.cables import Cages, Ends
from evo_libra.network.orders.order import Family, Order
from evo_libra.network.orders.products import (
    CableSpec,
    NicModeSpec,
    OcsSpec,
    ProductSpec,
    ProductsSpec,
    SwitchModeSpec,
    SwitchSpec,
)

OCS_RAILS: Family = "ocs-rails"
"""The family whose switches are circuit switches."""

_SINGLE_MODE = ("dr", "fr")
_DUPLEX, _PARALLEL = 2, 8
"""Fibres of a duplex optic, and of a parallel one with four each way."""


@dataclass(frozen=True)
class Circuits:
    """A circuit switch as NPUs see it: a switch that takes fibres without modules, and the fibres of each link."""

    switch: SwitchSpec
    fibres: float


def circuits_of(order: Order, products: ProductsSpec) -> Circuits:
    """Return the circuit switch of an order; an InputError where there is none, or no module of single mode fits."""
    if order.switch not in products.ocs:
        raise InputError(unknown("optical circuit switch", order.switch, products.ocs))
    return _circuits(order.switch, order.nic or "", order.ports, order.Gbps, products)


@lru_cache(maxsize=4096)
def _circuits(name: str, nic: str, ports: int, rate: float, products: ProductsSpec) -> Circuits:
    alike = [mode for mode in products.nics[nic].modes if mode.Gbps == rate and ports % mode.ports == 0]
    for mode in sorted(alike, key=lambda mode: -mode.ports):
        fibres = [cable.fibres for cable in _single_mode(nic, mode, products)]
        if fibres:
            return Circuits(_as_switch(products.ocs[name], mode, min(fibres)), min(fibres))
    raise InputError(f"no cable of single mode joins {ports} x {rate:g}G of {nic} and a circuit switch")


def _single_mode(nic: str, mode: NicModeSpec, products: ProductsSpec) -> list[CableSpec]:
    """Return the fibres of single mode whose modules fit the cages of a NIC in a mode."""
    ends = Ends(
        Gbps=mode.Gbps, lane_Gbps=mode.lane_Gbps, layer=_layer(mode),
        nic=Cages(nic, products.nics[nic].cage, mode.per_cage), switch=Cages("", "", 1), parted=False, co_packaged=True,
    )  # fmt: skip
    joining = {name: cable for name, cable in products.cables.items() if ends.joined_by(cable)}
    return [cable for name, cable in joining.items() if cable.kind in _SINGLE_MODE and not ends.misfit(name, products)]


def _layer(mode: NicModeSpec) -> Literal["infiniband", "ethernet"]:
    """Return the link layer of a ring, whose ends are NICs of one mode."""
    return "ethernet" if "ethernet" in mode.layers else mode.layers[0]


def _as_switch(ocs: OcsSpec, mode: NicModeSpec, fibres: float) -> SwitchSpec:
    ports = ocs.ports // ports_of_link(ocs, fibres)
    if not ports:
        raise InputError(f"a link of {fibres:g} fibres takes more than the {ocs.ports} ports of a circuit switch")
    said = {field: getattr(ocs, field) for field in ProductSpec.model_fields}
    own = SwitchModeSpec(ports=ports, Gbps=mode.Gbps, per_cage=1, lane_Gbps=mode.lane_Gbps)
    return SwitchSpec(
        **said, layer=_layer(mode), modes=(own,), cages=ports, co_packaged=True, power_W=ocs.power_W,
        height_U=ocs.height_U, latency_ns=0.0,
    )  # fmt: skip


def ports_of_link(ocs: OcsSpec, fibres: float) -> int:
    """Return the ports that a link of some fibres takes."""
    if fibres <= _DUPLEX:
        return ocs.duplex_ports_per_link
    return ceil(ocs.parallel_ports_per_link * fibres / _PARALLEL)
