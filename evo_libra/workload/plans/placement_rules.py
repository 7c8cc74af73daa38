"""What a plan needs of ZeRO, of the batch and of hosts, to have its optimizer elsewhere than on the NPUs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from evo_libra.arrays import GIGA, BoolArray, FloatArray
from evo_libra.workload.plans.plans import FULL, NETWORK, PLACEMENTS, Plans
from evo_libra.workload.training.memory import parameters, waiting_activations
from evo_libra.workload.training.offload import host_memory, in_window
from evo_libra.workload.training.training_setup import Setup

_SHARDED = 3


@dataclass(frozen=True)
class _Rule:
    """What plans must keep to.

    Attributes
    ----------
    key : the option that breaks it.
    broken : (n,) whether a plan breaks it.
    why : what the first plan breaks, as a sentence.
    """

    key: str
    broken: Callable[[Setup, Plans], BoolArray]
    why: Callable[[Setup, Plans], str]


def host_bytes(setup: Setup, plans: Plans) -> FloatArray:
    """Return (n,) bytes of a host's memory that each of its NPUs needs."""
    assert setup.offload is not None, "only then there is a host"  # noqa: S101 - internal error
    held = parameters(setup, plans)
    owned = np.where(plans.zero >= 1, held.sharded, held.all)
    waiting = np.where(plans.recompute == FULL, waiting_activations(setup, plans), 0.0)
    return host_memory(setup.offload, plans, owned, waiting)


def host_limit(setup: Setup) -> float:
    """Return the bytes of a host's memory that plans may use, of an NPU's share."""
    assert setup.offload is not None, "only then there is a host"  # noqa: S101 - internal error
    return np.inf if setup.offload.host is None else setup.offload.host.memory_capacity


def _name(plans: Plans) -> str:
    return PLACEMENTS[int(plans.optimizer[0])]


def _alone(plans: Plans) -> BoolArray:
    """Return (n,) whether some weights are on one NPU only, so that nothing is added up."""
    return np.asarray((plans.cp * plans.dp == 1) | ((plans.ep > 1) & (plans.tp * plans.cp * plans.dp == plans.ep)))


_RULES = (
    _Rule(
        "zero",
        lambda _, plans: np.asarray(in_window(plans) & (plans.zero != _SHARDED)),
        lambda _, plans: (
            f"found {int(plans.zero[0])}; the optimizer in {_name(plans)} needs zero 3, as NPUs hold a "
            "layer's weights at a time"
        ),
    ),
    _Rule(
        "global_batch",
        lambda setup, plans: np.asarray((plans.optimizer == NETWORK) & (plans.microbatches(setup.global_batch) != 1)),
        lambda setup, plans: (
            f"found {setup.global_batch:,}; servers of the network add up one microbatch of each "
            f"replica, dp {int(plans.dp[0]):,} x micro_batch {int(plans.micro_batch[0]):,} in all"
        ),
    ),
    _Rule(
        "dp",
        lambda _, plans: np.asarray((plans.optimizer == NETWORK) & _alone(plans)),
        lambda _, plans: f"found {int(plans.dp[0])}; servers of the network need several NPUs with the same weights",
    ),
    _Rule(
        "optimizer",
        lambda setup, plans: host_bytes(setup, plans) > host_limit(setup),
        lambda setup, plans: (
            f"the optimizer in {_name(plans)} needs {float(host_bytes(setup, plans)[0]) / GIGA:.1f} GB "
            f"of the host's memory for each NPU, and there are {host_limit(setup) / GIGA:.1f}"
        ),
    ),
)


def placement_allowed(setup: Setup, plans: Plans) -> BoolArray:
    """Return (n,) whether plans break no rule."""
    broken = [np.broadcast_to(rule.broken(setup, plans), len(plans.tp)) for rule in _RULES]
    return np.asarray(~np.logical_or.reduce(broken))


def placement_mistakes(setup: Setup, plan: Plans) -> Iterator[tuple[str, str]]:
    """Yield what the first plan breaks: the option, and a sentence."""
    one = plan.select(np.zeros(1, dtype=np.int64))
    if setup.offload is not None:
        yield from ((rule.key, rule.why(setup, one)) for rule in _RULES if rule.broken(setup, one).any())
