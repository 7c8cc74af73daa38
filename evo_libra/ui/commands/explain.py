"""Why a design is as it is: where it stands, its bottlenecks and slack, and what each step away from it costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from evo_libra.explain.labels import short_design
from evo_libra.network.transport import approximation
from evo_libra.quantities import money_text, number
from evo_libra.ui.commands.shared import Json, MovedProblem, TrustCode, app
from evo_libra.ui.tables.addresses import Addressed, DesignAddress, addressed, is_address
from evo_libra.ui.tables.output import print_folded, print_json, print_table
from evo_libra.ui.tables.training import show_streams

if TYPE_CHECKING:
    from evo_libra.arrays import Population

_NONE = 1e-9


@app.command
def explain(
    result: DesignAddress,
    design: str | None = None,
    *,
    problem: MovedProblem = None,
    trust_code: TrustCode = False,
    as_json: Json = False,
) -> int:
    """Explain a design: why nothing on its front beats it, its bottlenecks and slack, and what each step costs.

    Parameters
    ----------
    design:
        The design's id on the front, or the design in the notation, after RESULT alone; left out, it is the knee.
    """
    address = result if design is None or is_address(result) else f"{result}#{design}"
    found = explanation(addressed(address, problem=problem, trust_code=trust_code))
    if as_json:
        print_json(found)
    else:
        _show(found)
    return 0


def explanation(one: Addressed) -> dict[str, Any]:
    """Return why a design is as it is, as plain data with units in its keys."""
    from evo_libra.explain.explain import explain as breakdown_of
    from evo_libra.explain.neighbours import neighbour_rows, neighbours
    from evo_libra.explain.standing import beaten_by, standing
    from evo_libra.problem.quirks import notes_of

    population = one.problem.read(one.design)
    breakdown = breakdown_of(one.problem, population)
    values = one.problem.evaluate(one.design).objectives[:, 0]
    figures = {o.column: float(v) / o.scale for o, v in zip(one.problem.objectives, values, strict=True)}
    why: list[str] = []
    if one.front is not None:
        why = beaten_by(one.front, figures) if one.row is None else standing(one.front, one.row)
    steps = neighbour_rows(neighbours(one.problem, one.design), figures)
    return {
        "name": one.name, "design": one.design, **figures, "standing": why, **approximation([one.design]),
        "dimensions": _dimensions(one, population, breakdown), "steps": steps, "better_steps": _better(steps, figures),
        **({"warnings": [warned.json() for warned in notes]} if (notes := notes_of(one.problem)) else {}),
        **({"optimizer_streams": streams} if (streams := _streams(breakdown)) else {}),
    }  # fmt: skip


def _streams(breakdown: Mapping[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """Return what runs side by side in each pass of the workloads whose optimizer is not on the NPUs."""
    trained = {entry["name"]: entry.get("training", {}) for entry in breakdown["workloads"]}
    return {name: one["optimizer_streams"] for name, one in trained.items() if "optimizer_streams" in one}


def _better(steps: Sequence[Mapping[str, Any]], figures: Mapping[str, float]) -> list[str]:
    """Return the feasible steps that are better in one objective and no worse in the others."""
    changes = [(step, [step[f"{column}_percent"] for column in figures]) for step in steps if not step["broken"]]
    return [step["change"] for step, percent in changes if max(percent) <= _NONE and min(percent) < -_NONE]


def _dimensions(one: Addressed, population: Population, breakdown: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return what each dimension does: how long it is busy, what it could lose, and what more of it saves."""
    from evo_libra.explain.difference import busy_times
    from evo_libra.explain.neighbours import shadow_price, slack

    busy = busy_times(breakdown)
    time = sum(entry["weight"] * entry["time_ms"] for entry in breakdown["workloads"])
    lost, saved = slack(one.problem, population), shadow_price(one.problem, population)
    return [
        {
            "dimension": d["dimension"], "block": d["block"], "npus": d["npus"], "technology": d["technology"],
            "bandwidth_GBps": d["bandwidth_GBps"], "busy_ms": busy[f"dim {d['dimension']}"],
            "busy_percent": 100.0 * busy[f"dim {d['dimension']}"] / time,
            "slack_percent": 100.0 * float(lost[d["dimension"]]),
            "saves_ms_per_GBps": float(saved[d["dimension"]]) * 1e12,
            "cost_usd": d["cost_usd"],
        }
        for d in breakdown["dimensions"]
    ]  # fmt: skip


