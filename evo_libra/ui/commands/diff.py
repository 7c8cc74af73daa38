"""Two designs side by side: what they differ in, where time and money go, and which of them wins under which change."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evo_libra.named_code import trust_files
from evo_libra.ui.commands.shared import Json, MovedProblem, TrustCode, app
from evo_libra.ui.tables.addresses import DesignAddress, addressed
from evo_libra.ui.tables.output import print_folded, print_json, print_sections

if TYPE_CHECKING:
    from evo_libra.ui.tables.answers import Diff


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
    from evo_libra.explain.as_json import as_json as plain
    from evo_libra.explain.comparison import compared
    from evo_libra.problem.designs import notes_of
    from evo_libra.ui.tables.addressed_designs import difference_of

    trust_files(allowed=trust_code)
    one = addressed(first, problem=problem)
    two = addressed(second, problem=problem, beside=one)
    found = difference_of(one, two)
    problems = one.problem, two.problem
    notes = {str(note): note for problem in problems for note in notes_of(problem)}
    if as_json:
        asked = " and ".join(dict.fromkeys(problem.question for problem in problems))
        answer: Diff = {"question": asked, "warnings": list(notes.values())}
        print_json({**plain(answer), **plain(found)})
    else:
        print_sections(compared(found))
        print_folded(*notes)
    return 0
