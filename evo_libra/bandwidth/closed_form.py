"""Two traffic patterns, caps and one budget: the best bandwidths in closed form.

In the rates ``s_g`` (bytes per second of a pattern) bandwidth is ``b_d = max_g traffic[g, d] * s_g``, and the budget
``sum_d price_d * b_d = limit`` is ``s_0 * kappa(rho) = limit`` with ``rho = s_1 / s_0``. Time is then
``(size_0 + size_1 / rho) * kappa(rho) / limit``, convex in ``log rho`` with a kink where a dimension passes from one
pattern to the other; between two kinks the best ratio is a square root. A cap is an upper bound of a rate: if the free
optimum breaks it, the rate stands at it and the budget gives the other one.
"""

from __future__ import annotations

import numpy as np

from evo_libra.arrays import BoolArray, FloatArray, columns_or_shared
from evo_libra.bandwidth.floors import with_floors
from evo_libra.bandwidth.program import BandwidthProgram, Multipliers

MAX_PATTERNS = 2
_ROUNDING = 1e-13


def has_closed_form(program: BandwidthProgram) -> BoolArray:
    """Return (n,) whether `closed_form` may be asked: at most two patterns, a single budget that limits all traffic."""
    count = len(program)
    if len(program.traffic) > MAX_PATTERNS or len(program.limit) != 1 or len(program.chains) or program.price.any():
        return np.zeros(count, dtype=np.bool_)
    price, idle = program.rows[0], ~program.traffic.any(axis=0)
    return np.asarray(((price > 0) | idle).all(axis=0) & (price >= 0).all(axis=0) & (program.limit[0] > 0))


def closed_form(program: BandwidthProgram) -> tuple[FloatArray, Multipliers, BoolArray]:
    """Return bandwidths, the multipliers that prove them, and (n,) where floors or the budget forbid this answer.

    The program must be one that `has_closed_form` admits. Idle dimensions stand at their floor.
    """
    price, limit = program.rows[0], program.limit[0]
    rate, share, pressure = _rates(program)
    wish = (program.traffic * rate[: len(program.traffic), None]).max(axis=0, initial=0.0)
    bandwidth = np.clip(wish, program.low, program.high)
    short = (price * bandwidth).sum(axis=0) > limit * (1.0 + _ROUNDING)
    if short.any():
        chosen = np.flatnonzero(short)
        part = program.select(chosen)
        bandwidth[:, chosen], share[..., chosen], pressure[chosen] = with_floors(part)
        short[chosen] = (part.rows[0] * bandwidth[:, chosen]).sum(axis=0) > part.limit[0] * (1.0 + _ROUNDING)
    if program.equality[0]:
        short |= _fill(program, bandwidth, (price * bandwidth).sum(axis=0))
    race = np.empty((*program.chains.shape, len(program)))
    return bandwidth, Multipliers(share[: len(program.traffic)], pressure[None], race), short


_Answer = tuple[FloatArray, FloatArray, FloatArray]
"""Rates (2, n), how much each dimension holds up each pattern (2, d, n), seconds per unit of the budget (n,)."""


def _rates(program: BandwidthProgram) -> _Answer:
    price, limit = program.rows[0], program.limit[0]
    count, patterns = len(program), len(program.traffic)
    alive = program.traffic.any(axis=1) & (program.size > 0)
    if patterns == MAX_PATTERNS and alive.all():
        return _two(program.traffic, program.size, price, limit, program.high)
    answer = np.zeros((2, count)), np.zeros((2, *price.shape)), np.zeros(count)
    both = np.asarray(alive.all(axis=0) & (patterns == MAX_PATTERNS))
    if both.any():
        size = columns_or_shared(program.size, both)
        _put(answer, both, _two(program.traffic[..., both], size, price[:, both], limit[both], program.high[:, both]))
    for g in range(patterns):
        alone = alive[g] & ~both
        if alone.any():
            traffic, high = program.traffic[g][:, alone], program.high[:, alone]
            size = columns_or_shared(program.size[g], alone)
            _put(answer, alone, _one(traffic, size, price=price[:, alone], limit=limit[alone], high=high, pattern=g))
    return answer


def _put(answer: _Answer, chosen: BoolArray, found: _Answer) -> None:
    for target, source in zip(answer, found, strict=True):
        target[..., chosen] = source


def _one(
    traffic: FloatArray, size: FloatArray, price: FloatArray, limit: FloatArray, high: FloatArray, pattern: int
) -> _Answer:
    need = price * traffic
    per_rate = need.sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        caps = high / traffic
    caps = np.where(np.isnan(caps), np.inf, caps)
    cap, bound = caps.min(axis=0), limit / per_rate
    capped = cap < bound
    rate, share = np.zeros((2, len(limit))), np.zeros((2, *traffic.shape))
    rate[pattern] = np.where(capped, cap, bound)
    slowest = np.arange(len(caps))[:, None] == caps.argmin(axis=0)
    share[pattern] = np.where(capped, slowest, need / per_rate)
    return rate, share, np.where(capped, 0.0, size / bound / limit)


