"""What a report says of one design: where its time and money go, and why it is on the front."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from evo_libra.arrays import FloatArray, IntArray
from evo_libra.explain.candidates import candidates_of
from evo_libra.explain.drawn_network import drawn_network
from evo_libra.explain.labels import groups_text
from evo_libra.pictures.networks.captions import pieces_text
from evo_libra.quantities import number, time_text
from evo_libra.report.records import BillRow, Detail, Step, Waterfall

if TYPE_CHECKING:
    from evo_libra.front.front import Front
    from evo_libra.problem.problem import Problem

MOST = 500
"""Designs of a result that have details."""

_ITEMS = ("link_usd", "switch_usd", "nic_usd")
_SMALL = 1e-6


def detailed_rows(front: Front, families: IntArray, most: int = MOST, first: Sequence[int] = ()) -> list[int]:
    """Return the places of the designs that have details: all where they are few.

    Of many, these are the first ones, the best of each family in each objective, then some in even steps along the
    front.
    """
    if len(front) <= most:
        return list(range(len(front)))
    values = front.frame.select(front.objectives).to_numpy()
    chosen = dict.fromkeys(
        int(mine[row]) for family in np.unique(families) for mine in [np.flatnonzero(families == family)]
        for row in values[mine].argmin(axis=0)
    )  # fmt: skip
    ids = front.frame["id"].to_list()
    place = {one: row for row, one in enumerate(ids)}
    along = [place[one] for one in front.spread(most)["id"]]
    return sorted(list(dict.fromkeys([*first, *chosen, *along]))[:most])


def rule_text(designs: int, detailed: int) -> str:
    """Return which designs have details, as a sentence."""
    if detailed >= designs:
        return "Every design has its waterfall, bill and explanation here."
    return (
        f"{detailed:,} of {designs:,} designs have their waterfall, bill and explanation here: those that are "
        "recommended, the best of each family in each objective, and some in even steps along the front. The command "
        "below shows those of the others."
    )


def details_of(front: Front, problem: Problem, rows: Sequence[int]) -> list[Detail]:
    """Return the details of some designs of a front."""
    from evo_libra.explain.explain import explain  # noqa: PLC0415 - it takes the time models
    from evo_libra.explain.standing import standing_of  # noqa: PLC0415 - the same
    from evo_libra.problem.link_limits import beyond_links  # noqa: PLC0415 - the same

    designs = problem.read([str(front.frame["design"][row]) for row in rows]) if rows else None
    found, candidates = [], candidates_of(front)
    beyond = [] if designs is None else beyond_links(problem, designs)
    for place, row in enumerate(rows):
        assert designs is not None, "there are rows"  # noqa: S101 - our mistake
        one = designs.select([place])
        # What other plans would take is what `explain` of a pinned problem leaves out, and most of its time.
        parts = explain(problem.pinned(one), one)
        found.append(
            Detail(
                [_waterfall(workload) for workload in parts["workloads"]],
                _bill(parts),
                _slots(str(front.frame["design"][row]), problem),
                [
                    *map(_sentence, standing_of(candidates, row)),
                    *_bottlenecks(parts),
                    *_prices(parts),
                    *(f"{limit}." for limit in filter(None, [beyond[place]])),
                ],
            )
        )
    return found


def _waterfall(workload: Mapping[str, Any]) -> Waterfall:
    total = float(workload["time_ms"])
    training = workload.get("training")
    if training:
        steps = [Step(part, float(time)) for part, time in training["split_ms"].items()]
    else:
        steps = [Step("compute", float(workload["compute_ms"])), *map(_step, workload["collectives"])]
        steps += [Step("messages", sum(float(one["time_ms"]) for one in workload["messages"]))]
    overlap = total - sum(step.time_ms for step in steps)
    if abs(overlap) > _SMALL * total:
        steps.append(Step("overlapped" if overlap < 0 else "waiting", overlap))
    steps = [step for step in steps if abs(step.time_ms) > _SMALL * total]
    return Waterfall(workload["name"], groups_text(workload), float(workload["weight"]), total, _placed(steps))


def _placed(steps: Sequence[Step]) -> list[Step]:
    """Return steps with their bars, each of which begins where the one before it ends."""
    whole = sum(max(step.time_ms, 0.0) for step in steps)
    ends = np.cumsum([0.0, *(step.time_ms for step in steps)]) / whole
    return [
        replace(step, start=float(min(ends[n], ends[n + 1])), share=float(abs(ends[n + 1] - ends[n])))
        for n, step in enumerate(steps)
    ]


def _step(one: Mapping[str, Any]) -> Step:
    where = one["bottleneck_dimension"]
    phase = str(one["phase"]).replace("_", " ")
    name = f"{phase} {one['collective']} {one['group']}"
    return Step(name, float(one["time_ms"]), "" if where is None else f"dimension {where}")


def _bill(parts: Mapping[str, Any]) -> list[BillRow]:
    """Return parts by dimension, and their sum; then what is around the network, and the sum of all."""
    rows = _bill_rows(parts)
    powers = [row.power_W for row in rows if row.power_W is not None]
    cost = sum(row.cost_usd for row in rows if row.cost_usd is not None)
    return [*rows, BillRow(None, "all", None, cost, sum(powers) if powers else None), *_system_rows(parts)]


def _system_rows(parts: Mapping[str, Any]) -> list[BillRow]:
    """Return what is around the network, and the sum with the network; nothing where only a network is bought."""
    from evo_libra.explain.system_bill import NETWORK, sum_of  # noqa: PLC0415 - it takes the problem

    bill = parts.get("system", [])
    if not bill:
        return []
    cost, power = sum_of(bill, "cost_usd"), sum_of(bill, "power_kW")
    around = [
        BillRow(None, row["item"], row["pieces"], row["cost_usd"], _watts(row["power_kW"]))
        for row in bill
        if row["item"] != NETWORK
    ]
    return [*around, BillRow(None, "the whole system", None, cost, _watts(power))]


def _watts(power: float | None) -> float | None:
    return None if power is None else power * 1e3


def _part(row: Mapping[str, Any]) -> str:
    """Return a part and what it is used as, which may be several things."""
    return f"{row['part']} ({row['item']})" if row["part"] else str(row["item"])


def _bill_rows(parts: Mapping[str, Any]) -> list[BillRow]:
    """Return parts by dimension; of prices per bandwidth, links, switches and NICs."""
    if "bill" in parts:
        return [
            BillRow(row["dimension"], _part(row), row["pieces"], row["cost_usd"], row["power_W"])
            for row in parts["bill"]
        ]
    rows = []
    for one in parts["dimensions"]:
        named = [(item.removesuffix("_usd"), one[item]) for item in _ITEMS if one.get(item)]
        rows += [
            BillRow(one["dimension"], what, None, cost, None)
            for what, cost in named or [(one["technology"], one["cost_usd"])]
        ]
    return rows


def _slots(design: str, problem: Problem) -> dict[str, str]:
    found: dict[str, str] = {}
    for place, dimension in enumerate(drawn_network(design, problem).dimensions):
        pieces = pieces_text(dimension)
        found |= {f"pieces-{place}-{at // 2}": ", ".join(pieces[at : at + 2]) for at in range(0, len(pieces), 2)}
    return found


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def _bottlenecks(parts: Mapping[str, Any]) -> list[str]:
    """Return which dimension holds back how much of the communication of each workload."""
    found: list[str] = []
    for workload in parts["workloads"]:
        sent = [one for one in workload["collectives"] if one["bottleneck_dimension"] is not None]
        total = sum(one["time_ms"] for one in sent)
        if not total:
            continue
        held: dict[int, float] = {}
        for one in sent:
            held[one["bottleneck_dimension"]] = held.get(one["bottleneck_dimension"], 0.0) + one["time_ms"]
        worst = max(held, key=lambda dimension: held[dimension])
        found.append(
            f"If nothing overlapped, {workload['name']} would communicate for {time_text(float(f'{total:.4g}'))}; "
            f"dimension {worst} is the slowest one in {100 * held[worst] / total:.0f} % of that."
        )
    return found


def _prices(parts: Mapping[str, Any]) -> list[str]:
    costs = {one["dimension"]: float(one["cost_usd"]) for one in parts["dimensions"]}
    total = sum(costs.values())
    if not total:
        return []
    worst = max(costs, key=lambda dimension: costs[dimension])
    return [f"Dimension {worst} takes {100 * costs[worst] / total:.0f} % of {number(total)} USD."]


def price_ranges(front: Front, problem: Problem) -> tuple[FloatArray, FloatArray] | None:
    """Return the (n,) USD of designs with all prices at their lowest, and at their highest; None without ranges."""
    from evo_libra.explain.prices import price_front  # noqa: PLC0415 - it takes the pricing
    from evo_libra.problem.pricing.parts import BillOfMaterials  # noqa: PLC0415 - the same
    from evo_libra.problem.protocol import COST, TIME  # noqa: PLC0415 - the same

    priced = isinstance(problem.pricing, BillOfMaterials) and not problem.optimal
    if not priced or not {TIME.column, COST.column} <= set(front.objectives):
        return None
    frame = price_front(front, problem, drawn=1, seed=0).frame
    low, high = (frame[f"cost_{end}_usd"].to_numpy() for end in ("low", "high"))
    return (low, high) if (high > low).any() else None
