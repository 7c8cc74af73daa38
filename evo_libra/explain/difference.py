"""What two designs differ in: their networks and plans, where time and money go in each, and the sums of that."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any

from evo_libra.network.fabric import Fabric, parse_fabric

FIRST, SECOND = "first", "second"
REST = "overlap and rest"
"""What the iteration time has beyond the parts of its waterfall, or less, since some of them are at the same time."""


def network_rows(first: str, second: str) -> list[dict[str, Any]]:
    """Return a row of each dimension: blocks, sizes, technologies and GB/s of both designs, and whether they differ."""
    one, two = parse_fabric(first), parse_fabric(second)
    return [
        {"dimension": place, FIRST: a, SECOND: b, "differs": a != b}
        for place, (a, b) in enumerate(zip_longest(_dimensions(one), _dimensions(two)))
    ]


def _dimensions(fabric: Fabric) -> list[str]:
    return [str(dimension) for dimension in fabric.dimensions]


def plan_words(first: str, second: str) -> list[dict[str, Any]]:
    """Return the words of plans, options and accelerator that one of two designs has alone, of each workload.

    >>> plan_words("SW(8)@a:1 | tp8 dp4 mb1", "SW(8)@a:2 | tp4 dp8 mb1")
    [{'of': 'plan', 'first': 'tp8 dp4', 'second': 'tp4 dp8'}]
    """
    one, two = parse_fabric(first), parse_fabric(second)
    pairs = [("options", _options(one), _options(two))]
    several = max(len(one.plans), len(two.plans)) > 1
    for place, (a, b) in enumerate(zip_longest(one.plans, two.plans, fillvalue="")):
        pairs.append((f"plan {place}" if several else "plan", a.split(), b.split()))
    return [
        {"of": name, FIRST: _only(mine, other), SECOND: _only(other, mine)}
        for name, mine, other in pairs
        if mine != other
    ]


def _options(fabric: Fabric) -> list[str]:
    return [f"{name}={value}" for name, value in fabric.options] + ([f"npu={fabric.npu}"] if fabric.npu else [])


def _only(mine: Sequence[str], other: Sequence[str]) -> str:
    return " ".join(word for word in mine if word not in other)


def time_rows(first: Mapping[str, Any], second: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the waterfall of the iteration time from one breakdown to another; its rows add up to both times.

    Parameters
    ----------
    first, second : breakdowns from `evo_libra.explain.explain.explain`.
    """
    return _rows(time_parts(first), time_parts(second), "ms")


def time_parts(breakdown: Mapping[str, Any]) -> dict[str, float]:
    """Return the ms of each part of the weighted iteration time; the parts add up to it.

    Parts of a training step are those of its split. Others are compute, collectives by phase and group, messages, and
    what overlap saves or waiting adds.
    """
    several = len(breakdown["workloads"]) > 1
    found: dict[str, float] = {}
    for workload in breakdown["workloads"]:
        head = f"{workload['name']}: " if several else ""
        for part, ms in _parts_of(workload):
            found[head + part] = found.get(head + part, 0.0) + workload["weight"] * ms
    return found


def _parts_of(workload: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    if "training" in workload:
        yield from workload["training"]["split_ms"].items()
        return
    sent = [*workload["collectives"], *workload["messages"]]
    rest = workload["time_ms"] - workload["compute_ms"] - sum(entry["time_ms"] for entry in sent)
    yield "compute", workload["compute_ms"]
    for entry in sent:
        yield _sent(entry), entry["time_ms"]
    if abs(rest) > _ROUNDING * workload["time_ms"]:
        yield REST, rest


_ROUNDING = 1e-9


def _sent(entry: Mapping[str, Any]) -> str:
    what = f"{entry['collective']} of {entry['group']}" if "collective" in entry else "messages"
    return f"{entry['phase'].replace('_', ' ')} {what}"


def dimension_rows(first: Mapping[str, Any], second: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the ms of collectives and messages over the bandwidth of each dimension, without overlap."""
    return _rows(busy_times(first), busy_times(second), "ms")


def busy_times(breakdown: Mapping[str, Any]) -> dict[str, float]:
    """Return the ms in which each dimension of a breakdown is busy in an iteration, weighted; overlap is not taken out.

    Traffic in a dimension takes its bytes over the bandwidth.
    """
    found = {f"dim {d['dimension']}": 0.0 for d in breakdown["dimensions"]}
    for workload in breakdown["workloads"]:
        for entry in [*workload["collectives"], *workload["messages"]]:
            for d in entry["dimensions"]:
                found[f"dim {d['dimension']}"] += workload["weight"] * d["time_ms"]
    return found


def money_rows(first: Sequence[Mapping[str, Any]], second: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return parts of two designs side by side: pieces and USD; the rows add up to both costs.

    Parameters
    ----------
    first, second : from `evo_libra.explain.parts_list.parts_list`.
    """
    costs = [{row["part"]: row["cost_usd"] for row in rows} for rows in (first, second)]
    pieces = [{row["part"]: row["pieces"] for row in rows} for rows in (first, second)]
    none = 0 if all(row["pieces"] is not None for row in (*first, *second)) else None
    found = _rows(costs[0], costs[1], "usd")
    for row in found:
        for name, mine in zip((FIRST, SECOND), pieces, strict=True):
            row[f"{name}_pieces"] = mine.get(row["part"], none)
    return found


def system_rows(first: Sequence[Mapping[str, Any]], second: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the bills of two whole systems side by side, as `money_rows`; nothing where a price lacks.

    Parameters
    ----------
    first, second : from `evo_libra.explain.system_bill.system_bill`.
    """
    if not first or not second or any(row["cost_usd"] is None for row in (*first, *second)):
        return []
    return money_rows(_by_item(first), _by_item(second))


def _by_item(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the parts of a bill, of which workloads may each have one with the same name."""
    found: dict[str, dict[str, Any]] = {}
    for row in rows:
        part = found.setdefault(row["item"], {"part": row["item"], "pieces": 0.0, "cost_usd": 0.0})
        for key in ("pieces", "cost_usd"):
            part[key] += row[key]
    return list(found.values())


def _rows(first: Mapping[str, float], second: Mapping[str, float], unit: str) -> list[dict[str, Any]]:
    """Return a row of each part, the largest change first."""
    rows = [
        {
            "part": part, f"{FIRST}_{unit}": first.get(part, 0.0), f"{SECOND}_{unit}": second.get(part, 0.0),
            f"change_{unit}": second.get(part, 0.0) - first.get(part, 0.0),
        }
        for part in dict.fromkeys([*first, *second])
    ]  # fmt: skip
    return sorted(rows, key=lambda row: -abs(row[f"change_{unit}"]))
