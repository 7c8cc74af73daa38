"""Differences of designs that the user names, and their execution traces."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from evo_libra.errors import InputError, unusable
from evo_libra.ui.tables.addresses import ANY, MARK, Addressed, row_of
from evo_libra.ui.tables.named_runs import given_of, problem_of_result, run_folder

if TYPE_CHECKING:
    from evo_libra.explain.comparison import Comparison, OtherBatch


_BATCHES = (0.5, 2.0)


def difference_of(one: Addressed, two: Addressed) -> Comparison:
    """Return what two designs differ in; an `InputError` says that one of them is an order and the other one is not."""
    from evo_libra.explain.comparison import comparison

    orders = [one for one in (one, two) if one.problem.book is not None]
    if len(orders) == 1:
        other = two if orders[0] is one else one
        raise InputError(
            f"'{orders[0].problem.name}' asks for an order and '{other.problem.name}' for a design: they answer two "
            "questions, and no difference is made of them"
        )

    alike = bool(_batch_keys(one)) and one.problem.identity() == two.problem.identity()
    batches = [_batch(one, two, factor) for factor in _BATCHES if alike]
    records = (one.record(alternatives=False), two.record(alternatives=False))
    return comparison(records, (one.problem, two.problem), batches)


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


def _batch(one: Addressed, two: Addressed, factor: float) -> OtherBatch:
    """Return the times of two designs at another batch of all workloads; why there is none, where it cannot be."""
    from evo_libra.experiment.run.origin import build, with_assignments
    from evo_libra.explain.comparison import OtherBatch
    from evo_libra.ui.tables.named_runs import problem_file

    values = {key: round(batch * factor) for key, batch in _batch_keys(one).items()}
    changes = tuple(f"{key}={value}" for key, value in values.items())
    try:
        changed = problem_file(build(with_assignments(one.origin, changes)))
        first, second = (1e3 * seconds for seconds in changed.time(changed.read([one.design, two.design])).tolist())
    except InputError as error:
        return OtherBatch(factor=factor, set=changes, first_ms=None, second_ms=None, why_not=str(error))
    return OtherBatch(factor=factor, set=changes, first_ms=first, second_ms=second, why_not="")


def traces_of_design(
    design: str, out: Path, batch: int, problem: str | None
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
    row = front.frame.row(row_of(front, what if mark else ANY, run.path), named=True)
    _, built = problem_of_result(run, problem, given_of(run))
    if not isinstance(built, HasTraces):
        raise InputError(f"designs of '{built.name}' are no work for NPUs; `evo-libra export` writes that of a network")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unusable(out.parent, "written", error) from None
    return row["id"], [str(path) for path in write_traces(out, built.traces(row, batch))]
