"""The best bandwidths of one network, with their proof."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from evo_libra.errors import ConflictError, InfeasibleError
from evo_libra.ui.commands.shared import Assignments, Json, app, check_positive
from evo_libra.ui.output import number, print_json, print_table, time_text

if TYPE_CHECKING:
    from evo_libra.problem.allocation import Allocation, Binding


@app.command
def optimize(
    problem: str,
    *,
    shape: str | None = None,
    total: float | None = None,
    cost: float | None = None,
    constraint: Annotated[list[str] | None, Parameter(negative="")] = None,
    objective: str = "time",
    assignments: Assignments = (),
    as_json: Json = False,
) -> int:
    """Find the best bandwidths of one network, exactly, with a proof and the limits that hold them back.

    Parameters
    ----------
    problem:
        Path of a problem file, or name of a problem; a smallest or largest bandwidth that it leaves out is no limit.
    shape:
        The network, such as "RI(4)_FC(8)_RI(4)_SW(32)"; technologies that it leaves open are chosen.
    total:
        GB/s per NPU over all dimensions, exactly.
    cost:
        USD for the network, at most.
    constraint:
        As in a problem file, such as "bw[0] >= bw[1]"; may be repeated.
    objective:
        time, or time-cost: the product of both, LIBRA's perf-per-cost.
    """
    from evo_libra.arrays import GIGA
    from evo_libra.problem.optimize import optimize as best_bandwidths

    check_positive("total", total, "GB/s")
    check_positive("cost", cost, "USD")
    try:
        found = best_bandwidths(
            problem, shape=shape, total=None if total is None else total * GIGA, cost=cost,
            constraints=constraint or (), objective=objective, assignments=assignments,
        )  # fmt: skip
    except ConflictError as error:
        if not as_json:
            raise InfeasibleError(str(error)) from None
        print_json({"status": "infeasible", "reason": str(error.mistakes[0].message), "conflict": list(error.conflict)})
        return _FAILED
    if as_json:
        print_json(_allocation_json(found, objective))
    elif found.status == "optimal":
        _show_allocation(found, objective)
    if found.status == "unbounded" and not as_json:
        raise InfeasibleError(f"the problem is unbounded: {found.reason}")
    return 0 if found.status == "optimal" else _FAILED


_FAILED = 1


def _allocation_json(found: Allocation, objective: str) -> dict[str, Any]:
    from evo_libra.arrays import GIGA

    head: dict[str, Any] = {"status": found.status, "objective": objective, "design": found.design}
    if found.status != "optimal":
        return {**head, "reason": found.reason}
    bound = {"bound_ms": found.bound * 1e3} if objective == "time" else {"bound_usd_s": found.bound}
    exchange = {} if found.exchange is None else {"usd_per_second": found.exchange}
    return {
        **head,
        "bandwidth_GBps": (found.bandwidth / GIGA).tolist(),
        "time_ms": found.time * 1e3,
        "cost_usd": found.cost,
        "gap": found.gap,
        **bound,
        **exchange,
        "speedup": found.speedup,
        "performance_per_cost": found.performance_per_cost,
        "equal_split": None if found.equal is None else {
            "bandwidth_GBps": [found.equal.bandwidth / GIGA] * len(found.bandwidth),
            "time_ms": found.equal.time * 1e3,
            "cost_usd": found.equal.cost,
        },
        "binding": [_binding_json(binding) for binding in found.binding],
    }  # fmt: skip


def _binding_json(binding: Binding) -> dict[str, Any]:
    from evo_libra.arrays import GIGA
    from evo_libra.problem.objectives import unit_of

    head = {"limit": binding.limit, "loosened_by": binding.loosened_by}
    if unit_of(binding.quantity) == "cost":
        return {**head, "usd_per_second": 1.0 / binding.price, "seconds_per_usd": binding.price}
    if binding.quantity == "power":
        return {**head, "seconds_per_kW": binding.price * 1e3}
    return {**head, "seconds_per_GBps": binding.price * GIGA}


def _show_allocation(found: Allocation, objective: str) -> None:
    from evo_libra.arrays import GIGA

    equal = found.equal
    times, costs = [found.time], [found.cost]
    if equal:
        times, costs = [*times, equal.time], [*costs, equal.cost]
    rows: list[list[str] | None] = [
        [part.partition(":")[0], f"{best / GIGA:.6g}", *([f"{equal.bandwidth / GIGA:.6g}"] if equal else [])]
        for part, best in zip(found.design.partition(" | ")[0].split("_"), found.bandwidth, strict=True)
    ]
    if plan := found.design.partition(" | ")[2]:
        print(f"plan: {plan}\n")
    rows += [None, ["time", *(time_text(time * 1e3) for time in times)]]
    rows += [["cost [USD]", *map(number, costs)]]
    columns = ("dimension", "best", "equal split")[: len(times) + 1]
    print_table("best bandwidths [GB/s per NPU]", columns, rows, left=("dimension",))
    if equal:
        print(f"\nthan the equal split: {found.speedup:.4g} times as fast, {found.performance_per_cost:.4g} times")
        print(f"the performance per USD; no bandwidths are better by more than {found.gap:.1e}")
    else:
        print("\nno design of this network with equal bandwidths meets the limits;")
        print(f"no bandwidths are better by more than {found.gap:.1e}")
    if found.binding:
        print("\nlimits that hold it back:")
    for binding in found.binding:
        print(f"  {binding.limit:34s} {_price(binding)}")
    if objective != "time" and found.exchange is not None:
        print(f"\nexchange rate at this point: {number(found.exchange)} USD per second")


def _price(binding: Binding) -> str:
    from evo_libra.arrays import GIGA
    from evo_libra.problem.objectives import unit_of

    if unit_of(binding.quantity) == "cost":
        word = "buy" if binding.loosened_by == "raising" else "less save"
        return f"{number(1.0 / binding.price)} USD {word} one second"
    verb = "saves" if binding.price > 0 else "costs"
    step = "more" if binding.loosened_by == "raising" else "less"
    unit, size = ("kW", 1e3) if binding.quantity == "power" else ("GB/s", GIGA)
    return f"one {unit} {step} {verb} {abs(binding.price) * size * 1e3:.4g} ms"
