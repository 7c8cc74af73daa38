"""The best bandwidths of one network, with a proof and the limits that hold them back: LIBRA's own question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from evo_libra.arrays import GIGA, FloatArray, IntArray, Population
from evo_libra.bandwidth.product import least_product
from evo_libra.bandwidth.program import BandwidthProgram, Multipliers
from evo_libra.bandwidth.solve import optimal_bandwidth, unlimited, violation
from evo_libra.errors import ConflictError, InputError, unknown
from evo_libra.problem.allocate import cheapest, program_for, shrunk, variants
from evo_libra.problem.allocation import Allocation, EqualSplit, bindings_of, equal_split
from evo_libra.problem.best_plans import prune_plans
from evo_libra.problem.constraints import excess
from evo_libra.problem.file.registry import load_open_problem
from evo_libra.problem.objectives import TIME
from evo_libra.problem.plan_goals import GOALS
from evo_libra.problem.plans import ways_of
from evo_libra.problem.pricing.pricing import Topologies
from evo_libra.problem.problem import Problem
from evo_libra.problem.space import Structures

_VANISHING = "nothing keeps bandwidth above 0, and time times cost falls with it; a total, or a least bandwidth, does"
_ACCURACY, _SAME, _ROWS, _NOTHING = 1e-12, 1e-10, 1e-9, 1e-100


def optimize(
    problem: str | Problem,
    *,
    shape: str | None = None,
    total: float | None = None,
    cost: float | None = None,
    constraints: Sequence[str] = (),
    objective: str = "time",
    assignments: Sequence[str] = (),
) -> Allocation:
    """Return the best bandwidths of a network; technologies, blocks and plans that are left open are chosen, too.

    Parameters
    ----------
    problem : name or path of a problem file, whose caps, constraints and bounds of bandwidth hold; a smallest or
        largest bandwidth that it leaves out is no limit. Or a problem, with its own bounds, and without the next four
        parameters.
    shape : such as ``RI(4)_FC(8)_RI(4)_SW(32)``; None allows every network of the problem.
    total, cost : B/s per NPU over all dimensions, exactly; USD at most.
    constraints, assignments : more constraints, and ``KEY=VALUE`` as for `load_problem`.
    objective : ``time``, or ``time-cost``, the product of both (LIBRA's perf-per-cost).

    Raises
    ------
    InputError : the problem or a parameter is wrong; a `ConflictError` where no bandwidths meet the constraints.

    >>> from evo_libra import optimize
    >>> best = optimize("gpt3-4k", shape="RI(4)_FC(8)_RI(4)_SW(32)", total=500e9)
    >>> (best.bandwidth / 1e9).round(3).tolist()
    [338.45, 84.612, 58.158, 18.78]
    """
    if objective not in GOALS:
        raise InputError(unknown("objective", objective, GOALS))
    if isinstance(problem, str):
        problem = load_open_problem(problem, assignments, shape, [*limits(total, cost), *constraints])
    structures = every_network(problem)
    chosen = variants(problem.pricing, problem.constraints, structures.npus, structures.technology)
    designs = problem.pricing.topologies(*chosen)
    if problem.time.tables:
        # A network that nothing limits is no network to compare plans on.
        if unbounded := _endless(problem, _in_every_way(problem, designs)):
            return unbounded
        designs = prune_plans(problem, designs, objective)
    program = program_for(problem.traffic, problem.constraints, designs, None, separate=True)
    return _time(problem, designs, program) if objective == "time" else _product(problem, designs, program)


def _in_every_way(problem: Problem, designs: Topologies) -> Topologies:
    """Return each kind of network, by its technologies, with a plan of each way in which groups lie that it holds."""
    kinds = designs.select(_kinds(designs))
    ways = ways_of(problem.time, problem.constraints)
    network, way = np.indices((len(kinds.structure), ways.shape[1])).reshape(2, -1)
    found = replace(kinds.select(network), plan=ways[:, way])
    return found.select(np.flatnonzero(problem.time.fits(found.npus, found.plan, found.technology)))


def _endless(problem: Problem, designs: Topologies) -> Allocation | None:
    if np.isfinite(designs.high).all():
        return None
    program = program_for(problem.traffic, problem.constraints, designs, None, separate=True)
    reasons = ((n, _unlimited(program.select(np.array([n])))) for n in range(len(designs.structure)))
    return next((_unbounded(problem, designs, n, reason) for n, reason in reasons if reason), None)


def _kinds(designs: Topologies) -> IntArray:
    """Return the first design of each kind, by its technologies: what limits a bandwidth depends on them alone."""
    return np.unique(np.where(designs.used > 0, designs.technology, -1), axis=1, return_index=True)[1]


def limits(total: float | None, cost: float | None) -> list[str]:
    """Return the constraints that a total in B/s per NPU and a cost in USD are; both must be above 0."""
    found = [] if total is None else [f"sum(bw) == {_positive('total', total) / GIGA:.15g} GB/s"]
    return found if cost is None else [*found, f"cost <= {_positive('cost', cost):.15g} USD"]


def _positive(name: str, value: float) -> float:
    if not 0 < value < np.inf:
        raise InputError(f"{name}: found {value:g}; it must be above 0")
    return float(value)


def every_network(problem: Problem) -> Structures:
    """Return the table of a problem's networks; an `InputError` says that there are too many for a table."""
    if problem.structures.table is None:
        raise InputError(
            f"there are {len(problem.structures):,} networks to choose from; a shape, or parts of it, is needed"
        )
    return problem.structures.table


def _time(problem: Problem, designs: Topologies, program: BandwidthProgram) -> Allocation:
    for n in _kinds(designs).tolist():
        if reason := _unlimited(program.select(np.array([n]))):
            return _unbounded(problem, designs, n, reason)
    found = optimal_bandwidth(program, _ACCURACY)
    min_time = float(found.objective.min())
    if not np.isfinite(min_time):
        raise _conflict(problem)
    _check_least_time(problem, min_time)
    # Of equally fast designs the cheapest one.
    bandwidth = _least_bandwidth(program, designs.price, shrunk(program, found.bandwidth))
    cost = (designs.price * bandwidth).sum(axis=0)
    best = int(np.where(found.objective <= min_time * (1.0 + _SAME), cost, np.inf).argmin())
    _check_rest(problem, _network(designs, best, bandwidth[:, best]), "time")
    one = np.array([best])
    return _allocation(
        problem, designs, program=program.select(one), n=best, bandwidth=bandwidth[:, best],
        bound=float(found.bound.min()), value=float(found.objective[best]), multipliers=found.multipliers.select(one),
        exchange=None,
    )  # fmt: skip


def _least_bandwidth(program: BandwidthProgram, price: FloatArray, bandwidth: FloatArray) -> FloatArray:
    """Return the cheapest bandwidths that are as fast, where constraints ask for bandwidth, too."""
    if not (program.equality.any() or (program.rows < 0).any()):
        return bandwidth
    with np.errstate(divide="ignore", invalid="ignore"):
        need = np.fmax.reduce(program.traffic / program.pattern_times(bandwidth)[:, None], axis=0, initial=0.0)
    floor = np.clip(np.where(np.isfinite(need), need, 0.0) * (1.0 - _SAME), program.low, bandwidth)
    part = replace(program, low=floor)
    less = cheapest(part, price, len(part.limit))
    cheaper = (price * less).sum(axis=0) < (price * bandwidth).sum(axis=0) * (1.0 - _SAME)
    as_fast = program.time(less) <= program.time(bandwidth) * (1.0 + 10 * _SAME)
    return np.where(cheaper & as_fast & (violation(part, less) <= _ROWS), less, bandwidth)


def _check_least_time(problem: Problem, time: float) -> None:
    """Refuse upper limits of time that even the least time breaks."""
    for constraint in problem.constraints:
        late = constraint.quantity == TIME.name and constraint.at_most
        if late and excess(constraint, constraint.objective * np.array([time]), 0.0)[0] > 0:
            texts = tuple(dict.fromkeys(c.text for c in problem.constraints))
            raise ConflictError(
                f"no bandwidths meet {', '.join(map(repr, texts))}: the least time is {time * 1e3:g} ms", texts
            )


def _check_rest(problem: Problem, network: Population, goal: str) -> None:
    """Refuse constraints that are not linear in the bandwidths, unless the best network happens to meet them."""
    for constraint in problem.constraints:
        if not constraint.linear and problem.evaluator.excess(constraint, problem.measure(network), network)[0] > 0:
            raise InputError(
                f"'{constraint.text}' does not hold where {goal} is least, and bandwidths are solved for under limits "
                "that are linear in them only; a search finds designs that meet it"
            )


def _product(problem: Problem, designs: Topologies, program: BandwidthProgram) -> Allocation:
    found = least_product(program, designs.price)
    product_ = found.time * found.cost
    best = int(np.nanargmin(np.where(np.isfinite(product_), product_, np.inf)))
    if found.bound[best] <= _NOTHING * product_[best] and np.isfinite(product_[best]):
        return _unbounded(problem, designs, best, _VANISHING)
    if not np.isfinite(product_[best]):
        if reason := _unlimited(program.select(np.array([best]))):
            return _unbounded(problem, designs, best, reason)
        raise _conflict(problem)
    one = np.array([best])
    time, cost = float(found.time[best]), float(found.cost[best])
    _check_rest(problem, _network(designs, best, found.bandwidth[:, best]), "time times cost")
    # At the least product, time plus cost at the exchange rate of that point is least, too: its multipliers are prices.
    part = replace(program.select(one), price=time / cost * designs.price[:, one])
    prices = optimal_bandwidth(part, _ACCURACY).multipliers
    return _allocation(
        problem, designs, program=part, n=best, bandwidth=found.bandwidth[:, best], bound=float(np.nanmin(found.bound)),
        value=float(product_[best]), multipliers=prices, exchange=cost / time,
    )  # fmt: skip


def _conflict(problem: Problem) -> ConflictError:
    texts = tuple(dict.fromkeys(c.text for c in problem.constraints if c.linear))
    return ConflictError(f"no bandwidths within the allowed range meet {', '.join(map(repr, texts))}", texts)


def _unlimited(program: BandwidthProgram) -> str:
    """Return which dimensions nothing limits, if some traffic runs on nothing else: it has no least time."""
    if np.isfinite(program.high).all():
        return ""
    free = unlimited(program)
    used = program.traffic[..., 0] > 0
    endless = used.any(axis=1) & ~(used & ~free).any(axis=1)
    listed = [str(d) for d in np.flatnonzero(free & used[endless].any(axis=0))]
    return f"nothing limits the bandwidth of dimension{'s' * (len(listed) > 1)} {', '.join(listed)}" if listed else ""


def _network(designs: Topologies, n: int, bandwidth: FloatArray) -> Population:
    one = np.array([n])
    return Population(
        designs.npus[:, one], designs.block[:, one], designs.technology[:, one], bandwidth[:, None],
        plan=designs.plan[:, one],
    )  # fmt: skip


def _named(problem: Problem, network: Population) -> str:
    return str(problem.fabrics(network)[0])


def _unbounded(problem: Problem, designs: Topologies, n: int, reason: str) -> Allocation:
    nothing, nan = np.full(int(designs.used[:, n].sum()), np.nan), float("nan")
    network = _network(designs, n, np.ones(len(designs.used)))
    shape = "_".join(part.partition(":")[0] for part in str(replace(problem.fabrics(network)[0], plans=())).split("_"))
    return Allocation(
        status="unbounded", reason=reason, design=shape, bandwidth=nothing, time=nan, cost=nan, bound=nan, gap=nan,
        binding=(), exchange=None, equal=None, network=network,
    )  # fmt: skip


def _allocation(
    problem: Problem, designs: Topologies, program: BandwidthProgram, n: int, bandwidth: FloatArray, bound: float,
    value: float, multipliers: Multipliers, exchange: float | None,
) -> Allocation:  # fmt: skip
    design, network = designs.select(np.array([n])), _network(designs, n, bandwidth)
    return Allocation(
        status="optimal", reason="", design=_named(problem, network), bandwidth=bandwidth[designs.used[:, n] > 0],
        time=float(program.time(bandwidth[:, None])[0]), cost=float(design.price[:, 0] @ bandwidth), bound=bound,
        gap=max(value - bound, 0.0) / value, binding=bindings_of(problem, design, program, bandwidth, multipliers),
        exchange=exchange, equal=_equal_split(problem, network, fastest=exchange is None), network=network,
    )  # fmt: skip


def _equal_split(problem: Problem, network: Population, *, fastest: bool) -> EqualSplit | None:
    found = equal_split(problem, network, fastest=fastest)
    if found is None:
        return None
    figures = problem.measure(found)
    return EqualSplit(float(found.bandwidth.max()), float(figures.time[0]), float(figures.cost[0]))