def _show(found: Mapping[str, Any]) -> None:
    from evo_libra.front.families import short_network

    head = short_network(found["design"])
    print_folded(f"{found['name']} {head}" if found["name"] != found["design"] else head)
    print_folded(f"  {short_design(found['design'])}")
    print_folded(*(f"  {sentence}" for sentence in found["standing"]))
    if "approximation" in found:
        print_folded(f"  {found['approximation']}")
    _show_dimensions(found)
    print_folded(*bottleneck_sentences(found["dimensions"]))
    for workload, streams in found.get("optimizer_streams", {}).items():
        show_streams(streams, workload)
    _show_steps(found)
    for change in found["better_steps"]:
        print_folded(f"better in one objective and no worse in the others: {change}")
    print_folded(*(f"warning: {one['warning']} [{one['quirk']}]" for one in found.get("warnings", ())))


def _show_dimensions(found: Mapping[str, Any]) -> None:
    parts = short_design(found["design"]).split(" ", maxsplit=1)[0].split("_")
    print_table(
        "dimensions, GB/s per NPU; busy over bandwidth, slack and savings each on its own",
        ("dimension", "busy\n[ms]", "of the\ntime [%]", "slack\n[%]", "saves\n[ms per GB/s]", "cost"),
        [
            [
                f"{row['dimension']}: {part}", f"{row['busy_ms']:.4g}", f"{row['busy_percent']:.3g}",
                f"{row['slack_percent']:.3g}", f"{row['saves_ms_per_GBps']:.3g}", money_text(row["cost_usd"]),
            ]
            for part, row in zip(parts, found["dimensions"], strict=True)
        ],
        fold=("dimension",),
    )  # fmt: skip


def bottleneck_sentences(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return which dimension holds a design back, and which have more bandwidth than it can use."""
    best = max(rows, key=lambda row: float(row["saves_ms_per_GBps"]))
    tight = [row for row in rows if row["slack_percent"] <= _TIGHT]
    loose = [row for row in rows if row["slack_percent"] > _TIGHT]
    names = " and ".join(f"dim {row['dimension']}" for row in tight)
    if best["saves_ms_per_GBps"] > _NONE:
        found = [
            f"the bottleneck is dim {best['dimension']}: one GB/s more saves {number(best['saves_ms_per_GBps'])} ms"
        ]
    elif len(tight) > 1:
        found = [f"{names} wait for each other: more of one alone saves nothing, less of it takes longer"]
    else:
        found = ["no dimension alone holds it back"]
    return found + [
        f"dim {row['dimension']} could lose {row['slack_percent']:.3g} % of its bandwidth at the same time"
        for row in loose
    ]


_TIGHT = 0.1
"""Percent of slack that is none."""


def _show_steps(found: Mapping[str, Any]) -> None:
    columns = [key.removesuffix("_percent") for key in (found["steps"] or [{}])[0] if key.endswith("_percent")]
    if not columns:
        return
    heads = [f"{column.rpartition('_')[0] or column}\n[%]" for column in columns]
    broken, priced = any(step["broken"] for step in found["steps"]), found.keys() >= _PRICED
    rows = [
        [
            step["change"], *(_percent(step[f"{column}_percent"]) for column in columns),
            *([_price_text(step, found)] if priced else []),
            *(["; ".join(step["broken"])] if broken else []),
        ]
        for step in found["steps"]
    ]  # fmt: skip
    names = ("change", *heads, *(["a ms costs"] if priced else []), *(["but"] if broken else []))
    print_table("one step away", names, rows, fold=("change", "but"))
    print_folded(*cheapest_ms(found))


def _percent(value: float) -> str:
    return "0" if abs(value) < _NO_PERCENT else f"{value:+.3g}"


_NO_PERCENT = 1e-6


def _price_text(step: Mapping[str, Any], found: Mapping[str, Any]) -> str:
    price = _price(step, found)
    return "" if price is None else money_text(price, 3)


def cheapest_ms(found: Mapping[str, Any]) -> list[str]:
    """Return which feasible step saves time for the least money."""
    steps = [step for step in found["steps"] if not step["broken"] and step.get("time_ms_percent", 0.0) < 0]
    priced = [(price, step["change"]) for step in steps if (price := _price(step, found)) is not None]
    if not priced:
        return []
    price, change = min(priced)
    return [f"the cheapest ms of a step: {money_text(price, 3)}, {change}"]


_PRICED = {"time_ms", "cost_usd"}
"""Columns of a front on which time is bought for money."""


def _price(step: Mapping[str, Any], found: Mapping[str, Any]) -> float | None:
    """Return the USD of a ms that a step saves, or that it saves for a ms more; None where it is no such exchange."""
    if not found.keys() >= _PRICED:
        return None
    ms, usd = found["time_ms"] - step["time_ms"], step["cost_usd"] - found["cost_usd"]
    return usd / ms if ms * usd > 0 else None
