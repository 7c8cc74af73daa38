"""Execution traces of a design of a problem in Python whose designs are work for NPUs."""

from __future__ import annotations

from pathlib import Path

from evo_libra.errors import InputError, unusable
from evo_libra.ui.tables.addresses import MARK, NAMED, row_of
from evo_libra.ui.tables.named_runs import given_of, problem_of_result, run_folder


def traces_of_design(
    design: str, out: Path, batch: int, problem: str | None, *, trust_code: bool
) -> tuple[int, list[str]]:  # fmt: skip
    """Write the traces of ``RESULT#ID`` to a prefix; return the design's id and the files.

    An `InputError` says that there is no such design, its code is not trusted, its problem has no traces, or they
    cannot be written.
    """
    from evo_libra.chakra.write import write_traces
    from evo_libra.experiment.store.folder import RunFolder
    from evo_libra.problem.protocol import HasTraces

    where, mark, what = design.rpartition(MARK)
    run = RunFolder(run_folder(where if mark else design))
    front = run.read_front()
    row = front.frame.row(row_of(front, what if mark else NAMED[0], run.path), named=True)
    _, built = problem_of_result(run, problem, given_of(run), trust_code=trust_code)
    if not isinstance(built, HasTraces):
        raise InputError(f"designs of '{built.name}' are no work for NPUs; `evo-libra export` writes that of a network")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unusable(out.parent, "written", error) from None
    return row["id"], [str(path) for path in write_traces(out, built.traces(row, batch))]
