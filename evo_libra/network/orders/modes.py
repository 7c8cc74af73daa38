"""The modes that the ports of an order are in, at NICs and at switches."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from evo_libra.errors import InputError, unknown
from evo_libra.network.orders.circuits import OCS_RAILS, circuits_of
from evo_libra.network.orders.order import Order
from evo_libra.network.orders.products import NicModeSpec, NicSpec, ProductsSpec, SwitchModeSpec, SwitchSpec


@dataclass(frozen=True)
class Modes:
    """Modes of ports.

    Attributes
    ----------
    nic : of the NICs of an NPU; nics : NICs of each NPU.
    down, up : of a switch, towards NPUs and towards other switches.
    """

    nic: NicModeSpec
    nics: int
    down: SwitchModeSpec
    up: SwitchModeSpec


def switch_of(order: Order, products: ProductsSpec) -> SwitchSpec:
    """Return the switch of an order; an InputError where there is none of that name."""
    if order.family == OCS_RAILS:
        return circuits_of(order, products).switch
    if order.switch not in products.switches:
        raise InputError(unknown("switch", order.switch, products.switches))
    return products.switches[order.switch]


def nic_of(order: Order, products: ProductsSpec) -> NicSpec:
    """Return the NIC of an order; an InputError where there is none of that name."""
    if order.nic not in products.nics:
        raise InputError(unknown("NIC", order.nic, products.nics))
    return products.nics[order.nic]


def modes_of(order: Order, products: ProductsSpec) -> Modes:
    """Return the modes of an order with a network; an InputError where NIC or switch have no such mode."""
    nic_of(order, products)
    wanted = _Wanted(order.nic or "", order.ports, order.Gbps, order.switch or "", order.uplink_Gbps)
    if order.family == OCS_RAILS:
        return _modes_at(wanted, switch_of(order, products), products)
    switch_of(order, products)
    return _modes(wanted, products)


@dataclass(frozen=True)
class _Wanted:
    """NIC, ports and rates of an order."""

    nic: str
    ports: int
    Gbps: float
    switch: str
    uplink_Gbps: float | None


@lru_cache(maxsize=4096)
def _modes(wanted: _Wanted, products: ProductsSpec) -> Modes:
    return _modes_at(wanted, products.switches[wanted.switch], products)


def _modes_at(wanted: _Wanted, switch: SwitchSpec, products: ProductsSpec) -> Modes:
    nic, down = _joined(wanted, products.nics[wanted.nic], switch)
    return Modes(nic, wanted.ports // nic.ports, down, _up(wanted, switch, down))


def _joined(wanted: _Wanted, nic: NicSpec, switch: SwitchSpec) -> tuple[NicModeSpec, SwitchModeSpec]:
    """Return the mode of the fewest NICs, and that of the switch with its rate of ports and of lanes."""
    modes = [mode for mode in nic.modes if mode.Gbps == wanted.Gbps and wanted.ports % mode.ports == 0]
    for mode in sorted(modes, key=lambda mode: -mode.ports):
        for port in switch.modes:
            if (port.Gbps, port.lane_Gbps) == (mode.Gbps, mode.lane_Gbps) and switch.layer in mode.layers:
                return mode, port
    if not modes:
        listed = ", ".join(f"{mode.ports} x {mode.Gbps:g}G" for mode in nic.modes)
        raise InputError(f"{wanted.nic} has no {wanted.ports} x {wanted.Gbps:g}G; its modes: {listed}")
    what = f"no {switch.layer} ports of {wanted.Gbps:g} Gb/s that {wanted.nic} takes"
    raise InputError(f"{wanted.switch} has {what}; its modes: {_listed(switch)}")


def _up(wanted: _Wanted, switch: SwitchSpec, down: SwitchModeSpec) -> SwitchModeSpec:
    if wanted.uplink_Gbps in (None, down.Gbps):
        return down
    modes = [mode for mode in switch.modes if mode.Gbps == wanted.uplink_Gbps]
    if not modes:
        raise InputError(f"{wanted.switch} has no ports of {wanted.uplink_Gbps:g} Gb/s; its modes: {_listed(switch)}")
    return min(modes, key=lambda mode: mode.lane_Gbps != down.lane_Gbps)


def _listed(switch: SwitchSpec) -> str:
    return ", ".join(f"{mode.ports} x {mode.Gbps:g}G" for mode in switch.modes)
