"""One design: its time and cost, and what both are made of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evo_libra.ui.commands.shared import Assignments, DesignId, Json, app
from evo_libra.ui.tables.addresses import chosen
from evo_libra.ui.tables.output import print_folded, print_json, print_sections

if TYPE_CHECKING:
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
    from evo_libra.explain.as_json import as_json as plain
    from evo_libra.explain.reason_sheet import evaluated

    found = chosen(problem, design, number, assignments)
    record = found.record()
    differences = _differences(found.problem, found.problem.read(found.design))
    if as_json:
        more = {"remarks": list(record.remarks)} if found.problem.book else {}
        listed = {"warnings": plain(record.warnings), "differences": plain(differences)}
        print_json({"question": found.problem.question, **plain(record, _KEYS), **more, **listed})
    else:
        print_sections(evaluated(record))
        print_folded(*record.warnings, *differences, *filter(None, [record.shares]))
    return 0 if record.feasible else _FAILED


_KEYS = ("design", "time_ms", "cost_usd", "objectives", "bands", "feasible", "violations", "shares", "breakdown")
_FAILED = 1


def _differences(problem: Problem, design: Population) -> list[TraceDifference]:
    """Return why ASTRA-sim takes another time for the workloads of traces."""
    if not problem.time.predicts_astra_sim:
        return []
    from evo_libra.astra_sim.trace_differences import trace_differences

    return trace_differences(problem, design)
