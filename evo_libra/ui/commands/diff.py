"""Two designs side by side: what they differ in, where time and money go, and which of them wins under which change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from evo_libra.errors import InputError
from evo_libra.network.transport import approximation
from evo_libra.quantities import money_unit, number, time_unit
from evo_libra.ui.commands.shared import Json, MovedProblem, TrustCode, app
from evo_libra.ui.tables.addresses import Addressed, DesignAddress, addressed
from evo_libra.ui.tables.output import print, print_folded, print_json, print_table

if TYPE_CHECKING:
    from evo_libra.explain.crossings import Crossing

_BATCHES = (0.5, 2.0)
_SMALL = 5e-4
"""The part of a time or of a cost up to which a change is not shown."""


@app.command
def diff(
    first: DesignAddress,
    second: str,
    *,
    problem: MovedProblem = None,
    trust_code: TrustCode = False,
    as_json: Json = False,
) -> int:
    """Compare two designs: network, plan, where time and money go, and which one wins under which change.

    Parameters
    ----------
    second:
        The other design, named in the same way; or the id alone, or the design in the notation, of the same result.
    """
    one = addressed(first, problem=problem, trust_code=trust_code)
    two = addressed(second, problem=problem, trust_code=trust_code, beside=one)
    found = difference_of(one, two)
    if as_json:
        print_json(found)
    else:
        _show(found)
    return 0


def difference_of(one: Addressed, two: Addressed) -> dict[str, Any]:
    """Return what two designs differ in, as plain data with units in its keys."""
    from evo_libra.explain.difference import (
        dimension_rows,
        money_rows,
        network_rows,
        plan_words,
        system_rows,
        time_rows,
    )
    from evo_libra.explain.explain import explain
    from evo_libra.explain.parts_list import parts_list
    from evo_libra.explain.reasons import compared_with

    designs = [each.problem.read(each.design) for each in (one, two)]
    breakdowns = [explain(each.problem, design) for each, design in zip((one, two), designs, strict=True)]
    parts = [parts_list(each.problem, design) for each, design in zip((one, two), designs, strict=True)]
    figures = [_figures(each, breakdown) for each, breakdown in zip((one, two), breakdowns, strict=True)]
    shared = {column for column in figures[0] if column in figures[1]}
    mine, other = ({column: value for column, value in each.items() if column in shared} for each in figures)
    return {
        "first": {"name": _name(one), "design": one.design, **figures[0]},
        "second": {"name": _name(two), "design": two.design, **figures[1]},
        "second_is": compared_with(other, mine),
        **approximation([one.design, two.design]),
        "network": network_rows(one.design, two.design),
        "plan": plan_words(one.design, two.design),
        "time": time_rows(breakdowns[0], breakdowns[1]),
        "busy": dimension_rows(breakdowns[0], breakdowns[1]),
        "money": money_rows(parts[0], parts[1]),
        "system": system_rows(*(breakdown.get("system", []) for breakdown in breakdowns)),
        **_changes(one, two, parts),
    }


def _name(one: Addressed) -> str:
    from evo_libra.front.families import short_network

    network = short_network(one.design)
    return f"{one.name} {network}" if one.row is not None else network


def _figures(one: Addressed, breakdown: Mapping[str, Any]) -> dict[str, float]:
    values = one.problem.evaluate(one.design).objectives[:, 0]
    time = sum(entry["weight"] * entry["time_ms"] for entry in breakdown["workloads"])
    cost = sum(entry["cost_usd"] for entry in breakdown["dimensions"])
    objectives = zip(one.problem.objectives, values, strict=True)
    return {"time_ms": time, "cost_usd": cost} | {o.column: float(v) / o.scale for o, v in objectives}


def _changes(one: Addressed, two: Addressed, parts: Sequence[Sequence[Mapping[str, Any]]]) -> dict[str, Any]:
    """Return which design wins under which change; nothing where they are designs of two problems."""
    from evo_libra.explain.crossings import bandwidth_crossings, price_crossings

    if one.problem.identity() != two.problem.identity():
        return {"prices": [], "bandwidths": [], "batches": [], "of_two_problems": True}
    first, second = ({row["part"]: row["cost_usd"] for row in rows} for rows in parts)
    both = one.problem.read([one.design, two.design])
    return {
        "prices": list(map(_crossing, price_crossings(first, second))),
        "bandwidths": list(map(_crossing, bandwidth_crossings(one.problem, both))),
        "batches": [_batch(one, two, factor) for factor in _BATCHES if _batch_keys(one)],
        "of_two_problems": False,
    }


def _crossing(one: Crossing) -> dict[str, Any]:
    return {"of": one.of, "factor": one.factor, "below": one.below + 1, "above": one.above + 1}


def _batch_keys(one: Addressed) -> dict[str, int]:
    """Return the keys of a problem file that are batches, with their values."""
    workloads = one.origin.data.get("workloads") or [] if isinstance(one.origin.data, dict) else []
    found = {}
    for place, workload in enumerate(workloads):
        for section, key in (("training", "global_batch"), ("generator", "batch")):
            inside = workload.get(section) if isinstance(workload, dict) else None
            if isinstance(inside, dict) and isinstance(inside.get(key), int):
                found[f"workloads[{place}].{section}.{key}"] = int(inside[key])
    return found


def _batch(one: Addressed, two: Addressed, factor: float) -> dict[str, Any]:
    """Return the times of two designs at another batch of all workloads; why there is none, where it cannot be."""
    from evo_libra.experiment.run.origin import build, with_assignments
    from evo_libra.ui.tables.named_runs import problem_file

    values = {key: round(batch * factor) for key, batch in _batch_keys(one).items()}
    row: dict[str, Any] = {"factor": factor, "set": [f"{key}={value}" for key, value in values.items()]}
    try:
        changed = problem_file(build(with_assignments(one.origin, row["set"])))
        both = changed.read([one.design, two.design])
        changed_times = changed.time(both).tolist()
    except InputError as error:
        return {**row, "first_ms": None, "second_ms": None, "why_not": str(error)}
    return {**row, "first_ms": changed_times[0] * 1e3, "second_ms": changed_times[1] * 1e3, "why_not": ""}


def _show(found: Mapping[str, Any]) -> None:
    names = [found["first"]["name"], found["second"]["name"]]
    print_folded(f"first   {names[0]}", f"second  {names[1]}: {found['second_is']}")
    if "approximation" in found:
        print_folded(found["approximation"])
    _show_network(found)
    _show_rows("where the time goes", found["time"], "ms", found["first"]["time_ms"])
    _show_rows("busy time over bandwidth, overlap not taken out", found["busy"], "ms", found["first"]["time_ms"])
    _show_rows("where the money goes", found["money"], "usd", found["first"]["cost_usd"])
    if found["system"]:
        whole = sum(row["first_usd"] for row in found["system"])
        _show_rows("where the money of the whole system goes", found["system"], "usd", whole)
    print()
    print_folded(*winners(found))


def _show_network(found: Mapping[str, Any]) -> None:
    rows = [
        [f"dim {row['dimension']}", row["first"] or "-", row["second"] or "-"]
        for row in found["network"]
        if row["differs"]
    ]
    rows += [[row["of"], row["first"] or "-", row["second"] or "-"] for row in found["plan"]]
    if rows:
        print_table("what differs", ("", "first", "second"), rows, left=("",), fold=("first", "second"))
    else:
        print("network and plan are the same")


def _show_rows(title: str, rows: Sequence[Mapping[str, Any]], unit: str, whole: float) -> None:
    """Print the parts of a time or of a cost side by side, with their sum; changes that are too small are summed up."""
    shown = [row for row in rows if max(abs(row[f"{name}_{unit}"]) for name in ("first", "second")) > _SMALL * whole]
    rest = [row for row in rows if row not in shown]
    name, size = (time_unit if unit == "ms" else money_unit)(whole)
    keys = (f"first_{unit}", f"second_{unit}", f"change_{unit}")

    def cells(label: str, values: Sequence[float]) -> list[str]:
        first, second, change = (value / size for value in values)
        return [label, number(first), number(second), f"{'+' if change > 0 else ''}{number(change)}"]

    table: list[list[str] | None] = [cells(row["part"], [row[key] for key in keys]) for row in shown]
    if rest:
        table.append(cells("others", [sum(row[key] for row in rest) for key in keys]))
    if title.startswith("where"):
        table += [None, cells("total", [sum(row[key] for row in rows) for key in keys])]
    print_table(f"{title} [{name}]", ("part", "first", "second", "change"), table, left=("part",), fold=("part",))


def winners(found: Mapping[str, Any]) -> list[str]:
    """Return which design wins under which change, a sentence each."""
    if found["of_two_problems"]:
        return ["they are designs of two problems: times and costs are not of one question"]
    names = ("", "the first", "the second")
    first, second = found["first"]["cost_usd"], found["second"]["cost_usd"]
    cheaper = names[1] if first < second else names[2]
    gap = found["second"]["time_ms"] - found["first"]["time_ms"]
    faster = "both are as fast" if not gap else f"{names[1 if gap > 0 else 2]} is faster"
    prices = [
        f"{names[one['below']]} is cheaper where {one['of']} costs less than {one['factor']:.3g} times its price"
        if one["factor"] < 1
        else f"{names[one['above']]} is cheaper where {one['of']} costs more than {one['factor']:.3g} times its price"
        for one in found["prices"]
    ]
    times = [
        f"{names[one['below']]} is faster below {one['factor']:.3g} times the bandwidth of {one['of']}, "
        f"{names[one['above']]} above"
        for one in found["bandwidths"]
    ]
    return [
        *(prices or [f"{cheaper} stays cheaper, whatever any single part costs"]),
        *(times or [f"{faster} at a quarter to four times the bandwidth of each technology"]),
        *map(_batch_text, found["batches"]),
    ]


def _batch_text(one: Mapping[str, Any]) -> str:
    what = f"at {one['factor']:g} times the batch"
    if one["first_ms"] is None:
        return f"{what} they cannot be compared: {one['why_not']}"
    gain = 100.0 * (1.0 - min(one["first_ms"], one["second_ms"]) / max(one["first_ms"], one["second_ms"]))
    if gain < _SMALL:
        return f"{what} they are as fast as each other"
    return f"{what} {'the first' if one['first_ms'] < one['second_ms'] else 'the second'} is {gain:.3g} % faster"
