"""One design: its time and cost, and what both are made of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evo_libra.named_code import trust_files
from evo_libra.ui.commands.shared import Assignments, DesignId, Json, TrustCode, app
from evo_libra.ui.tables.addresses import chosen
from evo_libra.ui.tables.fabric_designs import fabric_design
from evo_libra.ui.tables.output import print_folded, print_json, print_sections

if TYPE_CHECKING:
    from evo_libra.arrays import Population
    from evo_libra.astra_sim.trace_differences import TraceTimes
    from evo_libra.problem.problem import Problem
    from evo_libra.ui.tables.answers import Evaluate, EvaluateFabric


@app.command
def evaluate(
    problem: str,
    design: str | None = None,
    *,
    number: DesignId = None,
    assignments: Assignments = (),
    trust_code: TrustCode = False,
    as_json: Json = False,
) -> int:
    """Evaluate one design: its time and cost, and where they come from; of a fabric its parts, paths and rates.

    Parameters
    ----------
    problem:
        The design, such as last#12, PROBLEM#DESIGN or "zcube(64, 2)"; or a problem for --design, a result for --id.
    design:
        The design, such as "RI(4)@chiplet:250_FC(8)@package:125_RI(4)@node:60_SW(32)@pod:20" (GB/s per NPU).
    number:
        Instead of --design, the design's id in the front of that run.
    """
    from evo_libra.explain.as_json import as_json as plain
    from evo_libra.explain.fabric_record import fabric_sections
    from evo_libra.explain.reason_sheet import evaluated
    from evo_libra.explain.record import EVALUATED
    from evo_libra.problem.question import FABRIC

    trust_files(allowed=trust_code)
    if (fabric := fabric_design(problem, design, number, assignments)) is not None:
        record_of_fabric = fabric.record
        if as_json:
            answer_of_fabric: EvaluateFabric = {"question": FABRIC}
            print_json({**answer_of_fabric, **plain(record_of_fabric)})
        else:
            print_sections(fabric_sections(record_of_fabric))
        return 0
    found = chosen(problem, design, number, assignments)
    record = found.record()
    times = _trace_times(found.problem, found.problem.read(found.design))
    differences = [difference for one in times for difference in one.differences]
    if as_json:
        answer: Evaluate = {
            "question": found.problem.question, "warnings": record.warnings, "differences": differences,
            "traces": times,
        }  # fmt: skip
        if found.problem.book:
            answer["remarks"] = record.remarks
        print_json({**plain(record, EVALUATED), **plain(answer)})
    else:
        print_sections(evaluated(record))
        print_folded(*times, *record.warnings, *differences, *filter(None, [record.shares]))
    return 0 if record.feasible else _FAILED


_FAILED = 1


def _trace_times(problem: Problem, design: Population) -> list[TraceTimes]:
    """Return the times of the workloads of traces, by the engine and by the model."""
    if not problem.time.predicts_astra_sim:
        return []
    from evo_libra.astra_sim.trace_differences import trace_times

    return trace_times(problem, design)
