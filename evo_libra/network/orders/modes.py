"""The modes that the ports of an order are in, at NICs and at switches."""

from __future__ import annotations

from dataclasses import dataclass

from evo_libra.errors import InputError, unknown
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
    switch = switch_of(order, products)
    nic, down = _joined(order, nic_of(order, products), switch)
    return Modes(nic, order.ports // nic.ports, down, _up(order, switch, down))


def _joined(order: Order, nic: NicSpec, switch: SwitchSpec) -> tuple[NicModeSpec, SwitchModeSpec]:
    """Return the mode of the fewest NICs, and that of the switch with its rate of ports and of lanes."""
    modes = [mode for mode in nic.modes if mode.Gbps == order.Gbps and order.ports % mode.ports == 0]
    for mode in sorted(modes, key=lambda mode: -mode.ports):
        for port in switch.modes:
            if (port.Gbps, port.lane_Gbps) == (mode.Gbps, mode.lane_Gbps) and switch.layer in mode.layers:
                return mode, port
    if not modes:
        listed = ", ".join(f"{mode.ports} x {mode.Gbps:g}G" for mode in nic.modes)
        raise InputError(f"{order.nic} has no {order.ports} x {order.Gbps:g}G; its modes: {listed}")
    raise InputError(
        f"{order.switch} has no ports of {order.Gbps:g} Gb/s that {order.nic} takes; its modes: {_listed(switch)}"
    )


def _up(order: Order, switch: SwitchSpec, down: SwitchModeSpec) -> SwitchModeSpec:
    if order.uplink_Gbps in (None, down.Gbps):
        return down
    modes = [mode for mode in switch.modes if mode.Gbps == order.uplink_Gbps]
    if not modes:
        raise InputError(f"{order.switch} has no ports of {order.uplink_Gbps:g} Gb/s; its modes: {_listed(switch)}")
    return min(modes, key=lambda mode: mode.lane_Gbps != down.lane_Gbps)


def _listed(switch: SwitchSpec) -> str:
    return ", ".join(f"{mode.ports} x {mode.Gbps:g}G" for mode in switch.modes)
