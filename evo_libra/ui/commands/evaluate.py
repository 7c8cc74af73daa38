"""One design: its time and cost, and what both are made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from evo_libra.errors import InputError
from evo_libra.explain.labels import groups_text, short_design, size_of_iteration
from evo_libra.quantities import number, time_text, time_unit
from evo_libra.ui.commands.shared import Assignments, DesignId, Json, app
from evo_libra.ui.tables.addresses import Addressed, addressed, is_address, written
from evo_libra.ui.tables.faults import show_faults, spare_entries
from evo_libra.ui.tables.output import print, print_folded, print_json, print_table
from evo_libra.ui.tables.serving import show_serving
from evo_libra.ui.tables.system import show_system
from evo_libra.ui.tables.training import show_alternatives, show_training

if TYPE_CHECKING:
    from rich.text import Text

    from evo_libra.arrays import Population
    from evo_libra.astra_sim.trace_differences import TraceDifference
    from evo_libra.problem.problem import Problem


@app.command
def evaluate(
    problem: str,
    *,
    design: str | None = None,
    number: DesignId = None,
    assignments: Assignments = (),
    as_json: Json = False,
) -> int:
    """Evaluate one design: its time and cost, and where they come from.

    Parameters
    ----------
    problem:
        The design, RESULT#ID or PROBLEM#DESIGN, such as last#12; or a problem for --design, or a result for --id.
    design:
        The design, such as "RI(4)@chiplet:250_FC(8)@package:125_RI(4)@node:60_SW(32)@pod:20" (GB/s per NPU).
    number:
        Instead of --design, the design's id in the front of that run.
    """
    from evo_libra.explain.explain import explain
    from evo_libra.problem.designs import violations
    from evo_libra.problem.link_limits import beyond_links
    from evo_libra.problem.quirks import warnings_of

    found = _chosen(problem, design, number, assignments)
    loaded = found.problem
    population = loaded.read(found.design)
    values = loaded.evaluate(population).objectives[:, 0]
    broken = violations(loaded, population)
    breakdown = explain(loaded, population)
    time = sum(entry["weight"] * entry["time_ms"] for entry in breakdown["workloads"])
    cost = sum(entry["cost_usd"] for entry in [*breakdown["dimensions"], *spare_entries(breakdown)])
    figures = {o.column: float(v) / o.scale for o, v in zip(loaded.objectives, values, strict=True)}
    text = str(loaded.fabrics(population)[0])
    head = {"design": text, "time_ms": time, "cost_usd": cost, **figures, "feasible": not broken, "violations": broken}
    warnings, (beyond,) = warnings_of(loaded, population), beyond_links(loaded, population)
    differences = _differences(loaded, population)
    if as_json:
        known: dict[str, Any] = {
            "warnings": [each.json() for each in warnings],
            "differences": [each.json() for each in differences],
        }
        known |= {} if beyond is None else {"shares": beyond.json()}
        print_json({**head, **known, "breakdown": breakdown})
    else:
        others = {o.label: figures[o.column] for o in loaded.objectives if o.name not in ("time", "cost")}
        _show_breakdown(head, others, breakdown)
        print_folded(*warnings, *differences, *filter(None, [beyond]))
    return _FAILED if broken else 0


_FAILED = 1


def _differences(problem: Problem, design: Population) -> list[TraceDifference]:
    """Return why ASTRA-sim takes another time for the workloads of traces."""
    if not problem.time.predicts_astra_sim:
        return []
    from evo_libra.astra_sim.trace_differences import trace_differences

    return trace_differences(problem, design)


def _chosen(problem: str, design: str | None, number: int | None, assignments: Sequence[str]) -> Addressed:
    """Return the design of an address, or of a problem or a result that options complete."""
    from evo_libra.experiment.run.origin import origin_of

    if design is not None and number is not None:
        raise InputError("--design and --id both name a design; give one of the two")
    if design is not None:
        return written(design, origin_of(problem, assignments))
    if number is not None:
        return addressed(f"{problem}#{number}", assignments=assignments)
    if is_address(problem):
        return addressed(problem, assignments=assignments)
    raise InputError("a design is needed: RESULT#ID, --design of a problem, or --id of a design of a result")


def _show_breakdown(head: Mapping[str, Any], others: Mapping[str, float], breakdown: Mapping[str, Any]) -> None:
    print(f"{short_design(head['design'])}\ntime   {time_text(head['time_ms'])}\ncost   {head['cost_usd']:,.2f} USD")
    for label, value in others.items():
        print(f"{label}  {number(value)}")
    for sentence in head["violations"]:
        print(f"broken: {sentence}")
    for workload in breakdown["workloads"]:
        _show_times(workload, breakdown["dimensions"], len(breakdown["workloads"]))
    if "bill" in breakdown:
        _show_bill(breakdown)
    elif "ports" in breakdown["dimensions"][0]:
        figures = {"ports": ("ports", ".5g"), "cost [USD]": ("cost_usd", ",.2f"), "power [W]": ("power_W", ",.1f")}
        _show_parts("parts in any fraction; whole ones cost no less", breakdown, figures)
    else:
        keys = {"link": "link_usd", "switch": "switch_usd", "nic": "nic_usd", "total": "cost_usd"}
        _show_parts("cost by part [USD]", breakdown, {name: (key, ",.0f") for name, key in keys.items()})
    if "system" in breakdown:
        show_system(breakdown["system"])
    if "faults" in breakdown:
        show_faults(breakdown["faults"])


def _show_parts(title: str, breakdown: Mapping[str, Any], figures: Mapping[str, tuple[str, str]]) -> None:
    """Print a table of figures of each dimension: heading -> key and format."""
    rows = [
        [_dimension(d), f"{d['bandwidth_GBps']:.5g}", *(f"{d[key]:{form}}" for key, form in figures.values())]
        for d in breakdown["dimensions"]
    ]
    print_table(title, ("dimension", "GB/s", *figures), rows, fold=("dimension",))


def _dimension(d: Mapping[str, Any]) -> str:
    return f"{d['dimension']}: {d['block']}({d['npus']}) @{d['technology']}"


def _show_times(workload: Mapping[str, Any], dimensions: Sequence[Mapping[str, Any]], workloads: int) -> None:
    training, serving = workload.get("training"), workload.get("serving")
    groups = groups_text(workload)
    whole, compute = time_text(workload["time_ms"]), time_text(workload["compute_ms"])
    # A part of a training step is called compute, and this is more: head, optimizer and bubble.
    within = f"{compute} on a network that costs no time" if training or serving else f"{compute} of it compute"
    print(f"\n{workload['name']} ({groups}): {whole}, {within}")
    if size_text := size_of_iteration(workload):
        print_folded(size_text)
    if training:
        show_training(training)
    if serving:
        show_serving(serving)
    if "alternatives" in workload:
        show_alternatives(workload["alternatives"], workloads=workloads)
    entries = [*workload["collectives"], *workload["messages"]]
    beyond = any("beyond_bandwidth_ms" in entry for entry in entries)
    ratio = ", and bytes over bandwidth of each" if beyond else " and"
    kinds = "collective and message" if workload["messages"] else "collective"
    unit, size = time_unit(max((entry["time_ms"] for entry in entries), default=1.0))
    title = f"time by {kinds}{ratio} dimension [{unit}]; bold is the bottleneck"
    what = "communication" if workload["messages"] else "collectives"
    columns = ("phase", what, "time", *(f"dim {dimension['dimension']}" for dimension in dimensions))
    print_table(title, columns, [_time_cells(entry, size) for entry in entries], fold=("phase", what))


def _time_cells(entry: Mapping[str, Any], size: float) -> list[str | Text]:
    from rich.text import Text

    slowest = entry["bottleneck_dimension"]
    what = f"{entry['collective']} ({entry['group']})" if "collective" in entry else f"send over dim {slowest}"
    return [
        entry["phase"].replace("_", " "),
        f"{entry['count']} {what}",
        f"{entry['time_ms'] / size:.4g}",
        *(
            Text(f"{d['time_ms'] / size:.4g}", style="bold" if d["dimension"] == slowest else "")
            for d in entry["dimensions"]
        ),
    ]


def _show_bill(breakdown: Mapping[str, Any]) -> None:
    from rich.text import Text

    rows: list[list[str | Text] | None] = []
    for d in breakdown["dimensions"]:
        rows += [None, [Text(f"{_dimension(d)}, {d['ports']} ports", style="bold")]]
        for row in breakdown["bill"]:
            if row["dimension"] == d["dimension"]:
                each = "-" if row["unit_usd"] is None else f"{row['unit_usd']:,.10g}"
                part = [f"  {row['item']} {row['part'] or ''}", f"{row['pieces']:,}", each]
                idle = "-" if row["idle_W"] is None else f"{row['idle_W']:,.1f}"
                rows.append([*part, f"{row['cost_usd']:,.2f}", f"{row['power_W']:,.1f}", idle])
    for spare in spare_entries(breakdown):
        figures = (f"{spare['cost_usd']:,.2f}", f"{spare['power_W']:,.1f}")
        rows += [None, [f"spares, {spare['npus']:,} NPUs", "", "", *figures, ""]]
    every = [*breakdown["bill"], *spare_entries(breakdown)]
    cost, power = (sum(row[key] for row in every) for key in ("cost_usd", "power_W"))
    rows += [None, ["total", "", "", f"{cost:,.2f}", f"{power:,.1f}", ""]]
    columns = ("part", "pieces", "each [USD]", "cost [USD]", "power [W]", "idle [W]")
    print_table("bill of materials", columns, rows, fold=("part",))
