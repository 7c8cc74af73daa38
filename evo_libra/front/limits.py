"""Limits on the designs of a front, by the columns of objectives."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypedDict, cast


class Limits(TypedDict, total=False):
    """The largest values that a design may have, each in the unit of its column; a front has some of the columns.

    Attributes
    ----------
    time_ms : iteration time.
    useful_iteration_ms, time_per_useful_time : time of a useful iteration, and its ratio to a time without failures.
    s_per_Mtoken, s_per_Mtoken_one_out : seconds of a million tokens, and of those with a server out.
    ttft_ms, tpot_ms : time to the first token, and time per output token.
    bisection_s_per_TB : seconds of a TB over the bisection.
    cost_usd, network_cost_usd : network cost of a design, and of an order.
    order_cost_usd, system_cost_usd : price of a whole order, and of network and NPUs.
    tco_usd, system_tco_usd : costs over the years of operation, of the network and of the system.
    cost_per_Mtoken_usd, cost_per_Ttoken_usd : price of a million and of a trillion tokens.
    time_cost_usd_s : product of iteration time and network cost.
    power_kW, system_power_kW : power of the network, and of all that is bought.
    energy_kJ, energy_per_token_J : energy of the network in an iteration, and energy of a token.
    memory_GB : memory of an NPU.
    """

    time_ms: float
    useful_iteration_ms: float
    time_per_useful_time: float
    s_per_Mtoken: float
    s_per_Mtoken_one_out: float
    ttft_ms: float
    tpot_ms: float
    bisection_s_per_TB: float
    cost_usd: float
    network_cost_usd: float
    order_cost_usd: float
    system_cost_usd: float
    tco_usd: float
    system_tco_usd: float
    cost_per_Mtoken_usd: float
    cost_per_Ttoken_usd: float
    time_cost_usd_s: float
    power_kW: float
    system_power_kW: float
    energy_kJ: float
    energy_per_token_J: float
    memory_GB: float


def all_limits(limits: Limits, others: Mapping[str, float] | None) -> dict[str, float]:
    """Return limits by column, those of other columns among them.

    >>> all_limits({"cost_usd": 2e6}, {"p95_time_ms": 900.0})
    {'cost_usd': 2000000.0, 'p95_time_ms': 900.0}
    """
    return {**cast("Mapping[str, float]", limits), **(others or {})}
