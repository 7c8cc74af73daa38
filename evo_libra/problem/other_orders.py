"""Orders that a problem file does not allow, such as clusters that others built, as problems with its workloads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from evo_libra.network.orders.choices import OrderChoices
from evo_libra.network.orders.order import APART, Order

if TYPE_CHECKING:
    from evo_libra.problem.problem import Problem

Choices = TypeVar("Choices", bound=OrderChoices)


@dataclass(frozen=True)
class OtherOrders:
    """The problems of single orders, whether a file allows them or not.

    Attributes
    ----------
    choices : the orders that the file allows.
    load : returns the problem of the file with one order in place of its own; an `InputError` says that no plan fits.
    """

    choices: OrderChoices
    load: Callable[[Order], Problem]


def only_order(choices: Choices, order: Order) -> Choices:
    """Return the choices of a file with those of one order alone; its limits, prices and cables stay."""
    changed: dict[str, object] = {"systems": order.system, "npus": order.active_npus}
    if order.nic is not None:
        ratio = choices.fabric.ratio.model_copy(update={"leaf": order.leaf_ratio, "pod": order.pod_ratio})
        fabric = {
            "families": order.family, "switches": order.switch, "ratio": ratio, "planes": order.planes,
            "rack_systems": order.rack_systems, "uplinks": order.uplink_Gbps or order.Gbps,
        }  # fmt: skip
        changed |= {"nics": order.nic, "fabric": choices.fabric.model_copy(update=fabric)}
    elif order.family == APART:
        changed["fabric"] = choices.fabric.model_copy(update={"families": APART})
    return choices.model_copy(update=changed)
