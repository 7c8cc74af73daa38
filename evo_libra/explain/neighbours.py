"""Designs one step from a design: another bandwidth, block or technology of one dimension, or another plan."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from evo_libra.arrays import FloatArray, Population
from evo_libra.errors import InputError
from evo_libra.explain.as_json import INLINE
from evo_libra.network.blocks.registry import BLOCKS
from evo_libra.network.fabric import Dimension, Fabric, parse_fabric
from evo_libra.problem.designs import violations
from evo_libra.problem.problem import Problem
from evo_libra.workload.plans.plan_table import PlanTable

STEP = 0.1
"""The step of a bandwidth that is not in whole ports, as a share of it."""
_MAX_PORTS = 64


@dataclass(frozen=True)
class Neighbour:
    """A design one step from another one.

    Attributes
    ----------
    change : what differs, such as ``dim 1: 100 GB/s instead of 50``.
    dimension : that differs; None for a plan.
    design : in the notation.
    values : objectives by column; `percent` : their changes, by ``{column}_percent``.
    broken : limits that it breaks; empty for a feasible one.
    """

    change: str
    dimension: int | None
    design: str
    values: Mapping[str, float] = field(metadata=INLINE)
    percent: Mapping[str, float] = field(metadata=INLINE)
    broken: tuple[str, ...]


def neighbours(problem: Problem, design: str) -> tuple[Neighbour, ...]:
    """Return the designs one step from a design: feasible ones, and larger or smaller bandwidths that are not.

    A step of a bandwidth is the next one in whole ports, or a tenth; blocks and technologies are those of the
    catalogue; plans have the next value of one option.
    """
    mine, found = objectives_of(problem, problem.read(design)), []
    for change, dimension, other in _every_step(problem, design):
        try:
            population = problem.read(str(other))
        except InputError:
            continue  # a network that the problem does not have is no step
        evaluation = problem.evaluate(population)
        broken = tuple(violations(problem, population)) if evaluation.violation[0] > 0 else ()
        same_network = "GB/s" in change or dimension is None
        if not same_network and (broken or not problem.sections.recognise(population)[1].all()):
            continue  # nor is one that is outside of its space
        values = zip(problem.objectives, evaluation.objectives[:, 0], strict=True)
        figures = {objective.column: float(value) / objective.scale for objective, value in values}
        percent = {f"{column}_percent": 100.0 * (figures[column] / value - 1.0) for column, value in mine.items()}
        found.append(Neighbour(change, dimension, str(other), values=figures, percent=percent, broken=broken))
    return tuple(found)


def _every_step(problem: Problem, design: str) -> Iterator[tuple[str, int | None, object]]:
    """Yield what each step changes, its dimension, and the design behind it."""
    if problem.book is None:
        yield from _steps(problem, parse_fabric(design))
        return
    from evo_libra.explain.order_neighbours import order_steps  # noqa: PLC0415 - only orders need it

    yield from order_steps(problem, problem.book, design)


def objectives_of(problem: Problem, population: Population) -> dict[str, float]:
    """Return the objectives of the first design by column, in the units of the columns."""
    values = problem.evaluate(population.select([0])).objectives[:, 0]
    return {o.column: float(value) / o.scale for o, value in zip(problem.objectives, values, strict=True)}


def _steps(problem: Problem, fabric: Fabric) -> Iterator[tuple[str, int | None, Fabric]]:
    for d, dimension in enumerate(fabric.dimensions):
        for change, other in (
            *_bandwidths(problem, fabric, d), *_blocks(problem, dimension), *_technologies(problem, fabric, d)
        ):  # fmt: skip
            changed = (*fabric.dimensions[:d], other, *fabric.dimensions[d + 1 :])
            yield f"dim {d}: {change}", d, replace(fabric, dimensions=changed)
    for place, table in enumerate(problem.time.tables):
        yield from ((change, None, other) for change, other in _plans(problem, table, fabric, place))


def _bandwidths(problem: Problem, fabric: Fabric, d: int) -> Iterator[tuple[str, Dimension]]:
    dimension = fabric.dimensions[d]
    assert dimension.bandwidth is not None, "a design has bandwidths"  # noqa: S101 - read before
    for more in (1, -1):
        bandwidth = _next_bandwidth(problem, fabric, d, more)
        if bandwidth is not None:
            text = f"{bandwidth / 1e9:.6g} GB/s instead of {dimension.bandwidth / 1e9:.6g}"
            yield text, replace(dimension, bandwidth=bandwidth)


def _next_bandwidth(problem: Problem, fabric: Fabric, d: int, sign: int) -> float | None:
    """Return the next bandwidth that a dimension can be built with; None where there is none within many ports."""
    now = float(fabric.dimensions[d].bandwidth or 0.0)
    if not problem.pricing.whole:
        return now * (1.0 + sign * STEP)
    one = problem.read(str(fabric))
    kit = problem.pricing.kits[int(one.technology[d, 0])]
    steps = now + sign * kit.port_rate * np.arange(1, _MAX_PORTS)
    steps = steps[steps > 0]
    many = one.select(np.zeros(len(steps), dtype=np.int64))
    bandwidth = many.bandwidth.copy()
    bandwidth[d] = steps
    wrong = problem.pricing.misfits(replace(many, bandwidth=bandwidth))[1][d]
    fitting = steps[~wrong]
    return float(fitting[0]) if len(fitting) else None


def _blocks(problem: Problem, dimension: Dimension) -> Iterator[tuple[str, Dimension]]:
    known = {block for one in problem.catalog.technologies if one.name == dimension.technology for block in one.blocks}
    for place, block in enumerate(BLOCKS):
        if block.name in known and place != dimension.block:
            yield f"{block.name} instead of {BLOCKS[dimension.block].name}", replace(dimension, block=place)


def _technologies(problem: Problem, fabric: Fabric, d: int) -> Iterator[tuple[str, Dimension]]:
    """Yield dimensions of another technology with the bandwidth nearest to what it was that can be built."""
    dimension = fabric.dimensions[d]
    for name in dict.fromkeys(problem.catalog.names):
        changed = replace(dimension, technology=name)
        if name == dimension.technology:
            continue
        dimensions = (*fabric.dimensions[:d], changed, *fabric.dimensions[d + 1 :])
        try:
            one = problem.read(str(replace(fabric, dimensions=dimensions)))
        except InputError:
            continue
        low, high = problem.pricing.box(one.technology)
        bandwidth = float(np.clip(one.bandwidth[d, 0], low[d, 0], high[d, 0]))
        if problem.pricing.whole:
            bandwidth = float(problem.pricing.misfits(one)[0][d, 0])
        if bandwidth > 0:
            yield f"{name} instead of {dimension.technology}", replace(changed, bandwidth=bandwidth)


def _plans(problem: Problem, table: PlanTable, fabric: Fabric, place: int) -> Iterator[tuple[str, Fabric]]:
    """Yield plans with the next value of one option that fit memory and network."""
    from evo_libra.explain.plan_alternatives import plan_alternatives  # noqa: PLC0415 - takes a while, and few ask

    found = plan_alternatives(problem, problem.read(str(fabric)), place)
    for one in found.changes:
        if one.fits_memory and one.fits_network:
            plans = (*fabric.plans[:place], one.plan, *fabric.plans[place + 1 :])
            yield f"{table.name}: {one.change}", replace(fabric, plans=plans)


def slack(problem: Problem, population: Population) -> FloatArray:
    """Return (d,) the share of its bandwidth that each dimension of the first design could lose at the same time.

    Each on its own. Unused dimensions have none.
    """
    one = population.select([0])
    time, used = float(problem.time(one)[0]), one.npus[:, 0] > 1
    lost = np.concatenate([[0.0], np.geomspace(_LEAST, 1.0 - _LEAST, _LEVELS)])
    found = np.zeros(len(used))
    for d in np.flatnonzero(used).tolist():
        many = one.select(np.zeros(len(lost), dtype=np.int64))
        bandwidth = many.bandwidth.copy()
        bandwidth[d] *= 1.0 - lost
        same = problem.time(replace(many, bandwidth=bandwidth)) <= time * (1.0 + _SAME)
        found[d] = lost[int(np.argmin(same)) - 1] if not same.all() else lost[-1]
    return found


_LEAST, _LEVELS, _SAME = 1e-3, 200, 1e-9


def shadow_price(problem: Problem, population: Population) -> FloatArray:
    """Return (d,) seconds per B/s that a little more bandwidth of each dimension of the first design saves, each alone.

    It is 0 where dimensions wait for each other.
    """
    one = population.select([0])
    used = np.flatnonzero(one.npus[:, 0] > 1)
    many = one.select(np.zeros(len(used) + 1, dtype=np.int64))
    bandwidth = many.bandwidth.copy()
    bandwidth[used, np.arange(len(used))] *= 1.0 + _MARGIN
    time = problem.time(replace(many, bandwidth=bandwidth))
    found = np.zeros(len(one.npus))
    found[used] = (time[-1] - time[:-1]) / (one.bandwidth[used, 0] * _MARGIN)
    return found


_MARGIN = 1e-3
"""The share of a bandwidth that counts as the margin: times in whole ns show it."""