def _two(traffic: FloatArray, size: FloatArray, price: FloatArray, limit: FloatArray, high: FloatArray) -> _Answer:
    first, second = traffic
    need_0, need_1 = price * first, price * second
    with np.errstate(divide="ignore", invalid="ignore"):
        kink = first / second
        ratio, tied, to_1 = _best_ratio(kink, need_0, need_1, size)
        s_0 = limit / np.maximum(need_0, need_1 * ratio).sum(axis=0)
        rate = np.stack([s_0, ratio * s_0])
        pressure = (size[0] / rate[0] + size[1] / rate[1]) / limit
        # Dimensions at the kink serve both patterns, as much as the second one needs.
        lack = size[1] / (rate[1] * rate[1] * pressure) - (need_1 * to_1).sum(axis=0)
        part = np.clip(lack / (need_1 * tied).sum(axis=0), 0.0, 1.0)
        serves_1 = np.where(tied, np.where(np.isnan(part), 0.0, part), to_1)
    share = np.stack([need_0 * (1.0 - serves_1), need_1 * serves_1])
    with np.errstate(divide="ignore", invalid="ignore"):
        cap = np.fmin.reduce(high / traffic, axis=1)  # the highest rates that the caps allow
    for pattern in (0, 1):
        over = np.flatnonzero(rate[pattern] > cap[pattern])
        if len(over):
            mine = columns_or_shared(size, over)
            found = _capped(
                traffic[..., over], price[:, over], size=mine, limit=limit[over], cap=cap[:, over], high=high[:, over],
                held=pattern,
            )  # fmt: skip
            rate[:, over], share[..., over], pressure[over] = found
    total = share.sum(axis=1, keepdims=True)
    share /= np.where(total > 0, total, 1.0)
    return rate, share, pressure


def _best_ratio(
    kink: FloatArray, need_0: FloatArray, need_1: FloatArray, size: FloatArray
) -> tuple[FloatArray, BoolArray, BoolArray]:
    """Return the best ratio of the rates (n,), and of each dimension whether it is at its kink, is the second's."""
    to_1 = np.empty(kink.shape, dtype=np.bool_)
    scaled_0, scaled_1 = size[1] * need_0, size[0] * need_1
    for i, at in enumerate(kink):
        past = kink <= at
        falls = (scaled_1 * past).sum(axis=0) * at * at - (scaled_0 * ~past).sum(axis=0)
        to_1[i] = falls < 0
    free = np.sqrt((scaled_0 * ~to_1).sum(axis=0) / (scaled_1 * to_1).sum(axis=0))
    following = np.fmin.reduce(np.where(to_1, np.inf, kink), axis=0)
    ratio = np.fmin(free, following)
    return ratio, ~to_1 & (kink <= ratio), to_1


def _capped(
    traffic: FloatArray,
    price: FloatArray,
    size: FloatArray,
    limit: FloatArray,
    cap: FloatArray,
    high: FloatArray,
    held: int,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Hold one pattern's rate at its cap and give the other what the budget leaves, its own cap at most."""
    other = 1 - held
    need, rest = price * traffic[held], price * traffic[other]
    rate = np.empty((2, len(limit)))
    rate[held] = cap[held]
    with np.errstate(divide="ignore", invalid="ignore"):
        reach = cap[held] * traffic[held] / traffic[other]
        budget = np.empty(reach.shape, dtype=np.bool_)
        for i, at in enumerate(reach):
            budget[i] = np.maximum(need * cap[held], rest * at).sum(axis=0) <= limit
        fixed = (need * ~budget).sum(axis=0) * cap[held]
        bound = (limit - fixed) / (rest * budget).sum(axis=0)
        # If nothing is in reach but the held rate's own bandwidth, that is what the other has.
        bound = np.fmin(
            np.where(budget.any(axis=0), bound, np.inf), np.fmin.reduce(np.where(budget, np.inf, reach), axis=0)
        )
    full = bound >= cap[other]
    rate[other] = np.where(full, cap[other], bound)
    share, pressure = np.zeros_like(traffic), np.zeros(len(limit))
    with np.errstate(divide="ignore", invalid="ignore"):
        serves = (traffic[other] * rate[other] >= traffic[held] * rate[held] * (1.0 - _ROUNDING)) & (traffic[other] > 0)
        pressure = np.where(full, 0.0, size[other] / (rate[other] ** 2 * (rest * serves).sum(axis=0)))
        share[other] = rest * serves
        at_cap = [high / traffic[g] for g in (0, 1)]
    slowest = [np.arange(len(high))[:, None] == np.where(np.isnan(c), np.inf, c).argmin(axis=0) for c in at_cap]
    share[other] = np.where(full, slowest[other], share[other])
    share[held] = pressure * need * ~serves * cap[held] ** 2 / size[held]
    share[held] += slowest[held] * np.maximum(1.0 - share[held].sum(axis=0), 0.0)
    return rate, share, pressure


def _fill(program: BandwidthProgram, bandwidth: FloatArray, spent: FloatArray) -> BoolArray:
    """Spend what an equality still asks for where there is room, in place; return (n,) where there is none."""
    price, rest = program.rows[0], program.limit[0] - spent
    todo = np.flatnonzero(rest > _ROUNDING * program.limit[0])
    missing = np.zeros(len(program), dtype=np.bool_)
    if not len(todo):
        return missing
    cost, low, high = price[:, todo], bandwidth[:, todo], program.high[:, todo]
    open_end = np.isinf(high) & (cost > 0)
    room = np.where(np.isinf(high), 0.0, high - low)
    room = np.where(open_end.any(axis=0), open_end * 1.0, room)
    total = (cost * room).sum(axis=0)
    enough = open_end.any(axis=0) | (total >= rest[todo] * (1.0 - _ROUNDING))
    stretch = np.divide(rest[todo], total, out=np.zeros_like(total), where=total > 0)
    bandwidth[:, todo] = np.minimum(low + room * stretch, high)
    missing[todo] = ~enough
    return missing
