"""The best bandwidths of one network, with their proof."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from evo_libra.errors import ConflictError, InfeasibleError, InputError
from evo_libra.named_code import trust_files
from evo_libra.quantities import number, time_text
from evo_libra.ui.commands.shared import Assignments, Json, TrustCode, app, check_positive
from evo_libra.ui.tables.addresses import Addressed, chosen, is_address, is_problem
from evo_libra.ui.tables.named_runs import names_run
from evo_libra.ui.tables.output import print, print_folded, print_json, print_table

if TYPE_CHECKING:
    from evo_libra.problem.allocation import Allocation, Binding
    from evo_libra.problem.problem import Problem


@app.command
def optimize(  # noqa: PLR0913 - each is an option of the command
    problem: str,
    design: str | None = None,
    *,
    shape: str | None = None,
    total: float | None = None,
    cost: float | None = None,
    constraint: Annotated[list[str] | None, Parameter(negative="")] = None,
    objective: str = "time",
    assignments: Assignments = (),
    trust_code: TrustCode = False,
    as_json: Json = False,
) -> int:
    """Find the best bandwidths of one network under LIBRA's time, with a proof and the limits that hold them back.

    Parameters
    ----------
    problem:
        Path of a problem file, or name of a problem; a smallest or largest bandwidth that it leaves out is no limit.
        Or a design, such as last#12: its network, at most at its cost unless --total or --cost is given.
    design:
        The id of a design after a result, or a design in the notation after a problem or a result.
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
    from evo_libra.problem.designs import notes_of
    from evo_libra.problem.file.registry import load_open_problem
    from evo_libra.problem.optimize import limits
    from evo_libra.problem.optimize import optimize as best_bandwidths

    trust_files(allowed=trust_code)
    check_positive("total", total, "GB/s")
    check_positive("cost", cost, "USD")
    each = None if total is None else total * GIGA
    try:
        if design is not None or is_address(problem) or (names_run(problem) and not is_problem(problem)):
            if shape is not None:
                raise InputError(f"--shape and '{problem}' both name a network; give one of the two")
            opened = _network_of(chosen(problem, design, None, assignments), each, cost, constraint or ())
        else:
            opened = load_open_problem(problem, assignments, shape, [*limits(each, cost), *(constraint or ())])
        found = best_bandwidths(opened, objective=objective)
    except ConflictError as error:
        if not as_json:
            raise InfeasibleError(str(error)) from None
        print_json({"status": "infeasible", "reason": str(error.mistakes[0].message), "conflict": list(error.conflict)})
        return _FAILED
    if as_json:
        warned = {"warnings": [warning.json() for warning in notes_of(opened)]} if opened.notes else {}
        print_json({**_allocation_json(found, objective), **warned})
    elif found.status == "optimal":
        _show_allocation(found, objective)
        print_folded(*notes_of(opened))
    if found.status == "unbounded" and not as_json:
        raise InfeasibleError(f"the problem is unbounded: {found.reason}")
    return 0 if found.status == "optimal" else _FAILED


_FAILED = 1


def _network_of(found: Addressed, total: float | None, cost: float | None, constraints: Sequence[str]) -> Problem:
    """Return the problem of a design's network, whose bandwidths and plans are open; `total` is in B/s per NPU."""
    from evo_libra.experiment.run.origin import source_of
    from evo_libra.network.fabric import Fabric, parse_fabric
    from evo_libra.problem.file.registry import open_problem
    from evo_libra.problem.optimize import limits

    if total is None and cost is None:
        cost = float(found.problem.measure(found.problem.read(found.design), timed=False).cost[0])
    dimensions = tuple(replace(dimension, bandwidth=None) for dimension in parse_fabric(found.design).dimensions)
    source, folder = source_of(found.origin), Path(found.origin.folder)
    return open_problem(source, folder, str(Fabric(dimensions)), [*limits(total, cost), *constraints])


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
