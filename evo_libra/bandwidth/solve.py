"""Optimal bandwidths of a population: the quickest method that fits each design, and a proof for every answer."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from evo_libra.arrays import BoolArray, FloatArray, IntArray
from evo_libra.bandwidth.chains import NO_CHAINS
from evo_libra.bandwidth.closed_form import closed_form, has_closed_form
from evo_libra.bandwidth.interior_point import interior_point
from evo_libra.bandwidth.program import BandwidthProgram, Multipliers, Optimum, joined, lower_bound

_TILE = 4096
_PROPORTIONAL = 1e-14
_GOOD_GAP = 1e-6
_BROKEN, _BROKEN_BY_CONIC, _HELD = 1e-9, 1e-7, 1e-14
_SWEEPS, _MANY_SWEEPS, _MAX_SWEEPS = 3, 300, 3000
_SOME = 1e-9
"""The smallest value that counts as above 0 for a linear-programming solver."""


ACCURACY = 1e-9
"""Relative gap at which the iterative method stops; the closed forms are exact to rounding."""


def optimal_bandwidth(program: BandwidthProgram, accuracy: float = ACCURACY) -> Optimum:
    """Return the bandwidths that minimise the objective of each design, with a proven lower bound.

    If no bandwidths meet the constraints, objective and bound are infinite. If the box alone limits the
    bandwidth, it is at its caps; a program that nothing limits has no optimum, see `unlimited`.
    """
    starts = range(0, max(len(program), 1), _TILE)
    return joined([_tile(program.select(slice(start, start + _TILE)), accuracy) for start in starts])


def _tile(program: BandwidthProgram, accuracy: float) -> Optimum:
    if not len(program.limit) and not program.price.any() and np.isfinite(program.high).all():
        return _optimum(program, program.high.copy(), _at_caps(program))
    easy = has_closed_form(program)
    if len(easy) and easy.all():
        bandwidth, multipliers, short = closed_form(program)
        optimum = _optimum(program, bandwidth, multipliers)
    else:
        optimum, short = _nothing(program), np.ones(len(program), dtype=np.bool_)
        chosen = np.flatnonzero(easy)
        if len(chosen):
            part = program.select(chosen)
            bandwidth, multipliers, short[chosen] = closed_form(part)
            _put(optimum, chosen, _optimum(part, bandwidth, multipliers))
    if not len(program.traffic):
        _put_cheapest(program, optimum, short)
    # Designs that the closed form could not solve show in its gap.
    hard = np.flatnonzero(short | ~(optimum.gap() <= accuracy))
    hopeless = _out_of_reach(program.select(hard))
    optimum.objective[hard], optimum.bound[hard] = np.inf, np.inf
    hard = hard[~hopeless]
    if len(hard):
        part = program.select(hard)
        bandwidth, multipliers = interior_point(part, accuracy)
        _put(optimum, hard, _checked(part, _optimum(part, _onto_rows(part, bandwidth), multipliers)))
    return optimum


def _put_cheapest(program: BandwidthProgram, optimum: Optimum, short: BoolArray) -> None:
    """Answer, in place, where nothing but a price is asked and the least bandwidths meet every row."""
    chosen = np.flatnonzero((program.price >= 0).all(axis=0) & (violation(program, program.low) == 0))
    part = program.select(chosen)
    multipliers = replace(_nothing(part).multipliers, race=part.chains.longest(part.pattern_times(part.low)))
    _put(optimum, chosen, _optimum(part, part.low, multipliers))
    short[chosen] = False


def _nothing(program: BandwidthProgram) -> Optimum:
    patterns, depth, count = program.traffic.shape
    share, rows = np.zeros((patterns, depth, count)), np.zeros(program.limit.shape)
    multipliers = Multipliers(share, rows, np.zeros((*program.chains.shape, count)))
    return Optimum(np.zeros((depth, count)), np.full(count, np.inf), np.full(count, np.inf), multipliers)


def _put(optimum: Optimum, chosen: IntArray, part: Optimum) -> None:
    optimum.bandwidth[:, chosen], optimum.objective[chosen] = part.bandwidth, part.objective
    optimum.bound[chosen] = part.bound
    optimum.multipliers.put(chosen, part.multipliers)


def _optimum(program: BandwidthProgram, bandwidth: FloatArray, multipliers: Multipliers) -> Optimum:
    return Optimum(bandwidth, program.objective(bandwidth), lower_bound(program, multipliers), multipliers)


def _out_of_reach(program: BandwidthProgram) -> BoolArray:
    """Return (n,) whether some row cannot hold anywhere in the box."""
    found = np.zeros(len(program), dtype=np.bool_)
    for row, limit, equality in zip(program.rows, program.limit, program.equality, strict=True):
        with np.errstate(invalid="ignore"):
            ends = np.where(row == 0, 0.0, row * np.stack([program.low, program.high]))
        size = _BROKEN * np.maximum(np.abs(limit), np.abs(row * program.low).max(axis=0))
        found |= ends.min(axis=0).sum(axis=0) > limit + size
        if equality:
            found |= ends.max(axis=0).sum(axis=0) < limit - size
    return found


def _at_caps(program: BandwidthProgram) -> Multipliers:
    """Return the multipliers of bandwidths that only the caps limit."""
    with np.errstate(divide="ignore", invalid="ignore"):
        times = np.where(program.traffic > 0, program.traffic / program.high, 0.0)
    share = (np.arange(program.traffic.shape[1])[:, None] == times.argmax(axis=1)[:, None]) * 1.0
    race = program.chains.longest(program.pattern_times(program.high))
    return Multipliers(share, np.zeros((0, len(program))), race)


def violation(program: BandwidthProgram, bandwidth: FloatArray) -> FloatArray:
    """Return (n,) the largest violation of the linear constraints, relative to the size of their terms."""
    if not len(program.limit):
        return np.zeros(len(program))
    terms = program.rows * bandwidth
    over = terms.sum(axis=1) - program.limit
    over = np.where(program.equality[:, None], np.abs(over), np.maximum(over, 0.0))
    size = np.maximum(np.abs(terms).max(axis=1), np.abs(program.limit))
    return np.asarray((over / np.where(size > 0, size, 1.0)).max(axis=0))


def _onto_rows(program: BandwidthProgram, bandwidth: FloatArray, sweeps: int = _SWEEPS) -> FloatArray:
    """Return bandwidths moved by the last residual of a method, so that the rows hold to rounding."""
    for done in range(sweeps):
        if done > _SWEEPS and (violation(program, bandwidth) <= _HELD).all():
            break
        for row, limit, equality in zip(program.rows, program.limit, program.equality, strict=True):
            rest = limit - (row * bandwidth).sum(axis=0)
            rest = rest if equality else np.minimum(rest, 0.0)
            step = row * bandwidth * bandwidth
            step = np.where((bandwidth <= program.low) & (step * rest < 0), 0.0, step)
            step = np.where((bandwidth >= program.high) & (step * rest > 0), 0.0, step)
            length = (row * step).sum(axis=0)
            stride = np.divide(rest, length, out=np.zeros_like(rest), where=length > 0)
            bandwidth = np.clip(bandwidth + step * stride, program.low, program.high)
    return bandwidth


def _checked(program: BandwidthProgram, optimum: Optimum) -> Optimum:
    """Ask the conic solver about designs whose answer is not proven; the better answer of the two stays."""
    broken = violation(program, optimum.bandwidth) > _BROKEN
    doubtful = np.flatnonzero(~(optimum.gap() < _GOOD_GAP) | broken)
    if not len(doubtful):
        return optimum
    from evo_libra.bandwidth.conic import conic  # noqa: PLC0415 - few programs need it

    part, first = program.select(doubtful), optimum.select(doubtful)
    bandwidth, multipliers, solved = conic(part)
    bandwidth = _onto_rows(part, np.where(solved, bandwidth, part.low), _MANY_SWEEPS)
    # If rows nearly hold, an objective would be below the bound by what is still missing.
    near = np.flatnonzero(solved & (violation(part, bandwidth) <= _BROKEN))
    bandwidth[:, near] = _onto_rows(part.select(near), bandwidth[:, near], _MAX_SWEEPS)
    second = _optimum(part, bandwidth, multipliers)
    # Bandwidths that break a row are no answer; only without an answer is the bound infinite, too.
    without = np.flatnonzero(solved & (violation(part, bandwidth) > _BROKEN_BY_CONIC))
    second.objective[without] = np.inf
    solved[without] = [_meets(part.select(np.array([n]))) for n in without]
    second.objective[~solved] = second.bound[~solved] = np.inf
    first.objective[broken[doubtful] | ~solved] = np.inf
    worse = np.flatnonzero(first.objective < second.objective)
    second.bandwidth[:, worse], second.objective[worse] = first.bandwidth[:, worse], first.objective[worse]
    looser = np.flatnonzero(first.bound > second.bound)
    second.bound[looser] = first.bound[looser]
    second.multipliers.put(looser, first.multipliers.select(looser))
    _put(optimum, doubtful, second)
    return optimum


def only_price(program: BandwidthProgram, price: FloatArray) -> BandwidthProgram:
    """Return the program of the least (d, n) price instead of the least time, under the same box and rows."""
    empty = np.empty((0, *program.low.shape))
    return replace(program, base=np.zeros(1), size=np.empty((0, 1)), traffic=empty, price=price, chains=NO_CHAINS)


def merged(program: BandwidthProgram) -> BandwidthProgram:
    """Return the same program with fewer patterns: idle ones are left out, proportional ones added up.

    Two patterns merge where their traffic has one ratio in all dimensions of all designs. A pattern is idle where no
    design has traffic or bytes of it.
    """
    chains = program.chains
    used = np.logical_or(program.size.any(axis=1), chains.size.any(axis=(0, 1, 3)))
    kept: list[int] = []
    into = np.zeros((len(program.traffic), len(program.traffic)))
    for g, traffic in enumerate(program.traffic):
        if not traffic.any() or not used[g]:
            continue
        for place, other in enumerate(kept):
            ratio = _ratio(traffic, program.traffic[other])
            if ratio:
                into[place, g] = ratio
                break
        else:
            into[len(kept), g] = 1.0
            kept.append(g)
    into = into[: len(kept)]
    if len(chains):
        chains = replace(chains, size=into @ chains.size)
    return replace(program, size=into @ program.size, traffic=program.traffic[kept], chains=chains)


def _ratio(traffic: FloatArray, other: FloatArray) -> float:
    """Return how often one pattern's traffic is another's, 0 where there is no such number."""
    largest = np.unravel_index(other.argmax(), other.shape)
    ratio = float(traffic[largest] / other[largest])
    return ratio if np.allclose(traffic, ratio * other, rtol=_PROPORTIONAL, atol=0.0) else 0.0


def unlimited(program: BandwidthProgram) -> BoolArray:
    """Return (d,) the dimensions whose bandwidth nothing limits, in the first design of a program.

    They are the directions in which the bandwidths that meet the constraints never end: the support of the largest
    ``v`` in 0 to 1 with ``rows . v <= 0`` (``== 0`` for equalities), found by one linear program.
    """
    rows, sizes = program.rows[..., 0], np.abs(program.rows[..., 0]).max(axis=1, initial=0.0, keepdims=True)
    top = np.where(np.isfinite(program.high[:, 0]), 0.0, 1.0)
    still = np.zeros(len(rows))
    found = _linear(
        rows / np.where(sizes > 0, sizes, 1.0), still, equality=program.equality, low=0.0 * top, high=top,
        price=-np.ones(len(top)),
    )  # fmt: skip
    assert found is not None, "standing still meets every row"  # noqa: S101 - a bug otherwise
    return np.asarray(found > _SOME)


def _meets(program: BandwidthProgram) -> bool:
    """Return whether some bandwidths meet box and rows of the one design of a program."""
    low, high = program.low[:, 0], program.high[:, 0]
    with np.errstate(divide="ignore", invalid="ignore"):
        reach = np.abs(program.limit / program.rows[..., 0]).min(axis=0, initial=np.inf)
    unit = np.where(np.isfinite(reach) & (reach > 0), reach, np.maximum(low, 1.0))
    rows = program.rows[..., 0] * unit
    sizes = np.maximum(np.abs(rows).max(axis=1), np.abs(program.limit[:, 0]))
    sizes = np.where(sizes > 0, sizes, 1.0)
    limits = program.limit[:, 0] / sizes
    return (
        _linear(
            rows / sizes[:, None], limits, equality=program.equality, low=low / unit, high=high / unit, price=0.0 * low
        )
        is not None
    )


def _linear(
    rows: FloatArray, limit: FloatArray, equality: BoolArray, low: FloatArray, high: FloatArray, price: FloatArray
) -> FloatArray | None:
    """Return the (d,) point of least price in a box and under rows, or None where there is none."""
    from scipy.optimize import linprog  # noqa: PLC0415 - takes a third of a second

    less, equal = ~equality, equality
    found = linprog(
        price,
        A_ub=rows[less] if less.any() else None, b_ub=limit[less] if less.any() else None,
        A_eq=rows[equal] if equal.any() else None, b_eq=limit[equal] if equal.any() else None,
        bounds=np.stack([low, high], axis=1),
    )  # fmt: skip
    return None if found.x is None else np.asarray(found.x)
