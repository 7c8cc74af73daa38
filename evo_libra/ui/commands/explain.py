"""Why a design is as it is: where it stands, its bottlenecks and slack, and what each step away from it costs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evo_libra.named_code import trust_files
from evo_libra.ui.commands.shared import Json, MovedProblem, TrustCode, app
from evo_libra.ui.tables.addresses import DesignAddress, addressed, is_address
from evo_libra.ui.tables.output import print_json, print_sections

if TYPE_CHECKING:
    from evo_libra.explain.record import DesignRecord
    from evo_libra.ui.tables.answers import Explain


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
    from evo_libra.explain.design_record import with_steps
    from evo_libra.explain.reason_sheet import explained

    trust_files(allowed=trust_code)
    address = result if design is None or is_address(result) else f"{result}#{design}"
    one = addressed(address, problem=problem)
    record = with_steps(one.record(alternatives=False), one.problem)
    if as_json:
        print_json(explanation(record, one.problem.question))
    else:
        print_sections(explained(record))
    return 0


def explanation(record: DesignRecord, question: str) -> dict[str, Any]:
    """Return why a design is as it is, and what its problem asks for, as plain data with units in its keys."""
    from evo_libra.explain.as_json import as_json
    from evo_libra.explain.record import EXPLAINED

    streams = {one.name: one.training.optimizer_streams for one in record.breakdown.workloads if one.training}
    used = {name: one for name, one in streams.items() if one}
    more: Explain = {"question": question}
    if used:
        more["optimizer_streams"] = used
    return {**as_json(record, EXPLAINED), **as_json(more)}
