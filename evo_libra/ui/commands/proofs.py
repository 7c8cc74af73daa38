"""The commands that prove something: the best bandwidths of a network, the distance of a front from the best one."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.status import Status
from rich.table import Table
from rich.text import Text

from evo_libra.arrays import GIGA
from evo_libra.errors import ConflictError, InfeasibleError, InputError, counted
from evo_libra.experiment.execution.executor import catching_interrupts
from evo_libra.experiment.run.origin import Origin, UntrustedError, build, origin_of, with_assignments
from evo_libra.experiment.run.provenance import canonical_hash
from evo_libra.experiment.store.folder import MANIFEST, RunFolder
from evo_libra.experiment.store.manifest import spec_as_run
from evo_libra.front.front import Front
from evo_libra.optimality.certificate import Certificate, certificates
from evo_libra.problem.allocation import Allocation, Binding
from evo_libra.problem.objectives import unit_of
from evo_libra.problem.optimize import optimize
from evo_libra.problem.problem import Problem
from evo_libra.ui.output import new_console
from evo_libra.ui.texts import number, print_json, run_folder, short_design, time_text

_FAILED, _INTERRUPTED = 1, 130


def optimize_command(
    name: str,
    shape: str | None,
    limits: Mapping[str, Any],
    objective: str,
    assignments: Sequence[str],
    *,
    as_json: bool,
) -> int:
    """Find the best bandwidths of a network."""
    for key, unit in (("total", "GB/s"), ("cost", "USD")):
        if limits[key] is not None and not 0 < limits[key] < math.inf:
            raise InputError(f"--{key}: found {limits[key]:g}; a number of {unit} above 0 is needed")
    total = None if limits["total"] is None else limits["total"] * GIGA
    try:
        found = optimize(
            name, shape=shape, total=total, cost=limits["cost"], constraints=limits["constraints"],
            objective=objective, assignments=assignments,
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


def _allocation_json(found: Allocation, objective: str) -> dict[str, Any]:
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
    head = {"limit": binding.limit, "loosened_by": binding.loosened_by}
    if unit_of(binding.quantity) == "cost":
        return {**head, "usd_per_second": 1.0 / binding.price, "seconds_per_usd": binding.price}
    if binding.quantity == "power":
        return {**head, "seconds_per_kW": binding.price * 1e3}
    return {**head, "seconds_per_GBps": binding.price * GIGA}


def _show_allocation(found: Allocation, objective: str) -> None:
    console = new_console()
    table = Table(title=Text("best bandwidths [GB/s per NPU]"), title_justify="left")
    equal = found.equal
    for column in ("dimension", "best", *(["equal split"] if equal else [])):
        table.add_column(column, justify="left" if column == "dimension" else "right", no_wrap=True)
    for part, best in zip(found.design.split("_"), found.bandwidth, strict=True):
        each = [f"{equal.bandwidth / GIGA:.6g}"] if equal else []
        table.add_row(Text(part.partition(":")[0]), f"{best / GIGA:.6g}", *each)
    table.add_section()
    times, costs = [found.time, *([equal.time] if equal else [])], [found.cost, *([equal.cost] if equal else [])]
    table.add_row("time", *(time_text(time * 1e3) for time in times))
    table.add_row(Text("cost [USD]"), *map(number, costs))
    console.print(table)
    if equal:
        print(f"\nthan the equal split: {found.speedup:.4g} times as fast, {found.performance_per_cost:.4g} times")
        print(f"the performance per USD; no bandwidths are better by more than {found.gap:.1e}")
    else:
        print("\nno design of this network with equal bandwidths meets the limits;")
        print(f"no bandwidths are better by more than {found.gap:.1e}")
    if found.binding:
        print("\nwhat holds it back:")
    for binding in found.binding:
        print(f"  {binding.limit:34s} {_price(binding)}")
    if objective != "time" and found.exchange is not None:
        print(f"\nat this point one second is worth {number(found.exchange)} USD")


def _price(binding: Binding) -> str:
    if unit_of(binding.quantity) == "cost":
        word = "buy" if binding.loosened_by == "raising" else "less save"
        return f"{number(1.0 / binding.price)} USD {word} one second"
    verb = "saves" if binding.price > 0 else "costs"
    step = "more" if binding.loosened_by == "raising" else "less"
    unit, size = ("kW", 1e3) if binding.quantity == "power" else ("GB/s", GIGA)
    return f"one {unit} {step} {verb} {abs(binding.price) * size * 1e3:.4g} ms"


def certify_command(
    result: Path,
    name: str | None,
    assignments: Sequence[str],
    seconds: float | None,
    *,
    trust_code: bool = False,
    as_json: bool,
) -> int:
    """Prove how far a front is from the best one; stopping it keeps what is proven so far."""
    if seconds is not None and not 0 <= seconds < math.inf:
        raise InputError(f"--seconds: found {seconds:g}; a number of at least 0 is needed")
    result = run_folder(result)
    folder = RunFolder(result)
    front = folder.read_front()
    if name is None and assignments:
        raise InputError("--set belongs to --problem; without both, the run's own problem is taken")
    problem = problem_from(origin_of_result(folder, name, assignments, trust_code=trust_code))
    console = new_console(stderr=True)
    start, found = time.monotonic(), None
    with catching_interrupts() as interrupted, Status("proving", console=console) as status:
        for found in certificates(problem, front):
            status.update(_state(found))
            if interrupted() or (seconds is not None and time.monotonic() - start > seconds):
                break
        stopped = interrupted()
    assert found is not None, "there is at least one"  # noqa: S101 - a programming error, not a user's
    if as_json:
        print_json(_certificate_json(found, front, result))
    else:
        _show_certificate(found, front, problem)
    return _INTERRUPTED if stopped else 0


def _state(found: Certificate) -> str:
    share = found.missed_hypervolume / found.max_hypervolume
    return (
        f"factor at most {found.largest_factor:.5g}, hypervolume missed at most {share:.3%}; "
        f"{found.looked:,} looked at, {found.waiting:,} waiting"
    )


def origin_of_result(result: RunFolder, name: str | None, assignments: Sequence[str], *, trust_code: bool) -> Origin:
    """Return where the problem of a result comes from: its manifest, or what the user names.

    Parameters
    ----------
    result : its folder.
    name : of the problem, where the user names it.
    assignments : those with which what the user names is the problem of the result.
    trust_code : run the code of a problem that the manifest names as ``module:object``.

    Raises
    ------
    InputError : it cannot be built, is code that is not trusted, or is not that of the result.
    """
    if name is None:
        try:
            return spec_as_run(result, trust_code=trust_code).origin
        except UntrustedError:
            raise
        except InputError as error:
            raise InputError(f"{error} (where the problem's files have moved, name it with --problem)") from None
    origin = origin_of(name, assignments)
    problem = build(origin)
    if canonical_hash(problem.identity()) != canonical_hash(result.read_json(MANIFEST)["problem"]):
        raise InputError(f"the problem '{problem.name}' is not the one of the result with these --set")
    return origin


def given_of(result: RunFolder) -> list[str]:
    """Return the ``KEY=VALUE`` of the run of a result."""
    return list(result.read_json(MANIFEST).get("source", {}).get("set", []))


def problem_from(origin: Origin, assignments: Sequence[str] = ()) -> Problem:
    """Return the problem that comes from somewhere, with more of its values replaced.

    Raises
    ------
    InputError : it cannot be built, or is written in Python.
    """
    problem = build(with_assignments(origin, assignments))
    if not isinstance(problem, Problem):
        raise InputError(
            f"'{problem.name}' is written in Python: its space is unknown, and nothing can be proven of it"
        )
    return problem


def _certificate_json(found: Certificate, front: Front, result: Path) -> dict[str, Any]:
    return {
        "result": str(result),
        "hypervolume": found.hypervolume,
        "max_hypervolume": found.max_hypervolume,
        "missed_hypervolume": found.missed_hypervolume,
        "largest_factor": found.largest_factor,
        "at_cost_usd": found.at_cost,
        "designs": [
            {"id": int(i), "factor": float(factor)} for i, factor in zip(front.frame["id"], found.factor, strict=True)
        ],
        "fastest_ms": found.fastest * 1e3,
        "complete": not found.waiting,
        "rests_on": {
            "structures": found.structures,
            "looked_at": found.looked,
            "waiting": found.waiting,
            "programs_solved": found.solved,
        },
    }


def _show_certificate(found: Certificate, front: Front, problem: Problem) -> None:
    share = found.missed_hypervolume / found.max_hypervolume
    print(f"{problem.name}: a front of {counted(len(front), 'design')}")
    volumes = f"{found.hypervolume:.6f} of at most {found.max_hypervolume:.6f}"
    print(f"  hypervolume        {volumes}: misses at most {share:.2%}")
    print(f"  time at equal cost at most {found.largest_factor:.6g} times the ideal, at {number(found.at_cost)} USD")
    print(f"  each design        {_spread(found)}")
    print(f"  fastest            no design takes less than {time_text(found.fastest * 1e3)}")
    how = "bounds of" if not found.waiting else f"branch and bound ({found.waiting:,} still open) over"
    print(f"it rests on {how} all {found.structures:,} structures;")
    print(f"{found.looked:,} looked at, {found.solved:,} programs solved, each with its own proof.")
    print("Time model, prices, box and linear constraints are the problem's.")
    worst = sorted(zip(found.factor, front.frame.to_dicts(), strict=True), key=lambda pair: -pair[0])[:3]
    for factor, row in worst:
        if factor > 1 + 1e-6:
            print(f"  {factor:.4g} times the ideal:\n    {short_design(str(row.get('design', row['id'])))}")


def _spread(found: Certificate) -> str:
    ordered = sorted(found.factor)
    middle, most = ordered[len(ordered) // 2], ordered[-1]
    return f"at most {most:.6g} times the ideal; median {middle:.6g}"
